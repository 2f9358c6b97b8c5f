// The object behind smelt_context: the plan of a barrier, and the tree of all that has a direction.
#pragma once

#include <smelt/context.h>

#include "base/object.h"
#include "team/team.h"

struct smelt_context : smelt::Object {
  smelt::TeamPlan plan;
  smelt::WaitPolicy policy;
  smelt::Tree tree;  // spanning
};

namespace smelt {

// Plans the barrier that gathers and releases along context.tree. 0 or -ENOMEM.
int plan_along_tree(smelt_context& context, bool crowded);

}  // namespace smelt
