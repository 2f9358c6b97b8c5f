// The calls that a hot team (hot_team.h) cannot bear, or not as it is: target regions, teams, omp_pause, and settings.
#include "hot_team.h"
#include "loops.h"
#include "openmp/callers.h"
#include "own_tasks.h"
#include "real.h"
#include "tasks.h"

namespace smelt::gomp {
namespace {

// Something begins that cannot bear parked workers, nor the state of a thread changed back and forth.
void end_teams() {
  if (!active() || smelt_gomp_own.away != 0) return;
  note_unseen_region();
  end_kept();
  cool("something begins that cannot bear parked workers");
}

// Makes libgomp's block of settings of the calling thread, as its first setting would. False: there was one, or a task
// outside all regions is running, which has settings of its own that end with it. libgomp gives its key a value along
// with the block, so the key tells.
bool make_own_settings() {
  ThreadState state;
  if (!state.find_mine()) return true;
  const bool held = state.hold_destructor();
  REAL(omp_set_dynamic)(REAL(omp_get_dynamic)());
  const bool made = state.destructor() != nullptr;
  if (held && !made) state.release_destructor();
  return made;
}

// The settings that regions inherit are about to change: the long form. A function of its own, so that the short one
// saves no registers.
[[gnu::noinline, gnu::cold]] void* note_rare(void** slot, const void* caller) {
  if (!active()) return meant(*slot, caller);
  ThreadsOwn& own = smelt_gomp_own;
  own.settings += 2;
  if (own.away != 0) return meant(*slot, caller);  // those of a target region end with it
  if (smelt_gomp_own_tasks) note_settings(smelt_gomp_position);
  // In a region, the settings are the implicit task's, which stock would make anew for the next one.
  HotTeam* const hot = smelt_gomp_hot;
  if (hot && hot->inside) {
    hot->spoiled.store(true, std::memory_order_relaxed);
  } else if (own.docked_in) {
    // Relaxed: the master sees it, since this thread has not arrived at the join yet.
    own.docked_in->spoiled.store(true, std::memory_order_relaxed);
  } else if ((own.settings & 1) == 0 && REAL(omp_get_level)() == 0) {
    // For a thread's first setting of its own libgomp makes it a block of them, and gives its key the value that we
    // have taken away.
    if (hot) cool("the thread's first setting");
    if (make_own_settings()) own.settings |= 1;
  }
  return meant(*slot, caller);
}

constexpr unsigned kNowait = 1;  // GOMP_TARGET_FLAG_NOWAIT

// It is called before a target region.
inline void leave_hot_team() {
  if (smelt_gomp_hot) cool("a target region");
}

struct Target {  // the arguments of GOMP_target_ext
  int device;
  GompFunction function;
  size_t count;
  void** addresses;
  size_t* sizes;
  unsigned short* kinds;
  unsigned flags;
  void** depend;
  void** args;
};

[[gnu::noinline]] void run_target(const Target& t, const void* caller) {
  if ((t.flags & kNowait) != 0 && active()) {
    targets_seen.store(true, std::memory_order_relaxed);
    end_teams();
  }
  // It is a task, or waits for some: libgomp knows nothing of ours.
  if ((t.flags & kNowait) != 0 || t.depend) smelt_gomp_mark();
  leave_hot_team();
  const GoAway away(Transition::kRunTarget);
  const PutAside position;
  reinterpret_cast<decltype(&GOMP_target_ext)>(meant(smelt_real_GOMP_target_ext, caller))(
      t.device, t.function, t.count, t.addresses, t.sizes, t.kinds, t.flags, t.depend, t.args);
}

}  // namespace
}  // namespace smelt::gomp

using namespace smelt::gomp;

extern "C" {

void smelt_gomp_cool(void) {
  end_teams();
  // After omp_pause, libgomp must make its pool before the state of a thread in it can be learnt: taken for a part of
  // the team's state, the pool would come and go with it.
  expect_new_pool();
}

void* smelt_gomp_note(void** slot, const void* caller) {
  // Usually a thread changes its settings again and again, and between regions: its first setting found us active.
  const HotTeam* const hot = smelt_gomp_hot;
  if (smelt_gomp_own.docked_in || has_position() || (hot && hot->inside) || (smelt_gomp_own.settings & 1) == 0)
    return note_rare(slot, caller);
  smelt_gomp_own.settings += 2;
  return meant(*slot, caller);
}

void GOMP_teams_reg(GompFunction function, void* data, unsigned teams, unsigned limit, unsigned flags) {
  end_teams();
  const GoAway away(Transition::kRunTeams);
  const PutAside position;
  STOCK(GOMP_teams_reg)(function, data, teams, limit, flags);
}

void GOMP_target(int device, GompFunction function, const void* unused, size_t count, void** addresses, size_t* sizes,
                 unsigned char* kinds) {
  leave_hot_team();
  const GoAway away(Transition::kRunTarget);
  const PutAside position;
  STOCK(GOMP_target)(device, function, unused, count, addresses, sizes, kinds);
}

void GOMP_target_ext(int device, GompFunction function, size_t count, void** addresses, size_t* sizes,
                     unsigned short* kinds, unsigned flags, void** depend, void** args) {
  const void* const caller = __builtin_return_address(0);
  // The usual case by itself: nothing is called but libgomp's function, so all arguments stay where they are.
  if (smelt_gomp_hot || has_position() || (flags & kNowait) != 0 || depend || !is_known_ours(caller)) [[unlikely]]
    return run_target({device, function, count, addresses, sizes, kinds, flags, depend, args}, caller);
  const GoAway away(Transition::kRunTarget);
  REAL(GOMP_target_ext)(device, function, count, addresses, sizes, kinds, flags, depend, args);
}

}  // extern "C"
