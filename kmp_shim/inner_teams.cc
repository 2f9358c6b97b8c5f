#include "inner_teams.h"

#include "base/log.h"
#include "base/options.h"
#include "base/os/os.h"
#include "doubles.h"
#include "hot_team.h"
#include "kept.h"
#include "policy/thresholds.h"

constinit thread_local smelt::kmp::Doubled smelt_kmp_doubled;

namespace smelt::kmp {
namespace {

// So many threads for a CPU are kept at most.
constexpr uint32_t kMostForCpu = 4;
constexpr uint32_t kPartOfLimit = 16;  // and of threads that the process may have

bool is_around(const RegionRecord* region) { return doubles.around.load(std::memory_order_relaxed) == region; }

constexpr uint32_t kNone = 0, kBeingMade = 1, kThere = 2, kNever = 3;
std::atomic<uint32_t> state{kNone};

// How often the program has said how long threads wait. Relaxed: a number.
std::atomic<uint32_t> renewals{0};

constinit thread_local OwnBlock block;                  // of the calling thread
constinit thread_local OwnBlock::Image own_image{};     // its own, inside an inner region
constinit thread_local InnerTeam* inside_of = nullptr;  // in whose region the calling thread is
constinit thread_local bool had_kept = false;           // it has started a team

// The threads that work: those that libomp made for the team beside it.
void forget(InnerTeam& team) {
  team.region->epoch = team.epoch + 1;  // the last fork has used the number before
  team.active = team.region->kept = false;
}

// Sends the workers home. The thread whose team it is, outside of its regions; or the master of the team around.
void end(InnerTeam& team) {
  send_home(team);
  tell(team, kEnd);
  forget(team);
}

void end_noted(InnerTeam& team, const char* why) {
  Region& region = *team.region;
  end(team);
  note_end(region, team, why);
}

// To libomp, is the thread with the double's image what it is to be?
bool can_double(const InnerTeam& team) {
  const OwnBlock::Image own = block.image();
  block.wear(team.image);
  const bool inside = REAL(omp_get_level)() == kInnerLevel &&
                      REAL(omp_get_num_threads)() == static_cast<int>(team.size) && REAL(omp_get_thread_num)() == 0 &&
                      REAL(__kmpc_global_thread_num)(&nowhere) == team.gtid;
  block.wear(own);
  return inside && REAL(omp_get_level)() == kInnerLevel - 1;
}

// False: no team of that size for the region.
bool start(InnerTeam& team, Region& region, uint32_t size) {
  team.region = &region;
  count_team(region, size - 1);  // the master is counted in the team around
  team.team = &team_for(region, size, headcount.crowded(), false);
  prepare_meeting(team, region, size, kInnerLevel);
  team.canary = nullptr;  // others of the team around may be at work meanwhile
  team.renewal = renewals.load(std::memory_order_relaxed);
  team.policy = wait_policy(team.team->crowded, size);
  team.icvs = icvs_now();
  team.place = place_now();
  had_kept = true;
  tell(team, kStart);
  if (!team.started) return false;
  region.cpus[0].store(os::current_cpu(), std::memory_order_relaxed);  // for the master alone
  const bool built = can_double(team) && build_for_hot_team(region, *team.team);
  team.fork = built ? team.team->fork.fork : nullptr;
  team.barrier = built ? team.team->made.barrier : nullptr;
  region.reduction = team.fork;
  region.reduces_from.store(built ? team.first_epoch + 1 : 0, std::memory_order_relaxed);  // dismiss() orders it
  dismiss(team);
  if (!built) return tell(team, kEnd), false;
  team.active = region.kept = true;
  count(region.counters.starts);
  if (options().verbose >= 2) report_hot(region, *team.team, "kept, fork and join ");
  return true;
}

// Runs one region as the master. The team is kept and fits.
void run_region(InnerTeam& team, const RegionCall& call) {
  Region& region = *team.region;
  const uint32_t control = float_control();
  const ForkMessage message = message_of(call, team.kept, control);
  team.inside = true;
  const uint64_t first = team.epoch;
  team.fork->fork(first, message);
  // The rest of the way in, while the news travels.
  const OwnBlock::Image own = own_image = block.image();
  Position& at = position;
  const Position around = at;
  HandedOn& here = smelt_kmp_handed_on;
  const uint32_t open = here.open;
  const KmpMicrotask last = here.last;
  const KmpThread gtid = REAL(__kmpc_global_thread_num)(&nowhere);
  const auto double_it = [&] {
    block.wear(team.image);
    smelt_kmp_doubled = {team.gtid, gtid};
    inside_of = &team;
  };
  const auto undouble_it = [&] {
    block.wear(own);
    smelt_kmp_doubled = {};
    inside_of = nullptr;
  };
  double_it();
  at = position_in(region, team.barrier, 0, first, kInnerLevel);
  here.open = HandedOn::kNothing;
  here.last = nullptr;
  count(region.counters.hot);

  run_function(message, team.gtid, 0);
  if (at.has_inner) [[unlikely]]
    end_inner();

  const uint64_t joined = at.epoch + 1;
  count(region.counters.passed, joined - first);
  join(
      at, undouble_it, double_it, [&] { return team.fork->gather(joined, &region.real_epoch); },
      [&] { pass_real(at, team.gtid); });
  set_float_control(control);
  at = around;
  here.open = open;
  here.last = last;
  team.epoch = joined;
  ++team.regions;
  team.inside = false;
}

// May threads be at different places? Where nobody binds them, libomp has one.
bool has_places() { return !smelt_real_omp_get_num_places || REAL(omp_get_num_places)() > 1; }

// Are the settings and the place of the calling thread those of its double?
bool is_like(const InnerTeam& team) { return icvs_now() == team.icvs && place_now() == team.place; }

// May so many threads be kept, for each of so many? No program is to fail for it that runs without.
bool are_few(uint32_t around, uint32_t inner) {
  const uint32_t limit = os::process_task_limit();
  return around * inner <= kMostForCpu * headcount.cpus.load(std::memory_order_relaxed) &&
         (limit == 0 || around * (inner + 1) <= limit / kPartOfLimit);
}

// Why the kept team cannot run a region of so many threads; nullptr: it can.
const char* misfit(const InnerTeam& team, uint32_t request) {
  if (team.renewal != renewals.load(std::memory_order_relaxed)) return "a setting was changed";
  if (smelt_openmp_several) return "another OpenMP runtime is in the process";
  if (request != team.size) return "another team size";
  // Relaxed: the join has ordered what was done inside the last region.
  if (team.spoiled.load(std::memory_order_relaxed)) return "a setting was changed in a region";
  if (!is_like(team)) return "a setting was changed";
  return headcount.crowded() && !team.team->crowded ? "the number of threads in the process" : nullptr;
}

}  // namespace

bool may_be_kept(const Region& region, const RegionCall& call, uint32_t request) {
  // Relaxed: run_kept() asks again.
  const uint32_t now = state.load(std::memory_order_relaxed);
  if (now == kNever || request <= 1 || !region.nested || !options().kmp_hot_team || !options().nested ||
      call.argc > kArguments || smelt_kmp_handed_on.clause ||
      region.regions_before_hot >= typical(ThresholdId::kHotAfterMost))
    return false;
  Position& at = position;
  if (REAL(omp_get_level)() != kInnerLevel - 1 || is_doubled()) return false;
  if (!at.barrier && !(at.word && take_position(at))) return false;
  if (at.level != kInnerLevel - 1 || next_is_real(at)) return false;
  return now != kThere || (is_around(at.region) && static_cast<uint32_t>(REAL(omp_get_num_threads)()) == doubles.size);
}

bool run_kept(Region& region, const RegionCall& call, uint32_t request) {
  const Position& at = position;
  // Acquire: with all that is there.
  if (state.load(std::memory_order_acquire) != kThere) {
    const auto size = static_cast<uint32_t>(REAL(omp_get_num_threads)());
    // The doubles are put where the master of the team around is bound, and it knows where that is.
    if (at.thread != 0 && has_places()) return false;
    if (region.repeats < region.regions_before_hot || !are_few(size, request)) return false;
    if (os::address_space_is_limited() || why_not_kept()) {
      put_off(region, false);
      return false;
    }
    uint32_t none = kNone;
    if (!state.compare_exchange_strong(none, kBeingMade, std::memory_order_acquire, std::memory_order_relaxed))
      return false;
    const bool made = make_doubles(at, size);
    if (made) say_kept(true);
    state.store(made ? kThere : kNever, std::memory_order_release);
    if (!made) return false;
  }
  if (!is_around(at.region) || at.thread >= doubles.size) return false;
  InnerTeam& team = doubles.teams[at.thread];
  if (team.active && team.region != &region) return false;
  if (!block.is_found() && !block.find()) return false;
  if (team.active)
    if (const char* const why = misfit(team, request)) end_noted(team, why);
  if (!team.active) {
    if (region.repeats < region.regions_before_hot || !are_few(doubles.size, request)) return false;
    if (why_not_kept() || !start(team, region, request)) {
      put_off(region, false);
      return false;
    }
  }
  count_team(region, request - 1);
  if (headcount.crowded()) spoil_hot();  // the team around waits better where libomp's waits yield
  run_region(team, call);
  return true;
}

void spoil_kept() {
  // Relaxed: the master sees it, since this thread has not arrived at the join yet.
  if (inside_of) inside_of->spoiled.store(true, std::memory_order_relaxed);
}

void set_inside_of(InnerTeam* team) { inside_of = team; }

void renew_kept() { renewals.fetch_add(1, std::memory_order_relaxed); }

bool owns_doubles() {
  // Acquire: with all that is there.
  return state.load(std::memory_order_acquire) == kThere && is_around(outermost_region());
}

bool end_doubles() {
  if (!owns_doubles()) return true;
  if (is_inside()) return false;
  if (doubles.process != os::process_id()) return forget_doubles(), true;
  for (uint32_t i = 0; i < doubles.size; ++i)
    if (doubles.teams[i].active) end(doubles.teams[i]);
  unmake_doubles();
  say_kept(false);
  had_kept = false;
  state.store(kNone, std::memory_order_release);  // for whoever makes them next
  return true;
}

bool has_kept() { return had_kept; }

void forget_doubles() {
  smelt_kmp_doubled = {};
  inside_of = nullptr;
  had_kept = false;
  if (state.load(std::memory_order_relaxed) == kThere) {
    for (Region* region = outermost_region(); region; region = region->deeper)
      for (uint32_t i = 0; region->kept && i < doubles.size; ++i)
        if (doubles.teams[i].region == region) forget(doubles.teams[i]);
    say_kept(false);
  }
  state.store(kNone, std::memory_order_relaxed);  // there is one thread
}

void wear_undoubled() { block.wear(own_image); }
void wear_doubled() { block.wear(inside_of->image); }

}  // namespace smelt::kmp
