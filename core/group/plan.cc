#include "group/plan.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <span>

#include "base/fingerprint.h"
#include "base/log.h"
#include "base/options.h"
#include "base/os/os.h"
#include "group/group.h"
#include "group/machine.h"
#include "group/planning.h"
#include "policy/thresholds.h"
#include "schedule/choose.h"
#include "schedule/predict.h"
#include "schedule/programs.h"
#include "schedule/validate.h"
#include "schedule/winner.h"
#include "smelt_config.h"

namespace smelt {
namespace {

// A CPU of its own for every participant, within its mask: bipartite matching by augmenting paths (Kuhn, 1955). The
// i-th participant tries its CPUs in ascending order, so unbound ones get the first n, as an operating system would.
class Placement {
 public:
  // allowed[i]: the i-th participant's. nullptr: no memory, and nobody is placed.
  Placement(const CpuSet* allowed, const Profile& machine, Arena& arena) : allowed_(allowed), machine_(machine) {
    owner_ = arena.make<uint16_t>(machine.header.cpus);
    tried_ = arena.make<bool>(machine.header.cpus);
    for (uint32_t c = 0; owner_ && c < machine.header.cpus; ++c) owner_[c] = kNobody;
  }

  // cpus[i]: the kernel's number. False when there are not enough.
  bool find(uint32_t n, uint32_t* cpus) {
    if (!allowed_ || !owner_ || !tried_) return false;
    for (uint32_t i = 0; i < n; ++i) {
      std::memset(tried_, 0, machine_.header.cpus * sizeof *tried_);
      if (!place(static_cast<uint16_t>(i), 0)) return false;
    }
    for (uint32_t c = 0; c < machine_.header.cpus; ++c)
      if (owner_[c] != kNobody) cpus[owner_[c]] = machine_.os_cpu[c];
    return true;
  }

 private:
  bool place(uint16_t i, int depth) {
    constexpr int kDeepest = 64;  // of recursion, on somebody else's stack; only wildly overlapping masks come near
    const CpuSet& its = allowed_[i];
    for (uint32_t c = 0; c < machine_.header.cpus; ++c) {
      if (owner_[c] != kNobody || !its.has(machine_.os_cpu[c])) continue;
      owner_[c] = i;
      return true;
    }
    if (depth == kDeepest) return false;
    for (uint32_t c = 0; c < machine_.header.cpus; ++c) {
      if (tried_[c] || !its.has(machine_.os_cpu[c])) continue;
      tried_[c] = true;
      if (!place(owner_[c], depth + 1)) continue;
      owner_[c] = i;
      return true;
    }
    return false;
  }

