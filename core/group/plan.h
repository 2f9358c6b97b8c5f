// How a group goes about its collectives: decided once, from what all participants told each other, by each for itself
// and by all alike.
#pragma once

#include "base/arena.h"
#include "policy/limits.h"
#include "profile/profile.h"
#include "schedule/fixed_order.h"
#include "schedule/schedule.h"
#include "transport/desk.h"

namespace smelt {

inline constexpr uint16_t kUnrouted = 0xfffe;  // as a parent: not looked up yet; no participant has that number

// A participant's place in the broadcast tree of one root. All who hear an inline message from one participant poll one
// line. Only a root may have two, so that none is polled on both sides of a boundary between packages or caches
// (generate/line.cc): the second one lies in its slot "up", which is free, as a root contributes nothing to others.
struct Route {
  uint16_t parent = kUnrouted;       // kNobody: the root itself
  bool forwards = false;             // somebody hears it from us
  bool aside = false;                // we hear it by the parent's second line
  bool two_lines = false;            // somebody hears it by ours
  const InlineSlot* line = nullptr;  // where we hear it (Group::find_route)
};

// A participant's place in the reduction to one root, for operations that may be combined in any order.
struct ReduceRoute {
  uint16_t parent = kUnrouted;  // kNobody: the root itself
  bool by_tree = false;         // false: the fixed order is as quick, or there is nothing to choose
  uint16_t count = 0;
  const uint16_t* children = nullptr;  // [count] in the order in which they are expected
};

// One step of the barrier: our line to write, or lines to wait for.
struct BarrierStep {
  std::atomic<uint64_t>* own = nullptr;
  const std::atomic<uint64_t>* const* others = nullptr;  // [count]
  const uint16_t* whose = nullptr;                       // [count]
  uint32_t count = 0;
};

struct GroupPlan {
  bool crowded = false;
  char crowded_why[48] = "";
  bool by_bindings = false;  // it is crowded, or not, by the CPUs that the participants may run on, and may change
  bool pair = false;         // the barrier of two: one line
  const BarrierStep* steps = nullptr;
  uint32_t step_count = 0;
  char barrier_pattern[40] = "";
  double barrier_predicted = 0;  // ns, 0: not predicted
  bool star = false;             // broadcasts go from the root to everybody straight, and reductions the other way
  unsigned free_folds = 0;  // SMELT_FOLD_...: operations with one of these flags may go along a tree; 0: there is none
  const uint32_t* cpus = nullptr;  // [n] where each is expected to run; nullptr: nowhere in particular
  Limits limits;                   // of the regime that holds: one of these
  Limits limits_of[kSyncs];        // loose, strict
  const Profile* profile = nullptr;
};

struct Group;

// Everything by the introductions: crowd or not, CPUs, barrier program (over the group's desks), limits. The arena is
// the group's. 0 or -ENOMEM.
int plan_group(const Group& group, Arena& arena, GroupPlan* out);

// The CPUs that a thread may run on now; 0: the calling one. 0 or -ESRCH.
int cpus_of(int32_t thread, CpuSet* cpus);
// Asks the kernel whether a plan that follows the bindings has a CPU for every participant now.
bool has_cpus_now(const Group& group);

// Place of `me` in the tree that serves `root`, and the pattern's name. Deterministic: all participants compute the
// same tree.
Route plan_route(const Group& group, uint32_t root, char* pattern, size_t room);

// The same for reductions. `children` has room for n, of which as many as the result's count are used. Where the fixed
// order is no dearer by the model, that holds, and the pattern's name is empty; a pattern that the user has set is
// taken as it is.
ReduceRoute plan_reduce_route(const Group& group, uint32_t root, uint16_t* children, char* pattern, size_t room);
// In how many parts the fixed order is combined, up to a block of participants (schedule/fixed_order.h).
uint8_t plan_parts(const Group& group, uint32_t root);

// This process's settings, as a hash that participants compare.
uint64_t settings_hash();

}  // namespace smelt
