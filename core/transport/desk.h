// The memory that the participants of a group share, to the byte: a block (transport/segment.h) with a page of the
// leader's, an introduction and a desk of each participant's; and, once a long message has come, a second block with a
// shelf for each.
//
//   desk   inline slots "up" and "down": a ring of a few cache lines each, every line with its own flag, so that no
//          line must be waited for before another can be asked for. Written by the owner alone, read by the
//          participants that the pattern names. Up carries contributions to a reduction, down carries results and
//          broadcasts. Which slot of the ring: the episode (number of the collective call in this group) modulo its
//          length.
//   shelf  the same for long messages: a ring of pieces up, a ring of pieces down. Which slot: the piece's number
//          modulo the length; pieces are numbered through the group's life, and all participants count alike: all see
//          the same sizes, or, of a broadcast, are told the root's.
//
// Flow control. A slot may be written again when everybody has finished with its last message. Counters say so:
// `finished` (episodes) and `consumed` (pieces), each written by its owner, read by a writer only when its knowledge
// does not suffice, which is about once per round of the ring; and every collective in which everybody hears everybody
// says it for free.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/arch/cpu.h"
#include "base/participants.h"
#include "transport/layout.h"
#include "transport/segment.h"

namespace smelt {

inline constexpr uint32_t kRing = 16;         // inline messages that a sender may be ahead of its slowest receiver
inline constexpr uint32_t kSignalLines = 12;  // of a barrier: dissemination among 1,024 takes 10 rounds
inline constexpr uint32_t kPieceRing = 4;     // pieces ahead: put, combine and get of reduce_sliced.h, and one to spare

struct alignas(64) InlineLine {
  char payload[kLinePayload];
  // The episode, and in the uppermost 9 bits the message's kind, the same in all its lines: so many bytes, or the
  // heading of a longer one. Release by the owner after the payload; acquire by readers. 55 bits do not wrap: 10^8
  // episodes a second for 11 years.
  std::atomic<uint64_t> flag;
};
static_assert(sizeof(InlineLine) == 64);

inline constexpr uint32_t kEpisodeBits = 55;  // 9 are left: for lengths up to kInlineBytes, and the kinds below
inline constexpr uint64_t kAddresses = 509;   // where data lie, and how long they are (group/single_copy.h)
inline constexpr uint64_t kHeadsLong = 510;   // a Heading
static_assert(kInlineBytes < kAddresses);

// The beginning of a message of which something has to be found out before any data go.
struct Heading {
  uint64_t bytes;    // of the whole message
  uint64_t address;  // in the memory of whom it comes from, where it lies in one piece; else 0
};
static_assert(sizeof(Heading) <= kLinePayload);

struct InlineSlot {
  InlineLine line[kSlotLines];
};

// Two participants with little to say share one line: it brings the news and takes the answer back, which is cheaper
// than two lines crossing (measured, exchange of 8 bytes in a tight loop: 0.6-0.7 of the paired hop against 1.0 and
// more).
struct alignas(64) PairLine {
  struct Half {
    char payload[kPairBytes];
    std::atomic<uint64_t> flag;  // as an InlineLine's; the barrier's: the episode
  } half[2];
};
static_assert(sizeof(PairLine) == 64);

struct alignas(kLineBytes) Counter {
  std::atomic<uint64_t> value;  // only its owner writes, and only upwards: release / acquire
};

// The owner's count of the pieces on its shelf; only the owner writes it, as a Counter.
struct alignas(kLineBytes) Filled {
  std::atomic<uint64_t> value;  // pieces put there so far
  // By the piece's number, as the pieces themselves: the message that it belongs to. Reductions and allgather put the
  // operands' length there; a broadcast puts Rings::broadcast_of.
  std::atomic<uint64_t> message[kPieceRing];
};
static_assert(sizeof(Filled) == kLineBytes);

// How many pieces the owner has done with: read all it wants of everybody's. Beside it, when its last two tried calls
// (group/trials.h) were under way, in ns, and which row of the trials they were of; by the call's number modulo 2,
// because its owner may be one call ahead of the reader.
struct alignas(kLineBytes) Consumed {
  std::atomic<uint64_t> value;  // as a Counter's
  static constexpr uint32_t kCalls = 2;
  std::atomic<int64_t> begun[kCalls], done[kCalls];
  std::atomic<uint64_t> row[kCalls];
};
static_assert(sizeof(Consumed) == kLineBytes);

enum Question : uint32_t { kHaveShelf, kCanReadOthers, kQuestions };

struct alignas(kLineBytes) Status {
  std::atomic<uint64_t>
      finished;               // the owner has done with all episodes up to this, and maybe a few more (Rings::finish)
  std::atomic<uint32_t> cpu;  // 1 + the CPU it last waited on; 0: never waited long
  std::atomic<uint32_t> vote[kQuestions];  // Rings::vote_for; anything else: not yet
  // The call that the owner is in the middle of, told when it has waited long for it (Group::may_come).
  std::atomic<uint64_t> call;           // its number; 0: being told
  std::atomic<uint64_t> operand_bytes;  // of that call
};

struct Desk {
  InlineSlot up[kRing];
  InlineSlot down[kRing];
  Counter signal[kSignalLines];  // of the barrier
  Status status;
  Filled filled_up, filled_down;
  Consumed consumed;
};
// A desk begins where a page does, and its pages lie on its owner's NUMA node.
static_assert(sizeof(Desk) % kPage == 0);

// CPUs by the kernel's numbers.
struct CpuSet {
  uint64_t word[kMaxParticipants / 64];
  bool has(uint32_t cpu) const { return cpu < kMaxParticipants && (word[cpu / 64] >> cpu % 64 & 1); }
};

// Each participant's words about itself for the others, written while the group is made; never changed afterwards.
struct Introduction {
  uint64_t profile;  // hash of the machine profile it sees
  CpuSet cpus;       // that it may run on
  uint32_t quota;    // CPUs that its cgroup grants, 0: all
  uint32_t local_processes;
  uint32_t crowded;  // its host was told so
  int32_t process;
  int32_t thread;          // that makes the group
  uint32_t seen_on;        // the CPU it runs on just now
  uint32_t checked;        // it does not want to ask whether the profile holds (group/machine.h)
  uint64_t probe_address;  // where its memory holds Front::probe + its number, to try whether others may read it
};
inline constexpr uint64_t kIntroductionBytes = 256;  // four whole lines, so that each participant writes its own
static_assert(sizeof(Introduction) <= kIntroductionBytes);

inline constexpr size_t kCanaryBytes = 1536;  // sizeof(Canary), rounded up: group/machine.cc asserts it

// The leader's page.
struct Front {
  char bookkeeping[kBlockHeader];
  uint64_t probe;                     // a random number, see Introduction::probe_address
  std::atomic<uint32_t> shelf_offer;  // 0: not yet, 1: `shelf` holds, 2: there is none
  BlockTicket shelf;
  alignas(kLineBytes) PairLine pair_barrier;
  alignas(kLineBytes) PairLine pair[kRing];
  alignas(kLineBytes) char canary[kCanaryBytes];  // of the first group (policy/canary.h)
};
static_assert(sizeof(Front) <= kPage);

// The introductions of a few have room behind the front, in its page: a page that a group does without is two
// microseconds less to wait for.
constexpr uint64_t introductions_offset(uint32_t n) {
  return sizeof(Front) + n * kIntroductionBytes <= kPage ? sizeof(Front) : kPage;
}
constexpr uint64_t desks_offset(uint32_t n) {
  return (introductions_offset(n) + n * kIntroductionBytes + kPage - 1) / kPage * kPage;
}
constexpr uint64_t group_bytes(uint32_t n) { return desks_offset(n) + n * sizeof(Desk); }

// A participant's own working memory: bytes read from others, and partial results.
inline constexpr uint64_t kScratchBytes = 4 * kReadBytes;

inline constexpr uint64_t kChannelBytes = uint64_t{kPieceRing} * kPieceBytes;
inline constexpr uint64_t kShelfBytes = 2 * kChannelBytes;  // one ring of pieces up, one down
constexpr uint64_t shelves_bytes(uint32_t n) { return kPage + n * kShelfBytes; }

}  // namespace smelt