  const CpuSet* allowed_;
  const Profile& machine_;
  uint16_t* owner_ = nullptr;  // [cpus] who has it
  bool* tried_ = nullptr;      // [cpus] seen in the search for the present participant
};

// The CPUs that each participant said it may run on, or, `now`, may run on now, if its thread is still there. nullptr:
// no memory.
CpuSet* allowed_cpus(const Group& group, bool now, Arena& arena) {
  auto* const sets = arena.make<CpuSet>(group.n);
  for (uint32_t i = 0; sets && i < group.n; ++i)
    if (!now || cpus_of(group.introduction(i).thread, &sets[i]) != 0) sets[i] = group.introduction(i).cpus;
  return sets;
}

// Are there fewer CPUs than processes? What any participant knows counts for all.
void find_crowd(const Group& group, uint32_t machine_cpus, bool placed, GroupPlan* out) {
  uint32_t processes = group.n, cpus = machine_cpus;
  const char* limit = "CPUs";
  bool told = false;
  for (uint32_t i = 0; i < group.n; ++i) {
    const Introduction& who = group.introduction(i);
    if (who.local_processes > processes) processes = who.local_processes;
    if (who.quota && who.quota < cpus) cpus = who.quota, limit = "CPUs of the cgroup's quota";
    told |= who.crowded != 0;
  }
  if (options().cpus > 0) cpus = static_cast<uint32_t>(options().cpus), limit = "CPUs (SMELT_CPUS)";
  if (processes > cpus)
    std::snprintf(out->crowded_why, sizeof out->crowded_why, "%u processes, %u %s", processes, cpus, limit);
  else if (!placed)
    std::snprintf(out->crowded_why, sizeof out->crowded_why, "bindings overlap");
  else if (told)
    std::snprintf(out->crowded_why, sizeof out->crowded_why, "the launcher says so");
  out->crowded = out->crowded_why[0] != '\0';
  out->by_bindings = out->profile && processes <= cpus && !told && options().cpus == 0;
}

// Where the participants are expected to run, as indices into the profile, and the costs among them; in a crowd, where
// nobody runs anywhere in particular, no members, and equal costs for all.
struct Ground {
  std::span<const uint16_t> members;
  Costs costs;
};
int find_ground(const GroupPlan& plan, uint32_t n, Arena& arena, Ground* out) {
  if (plan.cpus && plan.profile) {
    auto* members = arena.make<uint16_t>(n);
    if (!members) return -ENOMEM;
    for (uint32_t i = 0; i < n; ++i) members[i] = profile_index(*plan.profile, plan.cpus[i]);
    out->members = {members, n};
    return subset_costs(plan.profile->costs, out->members, arena, &out->costs);
  }
  auto* send = arena.make<float>(size_t{n} * n);
  auto* receive = arena.make<float>(size_t{n} * n);
  if (!send || !receive) return -ENOMEM;
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t j = 0; j < n; ++j) send[i * n + j] = i == j ? 0 : 10, receive[i * n + j] = i == j ? 0 : 50;
  return costs_from_send_receive(n, CostUnit::kNanoseconds, send, receive, nullptr, arena, &out->costs);
}

// Did somebody set a pattern, and is it one? If it is not, that is said once on the machine, and the default holds.
bool asked_for_pattern(const Group& group, Pattern* pattern) {
  const char* name = options().pattern;
  if (std::strcmp(name, "best") == 0) return false;
  if (find_pattern(name, pattern) == 0) return true;
  static std::atomic<bool> said{false};
  if (group.me == 0 && !said.exchange(true, std::memory_order_relaxed))
    log_line("SMELT_TUNE=pattern=%s is not a pattern ('smelt tree --list' names them); the default best is used", name);
  return false;
}

// The plan of one operation, checked: the pattern that was asked for if it serves the operation, else the one that won
// a race, else the cheapest. All participants see the same profile, so all come to the same.
int choose(const Group& group, const GroupPlan& placed, const Ground& ground, Operation op, int root, Arena& arena,
           Choice* out) {
  Pattern pattern;
  const bool asked = asked_for_pattern(group, &pattern);
  if (asked && build(pattern, op, root, ground.costs, arena, out) == 0) return check_schedule(out->schedule, arena);
  if (asked) return choose_for(nullptr, {}, op, root, ground.costs, arena, out);
  return choose_for(placed.profile, ground.members, op, root, ground.costs, arena, out);
}

// Compiles our part of a barrier schedule: every signal step has one line of ours that all its peers read, every
// wait step the lines of its peers. The lines of a participant are taken in the order of its signal steps.
int compile_barrier(const Group& group, const Schedule& schedule, Arena& scratch, Arena& arena, GroupPlan* out) {
  Programs programs;
  uint16_t who;
  if (const int error = programs.match(schedule, scratch, &who)) return error;
  const uint32_t steps = schedule.begin[schedule.n];
  auto* line_of = scratch.make<uint32_t>(steps);
  if (!line_of) return -ENOMEM;
  for (uint32_t i = 0; i < schedule.n; ++i) {
    uint32_t lines = 0;
    for (uint32_t s = schedule.begin[i]; s < schedule.begin[i + 1]; ++s)
      if (schedule.steps[s].kind == StepKind::kSignal) line_of[s] = lines++;
    if (lines > kSignalLines) return -ERANGE;
  }
  const uint32_t first = schedule.begin[group.me], count = schedule.begin[group.me + 1] - first;
  auto* compiled = arena.make<BarrierStep>(count + 1);
  if (!compiled) return -ENOMEM;
  for (uint32_t k = 0; k < count; ++k) {
    const Step& step = schedule.steps[first + k];
    if (step.kind == StepKind::kSignal) {
      compiled[k].own = &group.desks[group.me].signal[line_of[first + k]].value;
      continue;
    }
    auto* others = arena.make<const std::atomic<uint64_t>*>(step.count);
    auto* whose = arena.make<uint16_t>(step.count);
    if (!others || !whose) return -ENOMEM;
    for (uint32_t i = 0; i < step.count; ++i) {
      const uint32_t slot = step.first + i;
      whose[i] = schedule.peers[slot];
      others[i] = &group.desks[whose[i]].signal[line_of[programs.step[programs.partner[slot]]]].value;
    }
    compiled[k] = {nullptr, others, whose, step.count};
  }
  out->steps = compiled;
  out->step_count = count;
  return 0;
}

int plan_barrier(const Group& group, const Ground& ground, Arena& scratch, Arena& arena, GroupPlan* out) {
  Pattern asked, all_to_all;
  Choice choice;
  find_pattern("all-to-all", &all_to_all);
  // In a crowd the order of arrival is the scheduler's, and a message that must be passed on costs a time slice:
  // everybody tells everybody.
  int error = out->crowded && !asked_for_pattern(group, &asked)
                  ? build(all_to_all, Operation::kBarrier, -1, ground.costs, scratch, &choice)
                  : choose(group, *out, ground, Operation::kBarrier, -1, scratch, &choice);
  if (!error) error = compile_barrier(group, choice.schedule, scratch, arena, out);
  if (error == -ERANGE) {  // more rounds than a desk has lines
    error = build(all_to_all, Operation::kBarrier, -1, ground.costs, scratch, &choice);
    if (!error) error = compile_barrier(group, choice.schedule, scratch, arena, out);
  }
  if (error) return error;
  out->barrier_predicted = out->cpus ? choice.predicted : 0;
  choice_text(choice, out->barrier_pattern, sizeof out->barrier_pattern);
  return 0;
}

// Does everybody hand on what it has once, to one other, and last? A schedule can be correct and tell somebody twice,
// which a sum would show.
bool adds_once(const Schedule& schedule) {
  for (uint32_t i = 0; i < schedule.n; ++i) {
    uint32_t told = 0;
    for (uint32_t s = schedule.begin[i]; s < schedule.begin[i + 1]; ++s) {
      if (schedule.steps[s].kind != StepKind::kSignal) continue;
      told += schedule.steps[s].count;
      if (s + 1 != schedule.begin[i + 1]) return false;
    }
    if (told != (i == schedule.root ? 0 : 1)) return false;
  }
  return true;
}

// Within a block the fixed order is a star as well, and what the model makes of the order in which a star is read is
// not worth a second one.
bool is_star_in_block(const Schedule& tree) {
  uint32_t children = 0;
  for (uint32_t s = tree.begin[tree.root]; s < tree.begin[tree.root + 1]; ++s) children += tree.steps[s].count;
  return tree.n <= kBlockSize && children == tree.n - 1;
}

// Our place in the tree. The children by when the model expects them, which is the order in which it priced them.
ReduceRoute reduce_place(const Schedule& tree, uint16_t me, const Costs& costs, const double* done,
                         uint16_t* children) {
  ReduceRoute route{kNobody, true, 0, children};
  const auto expected = [&](uint16_t child) {
    const size_t pair = costs.at(child, me);
    return done[child] - costs.send_busy[pair] + costs.hop[pair] - costs.recv_busy[pair];
  };
  for (uint32_t s = tree.begin[me]; s < tree.begin[me + 1]; ++s) {
    const Step& step = tree.steps[s];
    if (step.kind == StepKind::kSignal) route.parent = tree.peers[step.first];
    for (uint32_t k = 0; k < step.count && step.kind == StepKind::kWait; ++k) {
      const uint16_t child = tree.peers[step.first + k];
      uint32_t at = route.count++;
      for (; at > 0; --at) {
        const uint16_t before = children[at - 1];
        const double now = expected(child), then = expected(before);
        if (then < now || (then == now && before < child)) break;
        children[at] = before;
      }
      children[at] = child;
    }
  }
  return route;
}

bool tree_for_all() { return std::strcmp(options().reduce_order, "tree") == 0; }

double pair_hop(const Profile& machine, const uint32_t* cpus) {
  const uint16_t a = profile_index(machine, cpus[0]), b = profile_index(machine, cpus[1]);
  return machine.costs.hop[machine.costs.at(a, b)];
}

}  // namespace

