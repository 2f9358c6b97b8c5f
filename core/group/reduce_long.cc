// The long reductions that have something to agree on first, go along a tree, or whose root is spared. Apart from the
// usual ones, which the compiler then inlines as it does where there are no others.
#include "group/reduce_flat.h"
#include "group/reduce_sliced.h"
#include "group/reduce_tree.h"
#include "group/started.h"

namespace smelt {
namespace {

// One that single copy does not serve.
struct ReduceShelf : Resumable {
  ReduceSliced<true> sliced;
  ReduceTree along_tree;
  ReduceFlat flat;

  ReduceShelf(InlineRoom* rooms, const Group&, const Reduction& job)
      : sliced(rooms, job), along_tree(rooms, job), flat(rooms, job) {}

  template <typename How>
  bool step(How how) {
    switch (resume_at(how)) {
      case 0:
        if (is_sliced(how.group, flat.job)) {
          SMELT_AWAIT(sliced.step(how));
        } else if (tree_of(how.group, flat.job)) {
          SMELT_AWAIT(along_tree.step(how));
        } else {
          SMELT_AWAIT(flat.step(how));
        }
    }
    return true;
  }
};

using ReduceAny = LongMessage<ReduceShelf, ReduceWork>;
}  // namespace

int reduce_otherwise(Running form, const Reduction& job) { return form.run<ReduceAny>(form.group, job); }
int reduce_otherwise(Starting form, const Reduction& job) { return form.run<ReduceAny>(form.group, job); }

}  // namespace smelt
