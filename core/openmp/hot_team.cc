#include "openmp/hot_team.h"

#include "base/log.h"
#include "base/options.h"
#include "base/os/os.h"
#include "openmp/headcount.h"
#include "policy/thresholds.h"

namespace smelt::openmp {
namespace {

std::atomic<uint64_t> generations{0};  // the last number that a meeting has been given

// The record at the beginning of a team. The thread is around it.
void prepare(HotRecord& hot, RegionRecord& region, uint32_t size, bool alone) {
  if (alone) count_team(region, size);
  hot.team = &team_for(region, size, headcount.crowded(), false);
  // Others of a team around may be at work meanwhile: nothing is asked then.
  hot.canary = alone ? take_canary(*hot.team, static_cast<uint32_t>(REAL(omp_get_num_procs)())) : nullptr;
  hot.policy = wait_policy(hot.team->crowded, size);
  hot.process = os::process_id();
  hot.level = REAL(omp_get_level)() + 1;
  hot.size = size;
  hot.first_epoch = hot.epoch = region.epoch + 1;
  hot.generation = generations.fetch_add(1, std::memory_order_relaxed) + 1;  // relaxed: only to differ
  hot.docked.store(0, std::memory_order_relaxed);  // these two are ordered by the runtime's fork
  hot.spoiled.store(false, std::memory_order_relaxed);
  hot.inside = false;
  hot.regions = 0;
}

// All workers are on their way to the meeting, and stay there: back when each has said where it runs.
void meet(HotRecord& hot, RegionRecord& region, uint32_t given) {
  region.cpus[0].store(os::current_cpu(), std::memory_order_relaxed);  // for the master alone
  // Acquire: pairs with the release in come_to_meeting(), after which a worker's CPU is known.
  for (uint32_t turns = 0; hot.docked.load(std::memory_order_acquire) + 1 < given; ++turns) {
    if (turns < typical(ThresholdId::kMeetingPolls))
      cpu_pause();
    else
      os::yield_cpu();
  }
  if (hot.canary) ask_canary(*hot.canary, region, given);
}

}  // namespace

bool start_team(HotRecord& hot, RegionRecord& region, uint32_t size, bool alone, void (*dock)(void*),
                const Start& start) {
  prepare(hot, region, size, alone);
  REAL(GOMP_parallel_start)(dock, &hot, size);
  const auto given = static_cast<uint32_t>(REAL(omp_get_num_threads)());
  meet(hot, region, given);
  if (given != size) {
    region.learned_request = size;
    region.learned_size = given;
  }
  const bool built = given == size && REAL(omp_get_level)() == hot.level && start.is_known(hot) &&
                     build_for_hot_team(region, *hot.team) && start.holds(hot);
  hot.fork = built ? hot.team->fork.fork : nullptr;
  hot.barrier = built ? hot.team->made.barrier : nullptr;
  post(hot.ready, hot.generation, PostOrder::kFenced);  // release: the barrier and fork built for the workers
  if (!built) REAL(GOMP_parallel_end)();
  return built;
}

bool come_to_meeting(HotRecord& hot, uint32_t me, std::atomic<uint32_t>& cpu) {
  const uint64_t generation = hot.generation;
  const WaitPolicy& policy = hot.policy;
  note_thread();
  cpu.store(os::current_cpu(), std::memory_order_relaxed);
  hot.docked.fetch_add(1, std::memory_order_release);  // the master reads `cpu` after it has seen all of them
  if (hot.canary) hot.canary->follow(me, policy);
  if (!wait_briefly(hot.ready.epoch, generation, policy)) wait_slowly(hot.ready, generation, nullptr, policy);
  if (hot.barrier) hot.barrier->publish_cpu(me);
  return hot.fork;
}

bool was_worthwhile(const HotRecord& hot, const RegionRecord& region) {
  return hot.regions >= typical(ThresholdId::kHotWorthwhile) * region.regions_before_hot;
}

void put_off(RegionRecord& region, bool worthwhile) {
  region.repeats = 0;
  ++region.generation;
  if (worthwhile)
    region.regions_before_hot = typical(ThresholdId::kHotAfter);
  else if (region.regions_before_hot < typical(ThresholdId::kHotAfterMost))
    region.regions_before_hot *= 2;
}

void note_end(RegionRecord& region, const HotRecord& hot, const char* why) {
  count(region.counters.ends);
  put_off(region, was_worthwhile(hot, region));
  if (options().verbose >= 2)
    log_line("team of %u: hot no more after %llu regions: %s", hot.size, static_cast<unsigned long long>(hot.regions),
             why);
}

}  // namespace smelt::openmp