int plan_group(const Group& group, Arena& arena, GroupPlan* out) {
  GroupPlan made;
  Pattern asked;
  const bool best = !asked_for_pattern(group, &asked);
  const PlanningRoom room_to_plan;
  Arena scratch = room_to_plan.arena();
  auto* cpus = arena.make<uint32_t>(group.n);
  if (!cpus) return -ENOMEM;
  made.profile = common_profile(group);
  const bool placed =
      !made.profile || Placement(allowed_cpus(group, false, scratch), *made.profile, scratch).find(group.n, cpus);
  find_crowd(group, made.profile ? made.profile->header.cpus : group.n, placed, &made);
  if (made.profile && !made.crowded) made.cpus = cpus;
  made.star = made.crowded && best;
  if (group.n > 2 && !made.star) made.free_folds = SMELT_FOLD_ANY_ORDER | (tree_for_all() ? SMELT_FOLD_COMMUTES : 0);
  for (const bool strict : {false, true})
    made.limits_of[strict] = group_limits(made.profile, group.n, made.crowded, machine_may_be_moved(), strict);
  if (group.n == 2 && best) {  // there is nothing to choose between
    made.pair = true;
    std::snprintf(made.barrier_pattern, sizeof made.barrier_pattern, "pair");
    if (made.cpus) made.barrier_predicted = pair_hop(*made.profile, cpus);
  } else if (group.n > 1) {
    Ground ground;
    int error = find_ground(made, group.n, scratch, &ground);
    if (!error) error = plan_barrier(group, ground, scratch, arena, &made);
    if (error) return error;
  }
  *out = made;
  return 0;
}

