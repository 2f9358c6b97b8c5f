#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include <smelt/barrier.h>

#include "base/options.h"
#include "base/os/os.h"
#include "generate/patterns.h"
#include "generate/registry.h"
#include "library/context/context.h"
#include "library/patterns/model.h"
#include "schedule/predict.h"
#include "schedule/validate.h"

using namespace smelt;

namespace {

// A participant's own counters; nobody else writes them, and only smelt_barrier_free reads them.
struct alignas(kLineBytes) Participant {
  uint64_t arrived = 0;           // episodes entered
  std::atomic<uint64_t> left{0};  // episodes left: the last thing a participant does to the barrier
};

}  // namespace

struct smelt_barrier : Object {
  uint32_t n = 0;
  TeamBarrier team;
  Participant* participants = nullptr;  // [n]
};

namespace {

// Unpinned participants run wherever the scheduler puts them; the i-th allowed CPU is as good a guess as any, and a
// CPU outside the affinity mask would be a bad one.
int allowed_cpus_as_participants(unsigned n, Arena& arena, const uint32_t** out) {
  auto* cpus = arena.make<uint32_t>(n);
  if (!cpus) return -ENOMEM;
  const uint32_t found = std::min(os::allowed_cpu_list(cpus, n), n);
  for (unsigned i = found; i < n; ++i) cpus[i] = found ? cpus[i % found] : 0;
  *out = cpus;
  return 0;
}

// The registry's cheapest tree under participant 0 for going up and down again, as a loop of joins and forks does.
int cheapest_tree(const Costs& costs, Arena& arena, Tree* out) {
  double least = 0;
  for (const PatternInfo& info : pattern_registry()) {
    if (!info.tree) continue;
    for (const uint32_t argument : candidate_arguments(info)) {
      char* const scratch = arena.mark();
      Tree tree;
      Schedule schedule;
      double price = 0;
      int error = info.tree(costs, argument, 0, arena, &tree);
      if (!error) error = fork_join_schedule(tree, tree, arena, &schedule);
      if (!error) error = price_schedule(schedule, costs, arena, &price);
      if (error) return error;
      if (out->n > 0 && price >= least) {
        arena.rewind(scratch);
        continue;
      }
      if ((error = check_schedule(schedule, arena))) return error;
      *out = tree;
      least = price;
    }
  }
  return 0;
}

// The pattern's own tree; where it is none, the cheapest one, or a flat one where nobody knows who runs where.
int plan_tree(const smelt_model* model, const uint32_t* cpus, smelt_context& context) {
  const TeamPlan& plan = context.plan;
  context.tree = plan.tree;
  if (plan.tree.n > 0) return 0;
  Costs costs;
  costs.n = plan.n;
  if (plan.crowd) return sequential_tree(costs, 0, 0, context.arena, &context.tree);
  if (const int error = costs_for_cpus(model, plan.n, cpus, context.arena, &costs)) return error;
  return cheapest_tree(costs, context.arena, &context.tree);
}

}  // namespace

int smelt::plan_along_tree(smelt_context& context, bool crowded) {
  TeamPlan& plan = context.plan;
  plan.n = context.tree.n;
  plan.crowd = crowded || plan.n == 1;
  plan.tree = context.tree;
  std::snprintf(plan.pattern, sizeof plan.pattern, "%s", plan.n == 1 ? "alone" : crowded ? "crowd" : "given");
  if (plan.crowd) return 0;
  const int error = barrier_schedule(context.tree, context.tree, context.arena, &plan.schedule);
  return error ? error : check_schedule(plan.schedule, context.arena);
}

int smelt_context_create(const smelt_model* model, unsigned n, const unsigned* cpus, const char* pattern,
                         smelt_context** context) {
  if (!context || n < 1 || n > kMaxParticipants) return -EINVAL;
  auto* object = make_object<smelt_context>(2 * generation_bytes(n));
  if (!object) return -ENOMEM;
  smelt_model* loaded = nullptr;
  int error = model ? 0 : smelt_model_load(nullptr, &loaded);
  TeamRequest request;
  request.n = n;
  request.cpus = cpus;
  request.pattern = pattern ? pattern : options().pattern;
  request.crowded = n > usable_cpus();
  if (!error && !cpus) error = allowed_cpus_as_participants(n, object->arena, &request.cpus);
  if (!error) {
    const smelt_model* const known = model ? model : loaded;
    request.profile = &known->profile;
    error = plan_team(request, object->arena, &object->plan);
    if (!error) error = plan_tree(known, request.cpus, *object);
    object->policy = wait_policy(object->plan.crowd, n, request.profile);
  }
  smelt_model_free(loaded);
  if (error) {
    free_object(object);
    return error;
  }
  *context = object;
  return 0;
}

void smelt_context_free(smelt_context* context) { free_object(context); }
unsigned smelt_context_size(const smelt_context* context) { return context->plan.n; }
const char* smelt_context_pattern(const smelt_context* context) { return context->plan.pattern; }
double smelt_context_predicted(const smelt_context* context) { return context->plan.predicted; }

int smelt_barrier_create(const smelt_context* context, smelt_barrier** barrier) {
  if (!context || !barrier) return -EINVAL;
  auto* object = make_object<smelt_barrier>(context->plan.n * sizeof(Participant) + kLineBytes);
  if (!object) return -ENOMEM;
  object->n = context->plan.n;
  object->participants = object->arena.make<Participant>(object->n);  // zeroed: nobody has arrived anywhere
  const int error = object->participants ? make_barrier(context->plan, context->policy, &object->team) : -ENOMEM;
  if (error) {
    free_object(object);
    return error;
  }
  *barrier = object;
  return 0;
}

int smelt_barrier_wait(smelt_barrier* barrier, unsigned participant) {
  if (!barrier || participant >= barrier->n) return -EINVAL;
  Participant& own = barrier->participants[participant];
  const uint64_t epoch = ++own.arrived;
  barrier->team.barrier->arrive_and_wait(participant, epoch);
  // Release: a thread that sees it may unmap the memory that this one has just read. The line is this thread's own, so
  // it costs no message.
  own.left.store(epoch, std::memory_order_release);
  return 0;
}

void smelt_barrier_free(smelt_barrier* barrier) {
  if (!barrier) return;
  uint64_t last = 0;
  for (uint32_t i = 0; i < barrier->n; ++i)
    last = std::max(last, barrier->participants[i].left.load(std::memory_order_acquire));
  for (uint32_t i = 0; i < barrier->n; ++i)
    while (barrier->participants[i].left.load(std::memory_order_acquire) < last) os::yield_cpu();
  free_barrier(&barrier->team);
  free_object(barrier);
}
