// The barrier of a group: the schedule's steps over the signal lines of the desks, or for two the line with both flags.
//
// A step signals by storing the episode into one line of ours, which all its peers poll; epochs only grow, so nothing
// is reset (transport/line.h). Memory ordering: release stores, acquire loads, transitively along the schedule.
#include "group/describe.h"
#include "group/started.h"

namespace smelt {
namespace {

struct BarrierOfTwo : Resumable {
  explicit BarrierOfTwo(InlineRoom*) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    PairLine& line = group.front->pair_barrier;
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        line.half[group.me].flag.store(group.episode, std::memory_order_release);
        SMELT_AWAIT(how.until(1 - group.me, [&] {
          return line.half[1 - group.me].flag.load(std::memory_order_acquire) >= group.episode;
        }));
        group.finish_together();
    }
    return true;
  }
};

struct BarrierAlongSteps : Resumable {
  uint32_t number = 0, i = 0;

  explicit BarrierAlongSteps(InlineRoom*) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    const BarrierStep* const steps = group.plan.steps;
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        for (; number < group.plan.step_count; ++number) {
          if (steps[number].own) {
            steps[number].own->store(group.episode, std::memory_order_release);
            continue;
          }
          for (i = 0; i < steps[number].count; ++i) {
            SMELT_AWAIT(how.until(steps[number].whose[i], [&] {
              return steps[number].others[i]->load(std::memory_order_acquire) >= group.episode;
            }));
          }
        }
        group.finish_together();
    }
    return true;
  }
};

struct BarrierCall : AnyCall {
  static constexpr bool kIsBarrier = true;
  static int check(const smelt_group* group) { return group ? 0 : -EINVAL; }
  static int alone() { return 0; }
  template <typename Form>
  static int run(Form form) {
    return form.group.plan.pair ? form.template run<BarrierOfTwo>() : form.template run<BarrierAlongSteps>();
  }
};

}  // namespace

void barrier_table(const Group& group, Table* table) {
  const GroupPlan& plan = group.plan;
  if (plan.barrier_predicted > 0)
    table->add(UINT64_MAX, "%s, predicted %.0f ns", plan.barrier_pattern, plan.barrier_predicted);
  else
    table->add(UINT64_MAX, "%s%s", plan.barrier_pattern, group.crowded ? ", yielding" : "");
}

}  // namespace smelt

SMELT_GROUP_CALLS(barrier, (BarrierCall{}))
