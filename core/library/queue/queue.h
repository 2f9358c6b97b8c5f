// A queue's memory and its ends.
//
//   SharedQueue | EndLine 0 | EndLine 1 ... | Channel 0 | slots ... | [Channel 1 | slots ...]
//
// A pair has two members and two channels, each from one member to the other; a queue with one writer and many readers
// has one channel, from member 0 to all others. There are no addresses in the memory, so each process may have it
// elsewhere. The words that only one member needs (where it reads and writes) are in its End, in its own memory.
//
// A message takes slots in a row: the first has its length in the word, and of all of them the word of the first is
// written last. So a message is there as a whole or not at all, and a sender that is killed while sending leaves
// nothing behind.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <smelt/queue.h>

#include "base/arch/cpu.h"
#include "base/object.h"
#include "base/seat.h"
#include "library/place/object.h"
#include "policy/wait.h"
#include "transport/line.h"

namespace smelt::queue {

inline constexpr size_t kSlotBytes = 64, kPayload = kSlotBytes - sizeof(uint64_t);  // a cache line, but for its word
static_assert(kPayload == SMELT_QUEUE_SLOT);

struct alignas(kSlotBytes) Slot {
  std::atomic<uint64_t> word;  // upper half: the kind's mark of a message that is there; lower half: its length
  unsigned char payload[kPayload];
};
static_assert(sizeof(Slot) == kSlotBytes);

inline uint64_t slots_of(size_t bytes) { return bytes <= kPayload ? 1 : (bytes + kPayload - 1) / kPayload; }

struct SharedQueue : place::Head {
  uint32_t kind = 0;  // index in kinds.def
  uint32_t members = 0;
  uint32_t capacity = 0;  // one-slot messages that it holds at least
  uint32_t ring = 0;      // slots of a channel, a power of two
  std::atomic<uint32_t> users{
      0};  // ends that are not freed yet; of memory that is made for threads, the last unmaps it
};

inline constexpr uint32_t kLeft = place::kNowhere - 1;  // as the CPU of a reader that has left

struct alignas(kLineBytes) EndLine {
  std::atomic<uint64_t> read{0};  // the line in which it acknowledges: all before this position may be overwritten
  alignas(64) std::atomic<uint32_t> taken{0};
  // Where its receiver last was when it waited, or was asked; changes rarely.
  std::atomic<uint32_t> cpu{place::kNowhere};
};
inline constexpr uint64_t kGone = uint64_t{1} << 62;  // a reader that has left

struct Channel {
  alignas(kLineBytes) Bell sent;                         // rung by the sender; its `cpu` is the sender's
  alignas(kLineBytes) Bell read;                         // rung by the receivers; theirs are in their EndLines
  alignas(kLineBytes) std::atomic<uint32_t> senders{1};  // that have not closed; one that has not come yet counts
  std::atomic<uint32_t> receivers{1};
};

// Positions count slots since the beginning, which is at `ring`: so no slot's word, at first 0, is a sequence number.
struct alignas(kLineBytes) Sender {
  Slot* slots = nullptr;  // nullptr: this end does not send
  Channel* channel = nullptr;
  const EndLine* readers = nullptr;
  uint32_t count = 0;  // of the readers
  uint32_t ring = 0;
  uint64_t next = 0;      // the position to write
  uint64_t free = 0;      // ... those before this one are known to be free
  uint64_t reserved = 0;  // the position that smelt_queue_reserve gave out
  int32_t burst = 0;      // polls before a wait goes to wait.cc, which says how many; 0 in a crowd

  Slot& at(uint64_t position) const { return slots[position & (ring - 1)]; }
};

struct alignas(kLineBytes) Receiver {
  Slot* slots = nullptr;  // nullptr: this end does not receive
  Channel* channel = nullptr;
  EndLine* own = nullptr;
  const EndLine* readers = nullptr;  // all of the channel, `own` among them
  uint32_t count = 0;                // of them
  uint32_t ring = 0;
  uint64_t next = 0;          // the position to read
  uint64_t acknowledged = 0;  // equals own->read
  int32_t burst = 0;          // as the sender's

  Slot& at(uint64_t position) const { return slots[position & (ring - 1)]; }
};

struct End;

// The functions of a kind; messages.h makes them from the kind's own part. All but send and receive are tries: 0 or,
// where they would have to wait, -EAGAIN, or -EPIPE where that would be for ever because the others have closed.
struct QueueKind {
  int (*try_send)(End&, const void* data, size_t bytes);
  int (*try_receive)(End&, void* data, size_t room, size_t* bytes);
  int (*send)(End&, const void* data, size_t bytes);
  int (*receive)(End&, void* data, size_t room, size_t* bytes);
  int (*reserve)(End&, void** payload);
  int (*commit)(End&, size_t bytes);
  int (*peek)(End&, const void** payload, size_t* bytes);
  int (*consume)(End&);
  int (*can_send)(End&, uint64_t slots);
  int (*can_receive)(End&);
};

// kUmp, kFastForward, ...: one per kind, in a file of its own.
#define QUEUE_KIND(identifier, ...) extern const QueueKind identifier;
#include "library/queue/kinds.def"
#undef QUEUE_KIND

struct KindRow {
  const QueueKind* kind;
  const char* name;
  bool pair;
  const char* help;
};
extern const KindRow kKinds[];
uint32_t kinds();

struct End : Object {
  const QueueKind* kind = nullptr;
  uint32_t index = 0;  // of the member
  size_t limit = 0;    // bytes of the longest message
  int64_t timeout_ns = -1;
  WaitPolicy policy;    // of ends that have a CPU each
  WaitPolicy crowd;     // of ends that share one, or may
  bool unsure = false;  // may they? Then wait.cc looks where the others are
  place::SharedObject object;
  SharedQueue* shared = nullptr;
  Sender sender;
  Receiver receiver;
};

// Tells where we are, and wakes the sleepers on the bell.
void answer(Bell& bell, std::atomic<uint32_t>& cpu);

// Wakes the sleepers that wait for the value just stored, if there are any: line.h says how that is seen without a
// fence. In `cpu` we tell our CPU: a sleeper also asks for that.
inline void ring(Bell& bell, std::atomic<uint32_t>& cpu) {
  std::atomic_signal_fence(std::memory_order_seq_cst);  // only the compiler must keep the order
  if (bell.sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]]
    answer(bell, cpu);
}

// The polls of a first burst under this policy.
inline int32_t burst_of(const WaitPolicy& policy) { return policy.spin_ns != 0 ? policy.burst : 0; }

// Waits, after such a burst, until so many slots are free, or a message is there: 0, -EPIPE, -ETIMEDOUT.
int wait_to_send(End& end, uint64_t slots);
int wait_to_receive(End& end);

}  // namespace smelt::queue

struct smelt_queue : smelt::queue::End {};
