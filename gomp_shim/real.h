// The real libgomp: where it is, whether it is one that the shim knows, and its entry points.
//
// Nothing is resolved before the first GOMP_ call: a program without OpenMP pays for a few pages of library and nothing
// else, and libgomp is never loaded by us (its constructor would bind the process to one CPU under OMP_PROC_BIND).
#pragma once

#include <cstdint>

extern "C" {
// One slot per entry point, null until resolved. C names, because the assembly stubs jump through them, and lay them
// out: one after the other in the order of symbols.def, the first at smelt_real.
extern void* smelt_real[] __attribute__((visibility("hidden")));
#define SYMBOL(name) extern void* smelt_real_##name __attribute__((visibility("hidden")));
#include "symbols.def"
}

namespace smelt::gomp {

enum Slot : uint32_t {
#define SYMBOL(name) kSlot_##name,
#include "symbols.def"
  kSlots
};
inline uint32_t index_of(void* const& slot) {
  return static_cast<uint32_t>((reinterpret_cast<uintptr_t>(&slot) - reinterpret_cast<uintptr_t>(smelt_real)) /
                               sizeof slot);
}

// The names in the same order, each with its terminating zero. (An array of pointers the loader would have to fill in,
// in every process.)
const char* slot_names();

// Fills all slots, once, thread-safe. Sets `resolved_active`.
void resolve();
extern bool resolved_active;  // resolved, and free to take barriers

// False: every call goes straight through. The first call resolves.
inline bool active() {
  // Acquire: pairs with the release in resolve(), so that the slots are seen filled.
  if (__atomic_load_n(&resolved_active, __ATOMIC_ACQUIRE)) [[likely]]
    return true;
  resolve();
  return __atomic_load_n(&resolved_active, __ATOMIC_ACQUIRE);
}

// The newest version node of the libgomp found, e.g. "GOMP_5.0.1"; "" when there is none.
const char* libgomp_version();

// What is called in place of an entry point that no loaded library has; says so once.
void* missing(void* const& slot);

inline void* resolved(void*& slot) {
  // Relaxed: the slot holds a code address, and code needs no ordering.
  void* function = __atomic_load_n(&slot, __ATOMIC_RELAXED);
  if (!function) [[unlikely]] {
    resolve();
    function = __atomic_load_n(&slot, __ATOMIC_RELAXED);
    if (!function) function = missing(slot);
  }
  return function;
}

// REAL(GOMP_barrier)() calls libgomp's; the type is that of our own declaration in libgomp.h.
#define REAL(name) (reinterpret_cast<decltype(&::name)>(::smelt::gomp::resolved(smelt_real_##name)))

}  // namespace smelt::gomp
