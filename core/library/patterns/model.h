// The object behind smelt_model, which the library's other rooms take costs from.
#pragma once

#include <smelt/model.h>

#include "base/object.h"
#include "profile/profile.h"

struct smelt_model : smelt::Object {
  smelt::Profile profile;
  bool from_caller = false;
};

namespace smelt {

// The costs among participants on the kernel's CPUs `cpus` (nullptr: the model's first n), in `arena`.
// -EINVAL for n out of range, a CPU unknown or named twice; -ENOMEM.
int costs_for_cpus(const smelt_model* model, unsigned n, const unsigned* cpus, Arena& arena, Costs* out);

}  // namespace smelt
