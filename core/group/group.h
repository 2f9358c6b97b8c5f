// A group as one participant sees it: the places in its memory, the operations under way, the way it waits.
//
// The collectives are one file each, named as their rows of smelt/collectives.def, written over the rings
// (transport/ring.h) as state machines that the engine runs (engine.h); how they are put to use is plan.h's; how a
// group comes into being, create.cc's.
#pragma once

#include <smelt/group.h>

#include "base/object.h"
#include "group/plan.h"
#include "group/trials.h"
#include "policy/wait.h"
#include "transport/ring.h"

namespace smelt {

struct KnownMachine;  // machine.h
struct Pending;       // started.h

inline constexpr uint64_t kOutstanding = 64;  // operations that may be started and not complete

// Numbers of calls that are left out where a group rests and is woken: a member that has left is past all that belong
// to its past (Group::is_ahead), and not past any that are to come.
inline constexpr uint64_t kCallsBetween = 1 << 20;

// exchange.cc: for each participant, an entry of a table and the notes on one message.
constexpr size_t exchange_bytes(uint32_t n) { return size_t{n} * 7 * sizeof(uint64_t); }

// The watch on what follows a group's calls: the next call, or a barrier?
//
// Methods that are as good in a row of calls differ where everybody must be done before anything else begins
// (model/curves.h, Sync), and a call does not know what will follow it. But programs are loops: if a barrier followed
// the calls so far, it will mostly follow the next one, too. So the watch keeps one bit for each of the last 32 calls
// that were no barriers, set where a barrier came directly after it:
//
//   calls      bcast barrier bcast barrier reduce bcast barrier barrier
//   bits             1             1              0     1
//
// 32 ones in a row: they are strict from here on; 32 zeros: loose again. In between all stays as it is, so a program
// that does both does not go to and fro.
//
// All participants must use the same method. They need not tell each other: all begin the group's collectives in the
// same order, started ones among them, and the bits are a function of that order alone, not of time. But the limits
// must not change under an operation that is under way, which another participant may have completed already. So a new
// regime begins in a blocking call only, which has completed all that was started before it (engine.h), and counts from
// that call on.
struct Watch {
  static constexpr uint32_t kCalls = 32;  // the bits of `followed`: so many alike in a row turn the regime
  static constexpr uint64_t kStrict = UINT32_MAX, kLooseAgain = 0, kNever = UINT64_MAX;

  uint32_t followed = 0;       // the latest call that something has followed in bit 0
  uint32_t open = 0;           // 1: nothing has followed the last call yet
  uint64_t turns_at = kNever;  // the value of `followed` that turns the regime

  // Watches from here on, as long as the regime is the one that is given.
  void begin(bool strict) { turns_at = strict ? kLooseAgain : kStrict; }
  // Has the other regime shown itself? Nobody watches: never.
  bool has_turned() const { return followed == turns_at; }
};

struct Group : Rings {
  smelt_host host{};

  // 1. Memory besides the rings.
  Block block, shelf_block;
  char* introductions = nullptr;
  char* scratch = nullptr;   // this process's own: kScratchBytes
  char* exchange = nullptr;  // exchange_bytes(n): an exchange's notes on every participant
  uint64_t probe = 0;        // Introduction::probe_address

  // 2. Two means that are asked for when they are first needed, by all in the same collective, and granted to all or to
  // none.
  enum class Agreement : uint8_t { kNotAsked, kOffered, kCast, kGranted, kRefused };
  Agreement shelf_agreement = Agreement::kNotAsked, copy_agreement = Agreement::kNotAsked;

  // 3. Operations that were started: a queue, of which only the first is ever under way. [kOutstanding]
  Pending* pending = nullptr;
  uint64_t completed = 0, started = 0;
  uint64_t first_place = 0;  // the operation whose place is the first: the last one that found the queue empty
  Pending& place_of(uint64_t operation);
  uint32_t awaited = 0;    // whom the first of them waits for
  uint32_t in_vain = 0;    // tests that have found nothing complete, not counted without end
  uint32_t looks = 0;      // that found nothing
  bool advancing = false;  // it is being advanced: if a callback asks for progress meanwhile, it gets none

  // 4. All must agree on which collective this is, and on how long its operands are (Rings).
  uint64_t calls = 0;
  bool broken = false;                          // they did not agree, and the group cannot go on
  uint64_t ahead_call = 0, ahead_peer = 0;      // Group::may_come
  [[gnu::noinline, gnu::cold]] bool give_up();  // false