int cpus_of(int32_t thread, CpuSet* cpus) {
  os::CpuMask mask;
  if (const int error = os::cpus_of_thread(thread, &mask)) return error;
  static_assert(sizeof mask >= sizeof *cpus);
  std::memcpy(cpus, &mask, sizeof *cpus);
  return 0;
}

bool has_cpus_now(const Group& group) {
  uint32_t cpus[kMaxParticipants];
  const PlanningRoom room_to_plan;
  Arena scratch = room_to_plan.arena();
  return Placement(allowed_cpus(group, true, scratch), *group.plan.profile, scratch).find(group.n, cpus);
}

namespace {

// By which of its lines does `from` tell `to`? The last signal step has the line that lies with the other messages; all
// before it, to whom is farther away, share the second. Only the root may have two.
bool tells_aside(const Schedule& schedule, uint16_t from, uint16_t to) {
  bool found = false;
  for (uint32_t s = schedule.begin[from]; s < schedule.begin[from + 1]; ++s) {
    const Step& step = schedule.steps[s];
    if (step.kind != StepKind::kSignal) continue;
    if (found) return from == schedule.root;
    const uint16_t* const peers = schedule.peers + step.first;
    found = std::find(peers, peers + step.count, to) != peers + step.count;
  }
  return false;
}

Route place_in(const Schedule& schedule, uint16_t me) {
  Route route{kNobody, false};
  uint32_t lines = 0;
  for (uint32_t s = schedule.begin[me]; s < schedule.begin[me + 1]; ++s) {
    if (schedule.steps[s].kind == StepKind::kWait)
      route.parent = schedule.peers[schedule.steps[s].first];
    else
      ++lines;
  }
  route.forwards = lines > 0;
  route.two_lines = lines > 1 && me == schedule.root;
  route.aside = route.parent != kNobody && tells_aside(schedule, route.parent, me);
  return route;
}

}  // namespace

