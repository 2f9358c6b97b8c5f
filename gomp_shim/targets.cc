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
  if (!active()) return;
  note_unseen_region();
  end_kept();
  cool("something begins that cannot bear parked workers");
}

// What regions inherit is about to change: the long form. A function of its own, so that the short one saves no
// registers.
[[gnu::noinline, gnu::cold]] void* note_rare(void** slot, const void* caller) {
  if (!active()) return meant(*slot, caller);
  smelt_gomp_own.settings += 2;
  if (smelt_gomp_own_tasks) note_settings(smelt_gomp_position);
  // In a region, the settings are the implicit task's, which stock would make anew for the next one.
  if (HotTeam* hot = smelt_gomp_hot; hot && hot->inside) {
    hot->spoiled.store(true, std::memory_order_relaxed);
    hot->compare = true;
  } else if (smelt_gomp_own.docked_in) {
    // Relaxed: the master sees it, since this thread has not arrived at the join yet.
    smelt_gomp_own.docked_in->spoiled.store(true, std::memory_order_relaxed);
  } else if ((smelt_gomp_own.settings & 1) == 0 && REAL(omp_get_level)() == 0) {
    // For a thread's first setting of its own libgomp makes it a block of them, and gives its key the value that we
    // have taken away.
    if (hot) cool("the thread's first setting");
    smelt_gomp_own.settings |= 1;
  } else if ((smelt_gomp_own.settings & 1) != 0 && hot) {
    hot->compare = true;
  }
  return meant(*slot, caller);
}

// Around a target region that the thread runs itself, on the host: libgomp gives it an empty state for the time being.
// A hot team that is parked stays so, and regions inside are libgomp's (enter()).
class OnHost {
 public:
  OnHost() : parked_(smelt_gomp_hot && !smelt_gomp_hot->inside ? smelt_gomp_hot : nullptr) {
    if (parked_)
      parked_->inside = true;
    else if (smelt_gomp_hot || keeps_team(next_region_inside()))
      end_teams();
    else
      note_unseen_region();
    ++smelt_gomp_own.forbidden;
  }
  ~OnHost() {
    --smelt_gomp_own.forbidden;
    if (parked_) parked_->inside = false;
  }
  OnHost(const OnHost&) = delete;
  OnHost& operator=(const OnHost&) = delete;

 private:
  HotTeam* const parked_;
};

constexpr unsigned kNowait = 1;  // GOMP_TARGET_FLAG_NOWAIT

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
  void pass(decltype(&GOMP_target_ext) to) const {
    to(device, function, count, addresses, sizes, kinds, flags, depend, args);
  }
};

[[gnu::noinline]] void run_target(const Target& target, const void* caller) {
  const auto stock = [&] {
    return reinterpret_cast<decltype(&GOMP_target_ext)>(meant(smelt_real_GOMP_target_ext, caller));
  };
  if ((target.flags & kNowait) == 0) {
    if (target.depend) smelt_gomp_mark();  // libgomp knows nothing of tasks of ours that it is to wait for
    const OnHost here;
    target.pass(stock());
    return;
  }
  targets_seen.store(true, std::memory_order_relaxed);
  end_teams();
  smelt_gomp_mark();  // it makes a task
  target.pass(stock());
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
  HotTeam* const hot = smelt_gomp_hot;
  if (smelt_gomp_own.docked_in || smelt_gomp_position.region || smelt_gomp_position.word || (hot && hot->inside) ||
      (smelt_gomp_own.settings & 1) == 0)
    return note_rare(slot, caller);
  smelt_gomp_own.settings += 2;
  if (hot) hot->compare = true;
  return meant(*slot, caller);
}

void GOMP_teams_reg(GompFunction function, void* data, unsigned teams, unsigned limit, unsigned flags) {
  end_teams();
  ++smelt_gomp_own.forbidden;
  STOCK(GOMP_teams_reg)(function, data, teams, limit, flags);
  --smelt_gomp_own.forbidden;
}

void GOMP_target(int device, GompFunction function, const void* unused, size_t count, void** addresses, size_t* sizes,
                 unsigned char* kinds) {
  const OnHost here;
  STOCK(GOMP_target)(device, function, unused, count, addresses, sizes, kinds);
}

void GOMP_target_ext(int device, GompFunction function, size_t count, void** addresses, size_t* sizes,
                     unsigned short* kinds, unsigned flags, void** depend, void** args) {
  // The usual case by itself: nothing is called but libgomp's function, so all arguments stay where they are.
  HotTeam* const hot = smelt_gomp_hot;
  const void* const caller = __builtin_return_address(0);
  const bool undisturbed = hot ? !hot->inside : !keeps_team(next_region_inside()) && unseen_region_noted();
  if (!undisturbed || (flags & kNowait) != 0 || depend || !is_known_ours(caller)) {
    const Target target{device, function, count, addresses, sizes, kinds, flags, depend, args};
    run_target(target, caller);
    return;
  }
  if (hot) hot->inside = true;
  ++smelt_gomp_own.forbidden;
  REAL(GOMP_target_ext)(device, function, count, addresses, sizes, kinds, flags, depend, args);
  --smelt_gomp_own.forbidden;
  if (hot) hot->inside = false;
}

}  // extern "C"
