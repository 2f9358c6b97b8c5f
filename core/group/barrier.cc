// The barrier of a group: the schedule's steps over the signal lines of the desks, or for two the line with both flags.
//
// A step signals by storing the episode into one line of ours, which all its peers poll; epochs only grow, so nothing
// is reset (transport/line.h). Memory ordering: release stores, acquire loads, transitively along the schedule.
#include "group/group.h"

namespace smelt {

void group_barrier(Group& group) {
  const uint64_t episode = ++group.episode;
  if (group.plan.pair) {
    PairLine& line = group.front->pair_barrier;
    line.half[group.me].episode.store(episode, std::memory_order_release);
    const std::atomic<uint64_t>& other = line.half[1 - group.me].episode;
    group.wait_until(1 - group.me, [&] { return other.load(std::memory_order_acquire) >= episode; });
    group.finish_together();
    return;
  }
  const BarrierStep* const end = group.plan.steps + group.plan.step_count;
  for (const BarrierStep* step = group.plan.steps; step != end; ++step) {
    if (step->own) {
      step->own->store(episode, std::memory_order_release);
      continue;
    }
    for (uint32_t i = 0; i < step->count; ++i)
      group.wait_until(step->whose[i], [&] { return step->others[i]->load(std::memory_order_acquire) >= episode; });
  }
  group.finish_together();
}

}  // namespace smelt