Route plan_route(const Group& group, uint32_t root, char* pattern, size_t room) {
  const Route star{root == group.me ? kNobody : static_cast<uint16_t>(root), false};
  std::snprintf(pattern, room, "%s", "sequential");
  if (group.plan.star || group.n <= 2) return star;
  const PlanningRoom room_to_plan;
  Arena scratch = room_to_plan.arena();
  Ground ground;
  Choice choice;
  int error = find_ground(group.plan, group.n, scratch, &ground);
  if (!error)
    error = choose(group, group.plan, ground, Operation::kBroadcast, static_cast<int>(root), scratch, &choice);
  if (error) return star;  // the same inputs: for all alike
  pattern_text(choice.pattern, pattern, room);
  return place_in(choice.schedule, static_cast<uint16_t>(group.me));
}

uint8_t plan_parts(const Group& group, uint32_t root) {
  const PlanningRoom room_to_plan;
  Arena scratch = room_to_plan.arena();
  Ground ground;
  uint32_t parts = group.n;
  double makespan = 0;
  if (group.plan.free_folds != 0 && find_ground(group.plan, group.n, scratch, &ground) == 0)
    cheapest_fixed_order(group.n, root, ground.costs, scratch, &parts, &makespan);
  return static_cast<uint8_t>(parts);
}

ReduceRoute plan_reduce_route(const Group& group, uint32_t root, uint16_t* children, char* pattern, size_t room) {
  ReduceRoute route{kNobody, false, 0, nullptr};
  pattern[0] = '\0';
  if (group.plan.free_folds == 0) return route;
  const PlanningRoom room_to_plan;
  Arena scratch = room_to_plan.arena();
  Ground ground;
  Choice choice;
  Prediction by_tree;
  Pattern asked;
  uint32_t parts = 0;
  double in_order = 0;
  int error = find_ground(group.plan, group.n, scratch, &ground);
  if (!error) error = cheapest_fixed_order(group.n, root, ground.costs, scratch, &parts, &in_order);
  if (!error) error = choose(group, group.plan, ground, Operation::kReduce, static_cast<int>(root), scratch, &choice);
  if (!error) error = predict(choice.schedule, ground.costs, scratch, &by_tree);
  const bool quicker = !error && by_tree.makespan < in_order && !is_star_in_block(choice.schedule);
  // The same inputs: for all alike.
  if (!error && adds_once(choice.schedule) && (quicker || asked_for_pattern(group, &asked))) {
    route = reduce_place(choice.schedule, static_cast<uint16_t>(group.me), ground.costs, by_tree.done, children);
    choice_text(choice, pattern, room);
  }
  return route;
}

uint64_t settings_hash() {
  const Options& settings = options();
  uint64_t hash = fnv1a(SMELT_VERSION, sizeof SMELT_VERSION);
  for (const char* text : {settings.pattern, settings.reduce_order}) hash = fnv1a(text, std::strlen(text), hash);
  for (const int64_t number : {settings.flat_limit, settings.copy_limit, settings.chunk, settings.cpus})
    hash = fnv1a(&number, sizeof number, hash);
  return hash;
}

}  // namespace smelt
