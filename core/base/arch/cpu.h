// The contract of the processor primitives, written once; arch/<isa>/cpu.h fulfils it.
//
//   cpu_pause()        a hint in a polling loop: lets the sibling thread run, saves power, softens the exit of the loop
//   full_fence()       earlier loads and stores complete before later ones, also for other processors to see
//   fence_after_update()  a full fence directly behind an atomic read-modify-write of ours, which is one on x86 already
//   fence_between_loads()  earlier loads complete before later ones, where the other side has a full fence between its
//                      store and its load. x86 has loads in order by itself
//   prefetch(), prefetch_to_write()  the line on its way, to be read or as this processor's own; never a fault
//   kLineBytes         spacing that keeps two writers out of each other's way, adjacent-line prefetch included
#pragma once

#if defined(__x86_64__)
#include "base/arch/x86_64/cpu.h"
#elif defined(__aarch64__)
#include "base/arch/aarch64/cpu.h"
#else
#include "base/arch/generic/cpu.h"
#endif
