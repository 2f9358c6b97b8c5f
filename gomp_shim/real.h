// The real libgomp, as openmp/symbols.h wants it described: which names, in which slots.
#pragma once

#include <cstdint>

#include "openmp/symbols.h"

extern "C" {
// They are in the order of symbols.def, the first at smelt_real.
#define SYMBOL(name) extern void* smelt_real_##name __attribute__((visibility("hidden")));
#include "symbols.def"
}

namespace smelt::gomp {

using namespace openmp;

enum Symbol : uint32_t {
#define SYMBOL(name) kSymbol_##name,
#include "symbols.def"
  kSymbols
};

// This libgomp is newer than Smelt knows: all but its barriers is left to it.
extern bool barriers_alone;
inline constexpr char kBarriersAlone[] = "this libgomp is newer than Smelt knows: its barriers alone are taken";

}  // namespace smelt::gomp
