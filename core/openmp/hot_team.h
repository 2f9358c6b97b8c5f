// A hot team, as both shims keep one: a team whose workers stay inside one long region of the runtime's that the
// program does not see, and which is forked and joined here (team/fork_join.h) for one region of the program after
// another.
//
// How the master comes out of the runtime's region while its workers stay in it, and what it looks like to the runtime
// meanwhile, is the shim's business. Here are the parts that do not differ: the meeting at the team's start, a worker's
// life until the team's end, and the join.
//
//   start   master: prepare_meeting - the runtime's fork - meet - builds barrier and fork - dismiss
//           worker: come_to_meeting - work
//   region  master: fork, its own part, join;  worker: inside work
//   end     master: send_home
#pragma once

#include "base/arch/cpu.h"
#include "openmp/episodes.h"
#include "openmp/region.h"
#include "policy/canary.h"
#include "policy/wait.h"
#include "team/fork_join.h"

namespace smelt::openmp {

struct HotRecord {
  // Only the master uses it.
  Team* team;           // barrier and fork of this size
  bool active;          // the workers are kept
  bool inside;          // the master is in a region (or in one of one thread beside the parked team)
  uint32_t size;        // threads
  uint64_t epoch;       // last episode; the next fork carries it
  uint64_t regions;     // since the start
  uint64_t generation;  // of this team; never repeats
  int32_t process;      // that made it
  int32_t level;        // omp_get_level() in its regions

  // Set by anybody inside a region: the team is to end before the next.
  alignas(kLineBytes) std::atomic<bool> spoiled;

  // The meeting at the start: every worker has said where it runs; perhaps a canary is asked; then the master says what
  // was built for that.
  alignas(kLineBytes) std::atomic<uint32_t> docked;
  Line ready;         // its epoch is the generation
  Canary* canary;     // to be followed by all; nullptr: none
  WaitPolicy policy;  // for the meeting; of the master, since finding it out reads files
  Barrier* barrier;
  ForkJoin* fork;  // nullptr at the meeting: go home, nothing could be built
  uint64_t first_epoch;
};

// The record at the beginning of a team of so many threads, whose regions will be of that level. The shim sets `team`,
// `policy` and `canary`, and the runtime's fork comes next.
void prepare_meeting(HotRecord& hot, const RegionRecord& region, uint32_t size, int32_t level);

// Master of a team that the runtime has made of `given` threads. All workers are on their way to the meeting, and stay
// there until dismiss(): back when each has said where it runs.
void meet(HotRecord& hot, RegionRecord& region, uint32_t given);

// Ends the meeting; barrier and fork are what the workers are to use.
void dismiss(HotRecord& hot);

// A worker's part of the meeting; `cpu` is where it says where it runs. False: go home.
bool come_to_meeting(HotRecord& hot, uint32_t me, std::atomic<uint32_t>& cpu);

// Tells the workers to leave. The master is to end the runtime's region next.
inline void send_home(HotRecord& hot) { hot.fork->fork(hot.epoch, {nullptr, nullptr, nullptr}); }

// Was the team worth its start?
bool was_worthwhile(const HotRecord& hot, const RegionRecord& region);

// The region's next hot team comes sooner or later by what a last one was good for.
void put_off(RegionRecord& region, bool worthwhile);

// A region's team has ended early; `why` for SMELT_VERBOSE=2.
void note_end(RegionRecord& region, const HotRecord& hot, const char* why);

// A worker's life from the meeting on. `run(message)` runs the program's function; `end_real()` passes an episode that
// is marked as real.
template <typename Run, typename EndReal>
[[gnu::always_inline]] inline void work(HotRecord& hot, Position& position, Run run, EndReal end_real) {
  ForkJoin& fork = *hot.fork;
  RegionRecord& region = *position.region;
  const uint32_t me = position.thread;
  uint64_t epoch = position.epoch;
  const std::atomic<uint64_t>* stop = nullptr;  // nobody makes tasks before the first fork
  // In a crowd with tasks. A worker that has yielded till the fork makes tasks at once, in competition with others that
  // yielded, and is done before the rest gets a CPU. A worker that has slept gets a CPU early, and the queue is shared
  // as under stock. (PARALLEL TASK of epcc/taskbench, 4 threads on 2 CPUs: stock / Smelt 0.3 without this.)
  bool asleep = false;
  for (;;) {
    ForkMessage message;
    while (!fork.await(me, epoch, stop, &message, asleep)) {
      // Arrived, and then somebody who had not made a task: this join is another one. position.epoch still numbers it.
      end_real();
      stop = nullptr;
      asleep = hot.barrier->is_crowd();
    }
    if (!message.function) return;
    position.epoch = epoch;
    position.unmarked = 1;
    position.reals = position.assumed = 0;
    run(message);
    epoch = position.epoch + 1;
    stop = &region.real_epoch;
    asleep = false;
    if (next_is_real(position) || !fork.arrive(me, epoch, stop)) {
      end_real();
      stop = nullptr;
      asleep = hot.barrier->is_crowd();
    }
  }
}

// The master's end of a region. leave() takes it back to the state around, and come_back() undoes that: the way out
// comes first, while the others are still coming, unless the runtime must serve the join. gather() waits for the
// others; false: it was stopped. end_real() as above.
template <typename Leave, typename ComeBack, typename Gather, typename EndReal>
[[gnu::always_inline]] inline void join(Position& position, Leave leave, ComeBack come_back, Gather gather,
                                        EndReal end_real) {
  if (!next_is_real(position)) {
    leave();
    if (gather()) return;
    come_back();
  }
  end_real();
  leave();
}

}  // namespace smelt::openmp
