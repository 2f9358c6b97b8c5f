// Fork and join: a master tells its workers what to run, and learns when all have run it.
//
// Half of a barrier each. The fork goes down a tree. Every participant with children there owns one release line that
// all of them poll. The message (which function, which data) is in that line, beside the episode number, so that
// hearing of a region and knowing it are one transfer. The join goes up a tree, the same or another: everybody owns an
// arrival line that its parent there polls. Nobody waits for a release after the join: a worker stays where it arrived,
// polling for the next fork. So a region costs the way down and the way up once, where a runtime that forks and joins
// by barriers passes two of them.
//
// The trees are the generator's (plan_fork in team.h). For one shared last-level cache both are flat: reads of the
// arrival lines overlap, and one store releases everybody. Between caches only the heads of groups talk. With many
// participants a fork has few heads, for a line costs its owner one store however many poll it, and a join has many.
//
// A reduction is a join in which everybody brings data: the arrival line holds their address beside the episode number,
// and a parent that waits for a child takes up the child's data into its own. The fork that follows allows to leave.
//
// Episodes are numbered by the caller, ever growing: join e is followed by fork e. Ordering: the master's writes before
// fork(e) are visible to a thread after its await(e); a thread's writes before arrive(e) are visible to the master
// after gather(e) (release stores, acquire loads, along the trees).
//
// The idea of workers parked at the end of the last region is LLVM libomp's ("hot team"); the message in the flag's
// line is UMP's (Baumann et al., SOSP 2009).
#pragma once

#include <cstddef>
#include <cstdint>

#include "generate/tree.h"
#include "policy/wait.h"

namespace smelt {

struct ForkMessage {
  void (*function)(void*);
  void* data;
  const void* extra;

  bool operator==(const ForkMessage&) const = default;
};

class alignas(kLineBytes) ForkJoin {
 public:
  static size_t bytes(uint32_t n);

  // In zeroed `memory` of that size, aligned to kLineBytes. Both trees span n participants with root 0 and are copied.
  static ForkJoin* create(const Tree& join, const Tree& fork, const WaitPolicy& policy, void* memory);

  // The master, participant 0. No fork before everybody has arrived at the episode before.
  void fork(uint64_t epoch, const ForkMessage& message) { pass_on(0, epoch, message); }

  // Waits until everybody has arrived at `epoch`. False: *stop == epoch was seen first, as in Barrier::arrive_and_wait.
  bool gather(uint64_t epoch, const std::atomic<uint64_t>* stop) { return gather_below(0, epoch, stop); }

  // A worker: arrives at `epoch`, after all below it. False: stopped.
  bool arrive(uint32_t me, uint64_t epoch, const std::atomic<uint64_t>* stop) {
    if (!gather_below(me, epoch, stop)) return false;
    post(nodes_[me].arrival, epoch, policy_.order);
    return true;
  }

  // The first half of a reduction, for everybody: combine(mine, theirs) takes up the data of those below, as they
  // arrive, in the tree's order. `combined` is 0 at first. False: stopped; called again, it goes on where it was.
  // Nobody may leave, and free its data, before fork `epoch`.
  using Combine = void (*)(void* mine, void* theirs);
  bool combine_below(uint32_t me, uint64_t epoch, const std::atomic<uint64_t>* stop, void* mine, Combine combine,
                     uint32_t* combined) {
    return take_below(me, epoch, stop, combined, [=](void* theirs) { combine(mine, theirs); });
  }

  // Its second half, for a worker: hands `mine` up.
  void arrive_with(uint32_t me, uint64_t epoch, void* mine) {
    Said<void*>& arrival = nodes_[me].arrival;
    arrival.word = mine;
    post(arrival, epoch, policy_.order);
  }

  // A worker: waits for fork `epoch`, hands it on to those below, and fills in the message. False: stopped. `asleep`:
  // without yielding before it sleeps.
  bool await(uint32_t me, uint64_t epoch, const std::atomic<uint64_t>* stop, ForkMessage* message,
             bool asleep = false) {
    Said<ForkMessage>& release = nodes_[nodes_[me].parent].release;
    if (!wait_briefly(release.epoch, epoch, policy_, stop) && !wait_long(release, me, epoch, stop, asleep))
      return false;
    *message = release.word;  // ordered by the acquire of the epoch; not changed before we have arrived again
    if (nodes_[me].forks) pass_on(me, epoch, *message);
    return true;
  }

  // Wakes all sleepers so that they look at their stop word again.
  void wake_all();

  uint32_t participants() const { return n_; }

 private:
  template <typename Word>
  struct alignas(kLineBytes) Said {  // a word that travels in the epoch's line
    Epoch epoch{0};
    Word word;
    alignas(64) Bell bell;

    operator Flag() { return {epoch, bell}; }
  };
  static_assert(sizeof(Epoch) + sizeof(ForkMessage) <= 64);

  struct Node {
    Said<ForkMessage> release;
    Said<void*> arrival;  // with the data of a reduction
    // The participant's own, on a line that nobody else touches. (Among what all read, in front of all nodes, its place
    // in the trees made a region of two near CPUs take 1.06 times as long.)
    alignas(kLineBytes) uint16_t parent;  // of the fork
    bool forks;                           // it has children there
    uint16_t children;                    // of the join
    uint32_t first_child;                 // in children_
    ForkMessage passed;  // the message in the release line, which is written by pass_on alone, after this
  };

  void pass_on(uint32_t me, uint64_t epoch, const ForkMessage& message) {
    Node& own = nodes_[me];
    // A program's loops run the same region again and again: the message is stored when it is another one. The message
    // passed on last is compared here, not in the line: the children poll the line, so a look at it would fetch it back
    // before the store of the epoch fetches it again (transport/line.h). Plain accesses both: nobody else has `passed`,
    // and of the message the children have done reading, for they have arrived since.
    if (!(own.passed == message)) {
      own.passed = message;
      own.release.word = message;
    }
    post(own.release, epoch, policy_.order);
  }

  bool gather_below(uint32_t me, uint64_t epoch, const std::atomic<uint64_t>* stop) {
    uint32_t taken = 0;
    return take_below(me, epoch, stop, &taken, [](void*) {});
  }

  // Waits for the children in the join from the `*taken`-th on, and takes what each brings.
  template <typename Take>
  bool take_below(uint32_t me, uint64_t epoch, const std::atomic<uint64_t>* stop, uint32_t* taken, Take take) {
    const Node& own = nodes_[me];
    const uint16_t* const child = children_ + own.first_child;
    for (; *taken < own.children; ++*taken) {
      Said<void*>& flag = nodes_[child[*taken]].arrival;
      if (!wait_briefly(flag.epoch, epoch, policy_, stop) && !wait_long(flag, me, epoch, stop)) return false;
      take(flag.word);  // both ordered by the acquire of the epoch
    }
    return true;
  }

  bool wait_long(Flag flag, uint32_t me, uint64_t epoch, const std::atomic<uint64_t>* stop, bool asleep = false);

  uint32_t n_;
  WaitPolicy policy_;
  Node* nodes_;               // [n]
  const uint16_t* children_;  // [n - 1] of the join, by parent, in the tree's order
};

}  // namespace smelt
