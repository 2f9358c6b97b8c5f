#include "openmp/hot_team.h"

#include "base/log.h"
#include "base/options.h"
#include "base/os/os.h"
#include "openmp/headcount.h"
#include "policy/thresholds.h"

namespace smelt::openmp {
namespace {

std::atomic<uint64_t> generations{0};  // the last number that a meeting has been given

}  // namespace

void prepare_meeting(HotRecord& hot, const RegionRecord& region, uint32_t size, int32_t level) {
  hot.process = os::process_id();
  hot.level = level;
  hot.size = size;
  hot.first_epoch = hot.epoch = region.epoch + 1;
  hot.generation = generations.fetch_add(1, std::memory_order_relaxed) + 1;  // relaxed: only to differ
  hot.docked.store(0, std::memory_order_relaxed);  // these two are ordered by the runtime's fork
  hot.spoiled.store(false, std::memory_order_relaxed);
  hot.inside = false;
  hot.regions = 0;
}

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

void dismiss(HotRecord& hot) {
  post(hot.ready, hot.generation, PostOrder::kFenced);  // release: the barrier and fork built for the workers
}

bool come_to_meeting(HotRecord& hot, uint32_t me, std::atomic<uint32_t>& cpu) {
  const uint64_t generation = hot.generation;
  const WaitPolicy& policy = hot.policy;
  note_thread();
  cpu.store(os::current_cpu(), std::memory_order_relaxed);
  hot.docked.fetch_add(1, std::memory_order_release);  // the master reads `cpu` after it has seen all of them
  if (hot.canary) hot.canary->follow(me, policy);
  if (!wait_briefly(hot.ready.epoch, generation, policy)) wait_slowly(hot.ready, generation, nullptr, policy);
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
