// The hot team: fork and join without a runtime's barriers, as both shims keep one.
//
// A small parallel region costs mostly the way in and out: the runtime wakes its pool by one barrier and gathers it by
// another. Instead, from a region on that repeats the last one's team size, the workers are kept inside one long region
// of the runtime's that the program does not see.
//
//   start   master: start_team: GOMP_parallel_start, which comes back with the workers inside a real region; they meet;
//           barrier and fork are built.  worker: come_to_meeting - work
//   region  master: run_as_master: fork (function, data), its own part, join;  worker: inside work. The join is the
//           region's last barrier by its number (episodes.h): if tasks were made, it is the runtime's own
//   end     master: send_home - GOMP_parallel_end, which gathers the workers
//
// GOMP_parallel_start and _end are the ABI that GCC had before 4.9; all runtimes keep them. Work shares, tasks and
// nested regions inside are the runtime's own, in a real team.
//
// What the master looks like to the runtime between two regions, where it must be in the serial part, is the shim's
// business.
#pragma once

#include <utility>

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

// The shim's part of a team's start, asked inside, as the team's master. Is the runtime's state of the thread as
// expected? At last: does the master hold what it must while the team is parked?
struct Start {
  bool (*is_known)(HotRecord& hot);
  bool (*holds)(HotRecord& hot);
};

// Has the runtime make a team of so many threads, whose workers go to dock(&hot) and from there to the meeting.
// `alone`: no team around is at work meanwhile. True: the calling thread is inside. False: there is no team, and the
// thread is around again; if the runtime gave another size, the record has learned it.
bool start_team(HotRecord& hot, RegionRecord& region, uint32_t size, bool alone, void (*dock)(void*),
                const Start& start);

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

// Runs one region as the master; the team is parked and fits. `next` is where the region hangs that the thread opens
// next: at `inside` meanwhile. The shim's Master makes the thread the team's master (enter) and what it was around
// (leave), runs its part, and passes an episode that is marked as real (end_real).
template <typename Region, typename Master>
[[gnu::always_inline]] inline void run_as_master(HotRecord& hot, RegionRecord& region, Position& position,
                                                 Region**& next, Region** inside, const ForkMessage& message,
                                                 const Master& master) {
  hot.inside = true;
  const uint64_t first = hot.epoch;
  hot.fork->fork(first, message);
  master.enter();  // the rest of the way in, while the news travels
  Region** const around = std::exchange(next, inside);
  position = position_in(region, hot.barrier, 0, first, hot.level);
  count(region.counters.regions);
  count(region.counters.hot);

  master.run();

  const uint64_t joined = position.epoch + 1;
  count(region.counters.passed, joined - first);
  // The way out comes first, while the others are still coming, unless the runtime must serve the join.
  bool done = false;
  if (!next_is_real(position)) {
    master.leave();
    done = hot.fork->gather(joined, &region.real_epoch);
    if (!done) master.enter();
  }
  if (!done) {
    master.end_real();
    master.leave();
  }
  position = kOutside;
  next = around;
  hot.epoch = joined;
  ++hot.regions;
  hot.inside = false;
}

}  // namespace smelt::openmp
