// The workers of a hot team (hot_team.h), inside the libgomp region that keeps them: they wait for a fork, run the
// region, and join.
#include "base/os/os.h"
#include "hot_team.h"
#include "openmp/episodes.h"
#include "own_tasks.h"
#include "surplus.h"

namespace smelt::gomp {
namespace {

// The life of a surplus thread (surplus.h), from the meeting on.
void dock_lent(HotTeam& hot, uint32_t me, Position& position) {
  Region& region = *hot.region;
  Lent& self = lend(*hot.surplus, me);
  smelt_gomp_lent = &self;
  uint64_t epoch = hot.first_epoch;
  for (bool stops = false;;) {
    ForkMessage message;
    while (!await_lent(self, epoch, stops, &message)) {
      region.counters.abandoned.fetch_add(1, std::memory_order_relaxed);
      alone(self);
      end_episode(position);
      stops = false;
    }
    if (!message.function) break;
    position.epoch = epoch;
    position.unmarked = 1;
    if (message.extra) begin_loop(position, *static_cast<const LoopCall*>(message.extra), message.function);
    message.function(message.data);
    epoch = position.epoch + 1;
    stops = !next_is_real(position);
    if (stops) {
      arrive_lent(self, epoch);
    } else {
      alone(self);
      end_episode(position);
    }
  }
  leave_lent(self);
  smelt_gomp_lent = nullptr;
}

}  // namespace

// Aligned, as run_region(): of regions in a tight loop the pace depends on where the two begin (82 to 97 ns were seen),
// and what stands before them should not change it.
[[gnu::aligned(64)]] void dock(void* word) {
  HotTeam& hot = *static_cast<HotTeam*>(word);
  Region& region = *hot.region;
  const auto me = static_cast<uint32_t>(REAL(omp_get_thread_num)());
  const uint64_t generation = hot.generation;
  const WaitPolicy& policy = hot.policy;
  if (!hot.lends)
    region.cpus[me].store(os::current_cpu(), std::memory_order_relaxed);
  else if (const LentBlock& block = *hot.surplus->lent[me].block; me == block.first)
    region.cpus[&block - hot.surplus->block].store(os::current_cpu(), std::memory_order_relaxed);
  hot.docked.fetch_add(1, std::memory_order_release);  // the master reads `cpus` after it has seen all of them
  if (hot.canary) hot.canary->follow(me, policy);
  if (!wait_briefly(hot.ready.epoch, generation, policy)) wait_slowly(hot.ready, generation, nullptr, policy);

  if (!hot.fork) return;
  ForkJoin& fork = *hot.fork;
  Position& position = smelt_gomp_position;
  const Position before = position;
  uint64_t epoch = hot.first_epoch;
  position = position_in(region, hot.barrier, me, epoch, hot.level);
  smelt_gomp_own.docked_in = &hot;
  if (hot.lends) {
    dock_lent(hot, me, position);
    end_kept();
    smelt_gomp_own.docked_in = nullptr;
    position = before;
    return;
  }
  const std::atomic<uint64_t>* stop = nullptr;  // nobody makes tasks before the first fork
  // In a crowd with tasks. A worker that has yielded till the fork makes tasks at once, in competition with others that
  // yielded, and is done before the rest gets a CPU. A worker that has slept gets a CPU early, and the queue is shared
  // as under stock. (PARALLEL TASK of epcc/taskbench, 4 threads on 2 CPUs: stock / Smelt 0.3 without this.)
  bool asleep = false;
  for (;;) {
    ForkMessage message;
    while (!fork.await(me, epoch, stop, &message, asleep)) {
      // Arrived, and then somebody who had not made a task: this join is another one. position.epoch still numbers it.
      region.counters.abandoned.fetch_add(1, std::memory_order_relaxed);
      end_episode(position);
      stop = nullptr;
      asleep = hot.barrier->is_crowd();
    }
    if (!message.function) break;
    position.epoch = epoch;
    position.unmarked = 1;
    position.reals = position.assumed = 0;
    if (message.extra) begin_loop(position, *static_cast<const LoopCall*>(message.extra), message.function);
    message.function(message.data);
    epoch = position.epoch + 1;
    stop = &region.real_epoch;
    asleep = false;
    if (next_is_real(position) || !fork.arrive(me, epoch, stop)) {
      end_episode(position);
      stop = nullptr;
      asleep = hot.barrier->is_crowd();
    }
  }
  end_kept();
  smelt_gomp_own.docked_in = nullptr;
  position = before;
}

}  // namespace smelt::gomp
