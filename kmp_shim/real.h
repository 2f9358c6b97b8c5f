// The real libomp, as openmp/symbols.h wants it described: which names, in which slots.
#pragma once

#define SMELT_SYMBOLS "kmp_shim/symbols.def"
#include "openmp/slots.h"

namespace smelt::kmp {

using namespace openmp;

// By the user's own settings, reductions are libomp's, and dynamic loops hand their chunks out in order. Set while
// resolving.
extern bool reductions_are_libomps, dynamic_is_monotonic;

}  // namespace smelt::kmp