  // 5. Does the next call or a barrier follow a call? The limits depend on it.
  Watch watch;
  Sync sync = Sync::kLoose;
  const char* sync_why = "";
  void choose_sync(Sync chosen);
  [[gnu::noinline, gnu::cold]] void turn();  // the other regime, from this call on

  // 6. The plan, and the profile that it was made from.
  GroupPlan plan;
  const KnownMachine* machine = nullptr;
  Route* routes = nullptr;               // [n] by root, filled at first use
  ReduceRoute* reduce_routes = nullptr;  // [n] likewise
  Arena children{nullptr, 0};            // of those, with room for all of them
  uint8_t parts[kBlockSize] = {};        // of the fixed order, by root, likewise; up to a block of participants

  // 7. How it waits: as a crowd, or because each has a CPU. Each participant by what it knows itself (wait.cc).
  bool crowded = false;
  int burst_polls = 0;  // before a waiter looks up from its line
  int turn_polls = 0;   // between two turns of waiting
  Recount recount;
  int64_t known_until = 0;  // os::now_ns()
  void wait_as(bool crowd);
  [[gnu::noinline, gnu::cold]] void recount_cpus();

  // 8. Which method has the long calls of two, where nobody measured.
  MethodTrials trials;

  // 9. A pool finds its groups by these (pool.h).
  struct Pool* pool = nullptr;
  BlockTicket ticket;
  uint16_t* members = nullptr;                     // [n]
  uint64_t signature = 0;                          // of those
  uint64_t trace = 0;                              // of one that rests: segment.h
  smelt_group *older = nullptr, *newer = nullptr;  // of all that rest
  smelt_group* next_alike = nullptr;               // of those whose signatures are in the same list

  const Introduction& introduction(uint32_t i) const {
    return *reinterpret_cast<const Introduction*>(introductions + i * kIntroductionBytes);
  }

  // The turns of waiting (engine.h).
  void idle(uint32_t peer, uint32_t turn);
  bool should_make_room(uint32_t peer);
  void tested_in_vain();
  // Can the awaited message still come from `peer`? If not, we give up, for good. To be asked again and again; in
  // between the caller looks whether the message has come.
  bool may_come(uint32_t peer);
  // Has the peer done its part of this call, or gone about it otherwise than we? If so, its writes are visible.
  bool is_ahead(uint32_t peer) const;
  void leave();  // no call of ours will follow
  void rest();   // ... for this time: the numbers of later ones leave a gap
  void wake() {
    calls += kCallsBetween;
    begin_life();
  }

  // Each: has it been agreed on, one way or the other? `behind` is a participant that has not answered. The outcome is
  // in `shelves` and single_copy().
  template <typename How>
  bool shelves_agreed(How how) {
    return how.until(behind, [this] { return shelf_agreement >= Agreement::kGranted || agree_on_shelves(); });
  }
  bool agree_on_shelves();
  template <typename How>
  bool single_copy_agreed(How how) {
    return how.until(behind, [this] { return copy_agreement >= Agreement::kGranted || agree_on_single_copy(); });
  }
  bool agree_on_single_copy();
  bool single_copy() const { return copy_agreement == Agreement::kGranted; }

  const Route& route(uint32_t root) {
    if (routes[root].parent == kUnrouted) [[unlikely]]
      find_route(root);
    return routes[root];
  }
  void find_route(uint32_t root);
  // Puts a message to all who hear it from us: by both lines of a root that has two.
  template <typename How>
  bool put_lines(How how, const Route& route, const void* from, size_t bytes, uint64_t what) {
    if (!slots_free(how)) return false;
    if (route.two_lines) [[unlikely]]
      write(desk().up, from, bytes, what);
    write(desk().down, from, bytes, what);
    return true;
  }
  // The tree along which this operation goes to `root`; nullptr: it keeps the fixed order.
  const ReduceRoute* tree_for(const smelt_fold& fold, uint32_t root) {
    if (!(fold.flags & plan.free_folds)) return nullptr;
    if (reduce_routes[root].parent == kUnrouted) [[unlikely]]
      find_reduce_route(root);
    return reduce_routes[root].by_tree ? &reduce_routes[root] : nullptr;
  }
  uint32_t parts_to(uint32_t root) {
    if (parts[root] == 0) [[unlikely]]
      parts[root] = plan_parts(*this, root);
    return parts[root];
  }
  void find_reduce_route(uint32_t root);
};

}  // namespace smelt

struct smelt_group : smelt::Object, smelt::Group {};
