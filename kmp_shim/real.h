// The real libomp, as openmp/symbols.h wants it described: which names, in which slots.
#pragma once

#include <cstdint>

#include "openmp/symbols.h"

extern "C" {
// They are in the order of symbols.def, the first at smelt_real.
#define SYMBOL(name) extern void* smelt_real_##name __attribute__((visibility("hidden")));
#include "symbols.def"
}

namespace smelt::kmp {

using namespace openmp;

enum Symbol : uint32_t {
#define SYMBOL(name) kSymbol_##name,
#include "symbols.def"
  kSymbols
};

// By the user's own settings, reductions are libomp's, and dynamic loops hand their chunks out in order. Set while
// resolving.
extern bool reductions_are_libomps, dynamic_is_monotonic;

}  // namespace smelt::kmp
