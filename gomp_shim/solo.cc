#include "solo.h"

#include <climits>
#include <utility>

#include "base/log.h"
#include "base/options.h"
#include "hot_team.h"
#include "openmp/episodes.h"
#include "own_tasks.h"
#include "policy/thresholds.h"
#include "real.h"
#include "region.h"
#include "states.h"

namespace smelt::gomp {
namespace {

void nothing(void*) {}

bool is_inside(const Solo& solo) { return REAL(omp_get_num_threads)() == 1 && REAL(omp_get_level)() == solo.level; }

// The calling thread takes on the state inside the team, and leaves it for good.
void end_team(Solo& solo) {
  const Crossing crossing(Transition::kEndOne);
  solo.state.visit([] { REAL(GOMP_parallel_end)(); });
}

// Makes the team. False: libgomp's state of the thread does not behave as we know it.
bool start(Region& one, const RegionRecord* around) {
  Solo& solo = one.solo;
  if (!solo.state.find()) return false;
  const Crossing crossing(Transition::kStartOne);
  const int size_around = REAL(omp_get_num_threads)();
  solo.around = around;
  solo.level = REAL(omp_get_level)() + 1;
  solo.epoch = one.epoch + 1;
  solo.regions = 0;
  solo.spoiled = false;
  solo.icvs = icvs_now();
  solo.settings = smelt_gomp_own.settings;
  solo.state.take_around();
  REAL(GOMP_parallel_start)(nothing, nullptr, 1);
  if (!is_inside(solo) || !solo.state.learn() || !barrier_for(one, 1, false, false)) {
    REAL(GOMP_parallel_end)();
    return false;
  }
  solo.active = solo.state.proves({solo.level - 1, size_around}, {solo.level, 1});
  if (!solo.active) end_team(solo);
  return solo.active;
}

// Settings were made in the serial part, which the team is in: are they what they were when it was started?
[[gnu::noinline]] bool has_settings(Solo& solo) {
  if (!(icvs_now() == solo.icvs)) return false;
  solo.settings = smelt_gomp_own.settings;
  return true;
}

// Does the team that is kept fit a region that is opened here and now?
bool fits(Solo& solo, const Region& region, const Position& around) {
  if (solo.spoiled) return false;
  if (region.nested)
    return solo.settings == smelt_gomp_own.settings && solo.around == around.region && solo.level == around.level + 1 &&
           solo.state.is_around_in_region();
  if (!solo.state.is_around()) return false;
  // Icvs lacks some settings; libgomp's state of the serial part, just compared, tells those.
  return solo.settings == smelt_gomp_own.settings || has_settings(solo);
}

// Makes a team if that is worth it. It is not inlined: the regions after it would pay for its registers.
[[gnu::noinline]] bool start_solo(Region& region, const RegionCall& call, const Position& around) {
  const uint32_t wanted = region.one ? region.one->regions_before_hot : typical(ThresholdId::kHotAfter);
  if (++region.ones <= wanted || why_not_swapped(region, call.flags)) return false;
  // libgomp counts the threads of a pool anew for each of its outermost teams; where there is a limit, it may matter.
  if (!region.nested && REAL(omp_get_thread_limit)() != INT_MAX) return false;
  if (!region.one) region.one = new_record(true);
  Region* const one = region.one;
  if (!one || !start(*one, region.nested ? around.region : nullptr)) {
    region.ones = 0;
    if (one) put_off(*one, false);
    return false;
  }
  count(region.counters.starts);
  if (options().verbose >= 2) log_line("team of 1%s: hot", region.nested ? " (nested)" : "");
  return true;
}

// The team does not fit any more.
[[gnu::noinline]] void end_misfit(Region& region) {
  Region& one = *region.one;
  region.ones = 0;
  put_off(one, one.solo.regions >= typical(ThresholdId::kHotWorthwhile) * one.regions_before_hot);
  count(region.counters.ends);
  end_solo(region);
}

}  // namespace

bool run_solo(Region& region, const RegionCall& call) {
  if (call.reduction_size) return false;
  Position& position = smelt_gomp_position;
  // In the region's implicit task alone, of a region that we serve: as for kept teams.
  if (region.nested &&
      (!position.barrier || REAL(omp_get_level)() != position.level || is_explicit(position) || next_is_real(position)))
    return false;
  if (region.one && region.one->solo.active) [[likely]] {
    if (region.one->solo.inside) return false;
    if (!fits(region.one->solo, region, position)) [[unlikely]] {
      end_misfit(region);
      return false;
    }
    if ((call.flags & 7) != 0 && why_not_swapped(region, call.flags)) return false;
  } else if (!start_solo(region, call, position)) {
    return false;
  }
  Region& one = *region.one;
  Solo& solo = one.solo;
  HotTeam* const parked = region.nested ? nullptr : smelt_gomp_hot;
  const Crossing crossing(Transition::kRunOne);
  if (region.nested) solo.state.take_around_in_region();
  const Position around = position;
  solo.inside = true;
  if (parked) parked->inside = true;
  solo.state.enter();
  crossing.inside(0, 1, solo.icvs);
  Region** const link = std::exchange(smelt_gomp_next_region, &one.deeper);
  position = position_in(one, one.last_team->made.barrier, 0, solo.epoch, solo.level);
  count(region.counters.hot);
  if (call.loop) begin_loop(position, *call.loop, call.function);

  call.function(call.data);

  if (next_is_real(position)) [[unlikely]]
    if (end_episode(position)) count(one.counters.real);
  count(one.counters.passed, position.epoch + 1 - solo.epoch);
  solo.epoch = position.epoch + 1;
  solo.spoiled = solo.settings != smelt_gomp_own.settings;
  ++solo.regions;
  solo.state.leave();
  smelt_gomp_next_region = link;
  position = around;
  if (parked) parked->inside = false;
  solo.inside = false;
  return true;
}

void end_solo(Region& region) {
  if (!region.one || !region.one->solo.active) return;
  Region& one = *region.one;
  if (one.deeper) end_teams_at(*one.deeper);
  end_team(one.solo);
  one.solo.active = false;
  one.epoch = one.solo.epoch + 1;
}

bool in_solo(const Region& region) { return region.one && region.one->solo.active && region.one->solo.inside; }

}  // namespace smelt::gomp
