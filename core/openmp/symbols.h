// The entry points of the real OpenMP runtime, behind a shim: where the runtime is, and what each name means there.
//
// A shim gives its list of names and a description of the runtime (Runtime). Here the next definition of each name is
// found. A runtime that the shim does not know is refused: then every call goes straight through.
//
// Nothing is resolved before the first call: a program without OpenMP pays for a few pages of library and nothing else,
// and the runtime is never loaded by us (libgomp's constructor would bind the process to one CPU under OMP_PROC_BIND).
#pragma once

#include <cstdint>

extern "C" {
// One slot per name, null until resolved. Laid out by the shim, one after the other in the order of its names; C names,
// because its assembly stubs jump through them. The slot of GOMP_barrier is also called smelt_real_GOMP_barrier.
extern void* smelt_real[] __attribute__((visibility("hidden")));
}

namespace smelt::openmp {

inline constexpr uint32_t kMostSlots = 224;

// --- given by the shim ---

// No pointers: the loader would have to fill them in, in every process.
struct Runtime {
  char name[12];        // "libgomp": in messages, and how the names of its files begin
  char file[16];        // "libgomp.so.1": programs are linked against it
  char examples[48];    // "GOMP_barrier, GOMP_parallel": of the names taken
  uint32_t slots;       // how many names
  uint32_t taken;       // the first so many are exported by the shim, the others only called
  uint32_t entry;       // slot of what every runtime of this kind has and no other
  uint32_t thread_num;  // slot of omp_get_thread_num
  // Where it was never called, it says so to nobody: another shim stands beside it and does.
  bool quiet_idle = false;
  void (*another)() = nullptr;  // called when another runtime has been seen in the process
};
extern const Runtime runtime;

// The names in the order of their slots, each with its terminating zero.
extern const char slot_names[];

// All slots are filled as far as `library` has them: gets the shim ready, or says why it must take nothing.
const char* refuse(void* library);

// The function called in place of an entry point that no loaded library has; says so once.
void* missing(const char* name);

// --- given to the shim ---

inline uint32_t index_of(void* const& slot) {
  return static_cast<uint32_t>((reinterpret_cast<uintptr_t>(&slot) - reinterpret_cast<uintptr_t>(smelt_real)) /
                               sizeof slot);
}
const char* name_of(uint32_t index);

// Fills all slots, once, thread-safe. Sets `resolved_active`.
void resolve();
extern bool resolved_active;  // resolved, and free to take barriers

// False: every call goes straight through. The first call resolves.
// The shim has found out after that that it must take nothing.
void step_aside(const char* why);

inline bool active() {
  // Acquire: pairs with the release in resolve(), so that the slots are seen filled.
  if (__atomic_load_n(&resolved_active, __ATOMIC_ACQUIRE)) [[likely]]
    return true;
  resolve();
  return __atomic_load_n(&resolved_active, __ATOMIC_ACQUIRE);
}

void* resolved_late(void*& slot);  // the first time, or `missing`
inline void* resolved(void*& slot) {
  // Relaxed: the slot holds a code address, and code needs no ordering.
  void* function = __atomic_load_n(&slot, __ATOMIC_RELAXED);
  if (!function) [[unlikely]]
    return resolved_late(slot);
  return function;
}

// REAL(GOMP_barrier)() calls the runtime's; the type is that of the shim's own declaration.
#define REAL(name) (reinterpret_cast<decltype(&::name)>(::smelt::openmp::resolved(smelt_real_##name)))

// Walks the version nodes of the object that holds `address`. Each that `counts` must be known: false at the first that
// is not, or if there is none. The last one looked at, the newest, is kept for library_version().
struct VersionNodes {
  bool (*counts)(const char* node);
  bool (*known)(const char* node);
};
bool knows_versions(const void* address, const VersionNodes& nodes);

// Does some object of the process that is linked against an OpenMP runtime take a name from elsewhere that begins like
// this?
bool is_called(const char* beginning);

// Shows the names that the object which holds `address` exports, in no order, until one is refused; `node` is the
// version node of each, "" where it has none. False: one was, or the object does not say (it has no DT_GNU_HASH).
bool for_each_export(const void* address, bool (*each)(const char* name, const char* node));

// A name as a number: FNV-1a. A list of names is then no table of pointers, which the loader would have to fill in.
constexpr uint64_t hash(const char* name) {
  uint64_t value = 0xcbf29ce484222325;
  for (; *name; ++name) value = (value ^ static_cast<unsigned char>(*name)) * 0x100000001b3;
  return value;
}

// The newest version node of the runtime found, e.g. "GOMP_5.0.1"; "" when there is none.
const char* library_version();

// How many of the names that the shim exports the runtime has.
uint32_t symbols_taken();

}  // namespace smelt::openmp
