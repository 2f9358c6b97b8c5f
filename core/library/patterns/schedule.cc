#include <smelt/schedule.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/object.h"
#include "generate/registry.h"
#include "library/patterns/model.h"
#include "schedule/choose.h"
#include "schedule/validate.h"

using namespace smelt;

struct smelt_schedule : Object {
  Schedule schedule;
  double predicted = 0;
  char pattern[40] = "";
};

static_assert(static_cast<int>(Operation::kBroadcast) == SMELT_BROADCAST &&
              static_cast<int>(Operation::kReduce) == SMELT_REDUCE &&
              static_cast<int>(Operation::kBarrier) == SMELT_BARRIER);

int smelt_schedule_create(const smelt_model* model, smelt_operation operation, const char* pattern, unsigned n,
                          const unsigned* cpus, int root, smelt_cost_model cost_model, smelt_schedule** schedule) {
  if (!schedule || operation < SMELT_BROADCAST || operation > SMELT_BARRIER || n < 1 || n > kMaxParticipants ||
      root < -1 || root >= static_cast<int>(n))
    return -EINVAL;
  auto* object = make_object<smelt_schedule>(generation_bytes(n));
  if (!object) return -ENOMEM;
  Arena& arena = object->arena;
  const auto op = static_cast<Operation>(operation);
  const bool best = !pattern || std::strcmp(pattern, "best") == 0;

  Pattern found;
  Costs costs;
  Choice choice;
  SearchEffort effort;
  effort.lines = false;  // steps name whom to tell, not by which line
  Validation verdict;
  int error = best ? 0 : find_pattern(pattern, &found);
  if (!error) error = costs_for_cpus(model, n, cpus, arena, &costs);
  if (!error && cost_model == SMELT_COST_MODEL_PAPER) error = paper_costs(costs, arena, &costs);
  if (!error)
    error = best ? choose_best(op, root, costs, arena, &choice, effort) : build(found, op, root, costs, arena, &choice);
  if (!error) error = validate(choice.schedule, arena, &verdict);
  if (!error && verdict.flaw != Flaw::kNone) error = -EINVAL;
  if (error) {
    free_object(object);
    return error;
  }
  object->schedule = choice.schedule;
  object->predicted = choice.predicted;
  pattern_text(choice.pattern, object->pattern, sizeof object->pattern);
  *schedule = object;
  return 0;
}

void smelt_schedule_free(smelt_schedule* schedule) { free_object(schedule); }
unsigned smelt_schedule_size(const smelt_schedule* schedule) { return schedule->schedule.n; }
const char* smelt_schedule_pattern(const smelt_schedule* schedule) { return schedule->pattern; }
double smelt_schedule_predicted(const smelt_schedule* schedule) { return schedule->predicted; }

int smelt_schedule_steps(const smelt_schedule* schedule, unsigned participant) {
  const Schedule& s = schedule->schedule;
  return participant < s.n ? static_cast<int>(s.begin[participant + 1] - s.begin[participant]) : -EINVAL;
}

int smelt_schedule_step(const smelt_schedule* schedule, unsigned participant, unsigned step, smelt_step_kind* kind,
                        unsigned* peers, unsigned room) {
  const Schedule& s = schedule->schedule;
  if (participant >= s.n || step >= s.begin[participant + 1] - s.begin[participant] || !kind || (!peers && room > 0))
    return -EINVAL;
  const Step& it = s.steps[s.begin[participant] + step];
  *kind = it.kind == StepKind::kSignal ? SMELT_STEP_SIGNAL : SMELT_STEP_WAIT;
  for (unsigned i = 0; i < it.count && i < room; ++i) peers[i] = s.peers[it.first + i];
  return static_cast<int>(it.count);
}
