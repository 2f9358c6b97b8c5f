// The real libgomp, as openmp/symbols.h wants it described: which names, in which slots.
#pragma once

#define SMELT_SYMBOLS "gomp_shim/symbols.def"
#include "openmp/slots.h"

namespace smelt::gomp {

using namespace openmp;

// This libgomp is newer than Smelt knows: all but its barriers is left to it.
extern bool barriers_alone;
inline constexpr char kBarriersAlone[] = "this libgomp is newer than Smelt knows: its barriers alone are taken";

}  // namespace smelt::gomp
