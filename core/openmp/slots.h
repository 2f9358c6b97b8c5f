// The slots of a shim's names (symbols.h), for C++: made of SMELT_SYMBOLS, its symbols.def. The shim's real.h includes
// this; one file of the shim, which defines SMELT_SLOT_NAMES, has the names.
#pragma once

#include <cstdint>

#include "openmp/symbols.h"

extern "C" {
// They are in the order of symbols.def, the first at smelt_real.
#define SYMBOL(name) extern void* smelt_real_##name __attribute__((visibility("hidden")));
#include SMELT_SYMBOLS
}

namespace smelt::openmp {

enum Symbol : uint32_t {
#define SYMBOL(name) kSymbol_##name,
#include SMELT_SYMBOLS
  kSymbols
};
static_assert(kSymbols <= kMostSlots);

#ifdef SMELT_SLOT_NAMES
const char slot_names[] =
#define SYMBOL(name) #name "\0"
#include SMELT_SYMBOLS
    ;

// Those that are only called come last.
constexpr Symbol kTakenSymbols[] = {
#define SYMBOL(name) kSymbol_##name,
#define CALLED(name)
#define PROBED(name)
#include SMELT_SYMBOLS
};
constexpr uint32_t kTaken = sizeof kTakenSymbols / sizeof *kTakenSymbols;
#define SYMBOL(name)
#define CALLED(name) static_assert(kSymbol_##name >= kTaken, #name);
#define PROBED(name) static_assert(kSymbol_##name >= kTaken, #name);
#include SMELT_SYMBOLS
#endif

}  // namespace smelt::openmp
