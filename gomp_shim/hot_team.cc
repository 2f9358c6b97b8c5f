#include "hot_team.h"

#include <climits>
#include <new>

#include "base/log.h"
#include "base/options.h"
#include "base/os/os.h"
#include "loops.h"
#include "openmp/at_exit.h"
#include "openmp/callers.h"
#include "openmp/episodes.h"
#include "openmp/headcount.h"
#include "own_tasks.h"
#include "parked.h"
#include "policy/thresholds.h"
#include "real.h"
#include "solo.h"
#include "tasks.h"

namespace smelt::gomp {

namespace {

constexpr char kAdjusted[] = "dynamic adjustment of team sizes", kNoneActive[] = "no level may be active";

// libgomp's state of a thread was not found, or did not behave as expected: no more hot teams in this process.
std::atomic<bool> state_unknown{false};

struct Master {
  HotTeam& hot;
  const RegionCall& call;
  const Crossing& crossing;

  void enter() const { hot.state.enter(); }
  void leave() const { hot.state.leave(); }
  void run() const {
    crossing.inside(0, hot.size, hot.taken);
    if (call.loop) begin_loop(smelt_gomp_position, hot.loop, call.function);
    call.function(call.data);
  }
  void end_real() const {
    if (end_episode(smelt_gomp_position)) count(hot.region->counters.real);
  }
};

// Runs one region as the master. The hot team is parked and fits.
[[gnu::aligned(64)]] void run_region(HotTeam& hot, const RegionCall& call, Transition transition) {
  const Crossing crossing(transition);
  ForkMessage message{call.function, call.data, nullptr};
  if (call.loop) {
    if (!(hot.loop == *call.loop)) hot.loop = *call.loop;  // read by all: written only when it changes
    message.extra = &hot.loop;
  }
  run_as_master(hot, *hot.region, smelt_gomp_position, smelt_gomp_next_region, &hot.region->deeper, message,
                Master{hot, call, crossing});
}

// The workers are gone: sent home, or, in the child of a fork, never there.
void forget(HotTeam& hot) {
  hot.region->epoch =
      hot.epoch + 1;  // the last fork has used the number before; the numbers that a child inherits in barriers are
                      // older
  hot.active = false;
  // Relaxed: it is ours, or somebody else's who had it, and take_parked() has acquired what that one did.
  if (!hot.around)
    smelt_gomp_hot = nullptr;
  else if (hot.holder.load(std::memory_order_relaxed) != kNone)
    remove_parked(hot);
}

// Takes the team kept for a nested region. False: there is none, or somebody has sent it home meanwhile.
bool take_kept(Region* region) {
  if (!kept_for(region)) return false;
  if (take_parked(*region->hot)) return true;
  forget(*region->hot);
  note_end(*region, *region->hot, "threads could not be made");
  return false;
}

// Sends the workers home. The master is in the serial part, or, if nested, somewhere in the region around.
void end(HotTeam& hot) {
  // A child of _Fork() or of a bare clone, of which nobody has told us, has no workers to send.
  if (hot.process != os::process_id()) return forget(hot);
  if (Region* const inside = hot.region->deeper) end_teams_at(*inside);
  send_home(hot, false);
  if (!hot.around) hot.state.release_destructor();
  forget(hot);
}

// Why the parked team cannot run a region of so many threads; nullptr: it can.
inline const char* misfit(const HotTeam& hot, uint32_t threads, unsigned flags) {
  if (!hot.state.is_around()) [[unlikely]]
    return "libgomp's state of the serial part changed";
  if (headcount.crowded() != hot.team->crowded) [[unlikely]]
    return "the number of threads or of CPUs";
  // Relaxed: the join has ordered what was done inside the last region.
  if (hot.spoiled.load(std::memory_order_relaxed) || hot.stale) [[unlikely]]
    return "a setting was changed";
  if (threads != hot.size) [[unlikely]]
    return "another team size";
  return (flags & 7) != 0 ? why_not_hot(*hot.region, threads, flags) : nullptr;
}

// The HotTeam of a region, made at the first start.
HotTeam* hot_team_of(Region& region) {
  if (!region.hot) {
    void* memory = os::map_pages(sizeof(HotTeam));
    if (!memory) return nullptr;
    region.hot = new (memory) HotTeam{};
    region.hot->region = &region;
  }
  return region.hot;
}

bool is_known(HotRecord& hot) { return static_cast<HotTeam&>(hot).state.learn(); }

// The destructor of a thread that keeps a nested team is held where that is its own master, and else has no value.
bool holds(HotRecord& record) {
  auto& hot = static_cast<HotTeam&>(record);
  return hot.around || hot.state.hold_destructor();
}

// Lets the workers into a libgomp region and checks that the master's state can be changed back and forth.
bool start(HotTeam& hot, uint32_t size) {
  if (!hot.state.find()) return false;
  Region& region = *hot.region;
  const Crossing crossing(region.nested ? Transition::kStartKept : Transition::kStartHot);
  hot.size_around = REAL(omp_get_num_threads)();
  hot.around = region.nested ? smelt_gomp_position.region : nullptr;
  hot.threads_end.store(false, std::memory_order_relaxed);  // ordered by libgomp's fork
  hot.icvs = hot.taken = icvs_now();
  hot.stale = false;
  hot.settings = smelt_gomp_own.settings;
  hot.state.take_around();
  if (!start_team(hot, region, size, !hot.around, dock, {is_known, holds})) return false;
  hot.active = true;
  if (hot.around)
    add_parked(hot);
  else
    smelt_gomp_hot = &hot;
  if (hot.state.proves({hot.level - 1, hot.size_around}, {hot.level, static_cast<int>(hot.size)})) return true;
  end(hot);
  return false;
}

}  // namespace

std::atomic<bool> targets_seen{false};

void begin_loop(Position& position, const LoopCall& loop, GompFunction function) {
  if (begin_dynamic(position, loop, function)) return;
  REAL(GOMP_loop_start)(loop.start, loop.end, loop.step, loop.schedule, loop.chunk, nullptr, nullptr, nullptr, nullptr);
}

// Does a proc_bind clause ask for what regions without it do not get? `true` means close to libgomp.
static bool binds_otherwise(unsigned clause) {
  constexpr unsigned kTrue = 1, kClose = 3;
  const auto set = static_cast<unsigned>(REAL(omp_get_proc_bind)());
  return set != 0 && (set == kTrue ? kClose : set) != (clause == kTrue ? kClose : clause);
}

const char* why_not_swapped(const Region& region, unsigned flags) {
  if (!options().hot_team) return barriers_alone ? kBarriersAlone : "SMELT_OPENMP=-hot";
  if (region.nested && !options().nested) return "nested";
  if (state_unknown.load(std::memory_order_relaxed)) return "this libgomp keeps its threads' state in an unknown way";
  if (smelt_gomp_own.ends) return "its thread is ending";
  // Its queues by priority, at least those of libgomp 12, do not bear that an implicit task lives on: it falls.
  if (REAL(omp_get_max_task_priority)() > 0) return "OMP_MAX_TASK_PRIORITY is set";
  if ((flags & 7) != 0 && binds_otherwise(flags & 7)) return "a proc_bind clause";
  return nullptr;
}

const char* why_not_hot(const Region& region, uint32_t threads, unsigned flags) {
  if (threads <= 1) return "a team of one";
  if (threads > kMaxParticipants) return "too many threads";
  if (const char* const why = why_not_swapped(region, flags)) return why;
  if (REAL(omp_get_dynamic)()) return kAdjusted;
  if (REAL(omp_get_max_active_levels)() < 1) return kNoneActive;
  if (threads == region.learned_request && region.learned_size != threads) return "libgomp gives it another size";
  return nullptr;
}

bool start_hot(Region& region, uint32_t threads, unsigned flags) {
  if (const char* why = why_not_hot(region, threads, flags)) {
    if (threads > 1 && threads != region.told && !region.nested) note_not_hot(region.told = threads, why);
    return false;
  }
  if (region.repeats < region.regions_before_hot) return false;
  HotTeam* hot = hot_team_of(region);
  if (!hot) return false;
  if (hot->state.find() && !hot->state.has_pool()) {
    // A region in a destructor that comes after libgomp's. libgomp makes another pool for it, and its destructor is run
    // once more; but as a part of what the team's start changes, that pool would be forgotten with the team.
    put_off(region, false);
    return false;
  }
  if (!start(*hot, threads)) {
    state_unknown.store(true, std::memory_order_relaxed);
    return false;
  }
  note_start(region, *hot->team, "hot, fork and join ");
  return true;
}

bool send_home(HotTeam& hot, bool as_another) {
  const Crossing crossing(hot.around ? Transition::kEndKept : Transition::kEndHot);
  const auto as_master = [&] {
    openmp::send_home(hot);
    REAL(GOMP_parallel_end)();
  };
  if (as_another) return hot.state.visit_as_another(as_master);
  hot.state.visit(as_master);
  return true;
}

void cool(const char* why) {
  HotTeam* hot = smelt_gomp_hot;
  if (!hot || hot->inside || smelt_gomp_own.away != 0) return;
  Region& region = *hot->region;
  end(*hot);
  note_end(region, *hot, why);
}

bool run_hot(const RegionCall& call) {
  HotTeam* hot = smelt_gomp_hot;
  if (!hot || hot->inside) return false;
  if (hot->settings != smelt_gomp_own.settings) [[unlikely]] {
    hot->settings = smelt_gomp_own.settings;
    hot->icvs = icvs_now();
    hot->stale = !(hot->icvs == hot->taken);
  }
  const uint32_t threads = call.threads ? call.threads : static_cast<uint32_t>(hot->icvs.threads);
  if (threads == 1) [[unlikely]]
    return false;  // beside the parked team: enter() knows
  renew_headcount();
  if (const char* why = misfit(*hot, threads, call.flags)) [[unlikely]] {
    cool(why);
    return false;
  }
  run_region(*hot, call, Transition::kRunHot);
  return true;
}

// Why a nested region cannot be served, by a kept team or a new one; nullptr: it can.
const char* why_not_kept(const Region& region, const RegionCall& call, uint32_t threads) {
  if (const char* why = why_not_hot(region, threads, call.flags)) return why;
  if (region.never_kept) return "libgomp has refused such a team";
  if (call.reduction_size) return "a parallel construct with a task reduction";
  if (REAL(omp_get_thread_limit)() != INT_MAX) return "a limit of threads";
  if (REAL(omp_get_active_level)() >= REAL(omp_get_max_active_levels)()) return "deeper than active levels may be";
  const Position& around = smelt_gomp_position;
  if (!around.barrier || REAL(omp_get_level)() != around.level) return "inside a region that is libgomp's alone";
  // An undeferred task marks nothing (task_entries.cc), and its settings are its own.
  if (is_explicit(around) || next_is_real(around)) return "tasks";
  return nullptr;
}

// Why the team kept for a nested region that can be served does not fit it; nullptr: it does.
const char* misfit_kept(const HotTeam& hot, uint32_t threads) {
  if (hot.around != smelt_gomp_position.region || hot.level != smelt_gomp_position.level + 1)
    return "another team around";
  if (!hot.state.is_around_in_region()) return "libgomp's state of the thread changed";
  if (headcount.crowded() && !hot.team->crowded) return "the number of threads or of CPUs";
  if (threads != hot.size) return "another team size";
  // Relaxed: the join has ordered what was done inside the last region.
  if (hot.spoiled.load(std::memory_order_relaxed) || hot.settings != smelt_gomp_own.settings)
    return "a setting was changed";
  return nullptr;
}

// Ends the team kept for a nested region, which the caller has.
void end_kept_team(Region& region, const char* why) {
  end(*region.hot);
  note_end(region, *region.hot, why);
}

bool run_kept(Region& region, const RegionCall& call, uint32_t threads, RealEntry real) {
  if (!region.nested || !options().nested) return false;
  if (threads == 1 && kept_for(&region)) {
    // A team of one does not serve it, nor does anything beside the parked team, to which the region's episode numbers
    // belong: it is libgomp's alone.
    note_unseen_region();
    real(call, call.function, call.data);
    return true;
  }
  const bool kept = take_kept(&region);
  if (!kept && region.repeats < region.regions_before_hot) return false;
  const char* why = why_not_kept(region, call, threads);
  if (!why && !kept && !may_park(threads - 1)) return false;
  if (!why) count_team(region, threads - 1);
  if (!why && kept) why = misfit_kept(*region.hot, threads);
  if (why) {
    if (kept) end_kept_team(region, why);
    count_team(region, 0);
    return false;
  }
  if (!kept) {
    HotTeam* hot = hot_team_of(region);
    if (!hot || !start(*hot, threads)) {
      region.never_kept = true;
      count_team(region, 0);
      return false;
    }
    note_start(region, *hot->team, "kept, fork and join ");
  }
  HotTeam& hot = *region.hot;
  const Position around = smelt_gomp_position;
  hot.state.take_around_in_region();
  count(region.counters.regions, ~0ull);  // counted again as a hot one
  run_region(hot, call, Transition::kRunKept);
  smelt_gomp_position = around;
  count_team(region, 0);
  // Relaxed: the join has ordered it.
  if (hot.threads_end.load(std::memory_order_relaxed)) [[unlikely]]
    end_kept_team(region, "a thread has something to do at its end");
  else
    park(hot);
  return true;
}

void note_thread_end() {
  // Relaxed: read by the master, which cannot have passed the join.
  if (HotTeam* const hot = smelt_gomp_own.docked_in; hot && hot->around)
    hot->threads_end.store(true, std::memory_order_relaxed);
}

void wake_joining(HotTeam& hot) { hot.fork->wake_all(); }

void end_teams_at(Region& region) {
  if (take_kept(&region)) end(*region.hot);
  end_solo(region);
}

void end_kept() {
  Region* const inside = next_region_inside();
  if (!keeps_team(inside)) return;
  if (take_kept(inside)) end_kept_team(*inside, "the region around ends");
  if (!in_solo(*inside)) end_solo(*inside);
}

void forget_kept(Region& region) {
  if (kept_for(&region)) forget(*region.hot);
}

bool end_hot_with_thread() {
  HotTeam* const hot = smelt_gomp_hot;
  const bool inside = hot && hot->inside;
  if (hot && !inside) {
    end(*hot);
    put_off(*hot->region, was_worthwhile(*hot, *hot->region));
  }
  smelt_gomp_own.ends = true;
  return !inside;
}

void hold_key_again() { smelt_gomp_hot->state.hold_destructor(); }

void forget_hot() {
  forget_parked();
  if (HotTeam* hot = smelt_gomp_hot) forget(*hot);
  smelt_gomp_own.docked_in = nullptr;
}

void leave_hot(Region& region) {
  if (region.hot) region.hot->state = {};
}

void free_hot(Region& region) {
  if (region.hot) os::unmap_pages(region.hot, sizeof(HotTeam));
  region.hot = nullptr;
}

}  // namespace smelt::gomp
