// Whose caller is it? A process may hold several OpenMP runtimes, and a preloaded library sees the calls meant for all
// of them.
//
// The usual process has one runtime, and every question here ends at the first line. But a Python program that imports
// two wheels, each with a renamed libgomp of its own, has two, each with threads and states of its own; and clang's
// libraries bring LLVM's. The dynamic linker gives a caller the first definition in the global scope, else the one
// among its own object's dependencies; and as we stand in the global scope before all, the call comes here. Were it
// handed to the runtime that we serve while the caller's omp_get_thread_num() goes to another, the program would
// compute nonsense.
//
// So we serve callers in objects whose omp_get_thread_num is that of our runtime. The call of any other is handed to
// the function that it would have got without us. The answer depends on the object (the program or a library), so it is
// found out per object, in three steps, each slower and rarer than the one before:
//
//   callers  address -> answer: one load; for every address once asked about
//   objects  address range -> answer: under the lock of dl_iterate_phdr
//   judge()  asks the dynamic linker, with dlsym, for all objects that have come since; takes the loader's own lock
//
// The loader's own lock is held by dlopen while the constructors of a new library run. A region in such a constructor
// is opened by the thread that holds the lock. The workers must not ask for the lock, because the constructor waits for
// them. Therefore all objects are judged as soon as one is: the master has done so when the region begins, for its
// function is in the new library. (Not so where that function is in a library known before, and calls back into the new
// one.) dl_iterate_phdr has a lock of its own, which nobody holds for long.
//
// After a dlclose an answer about an address holds no longer: another library may get that place. We stand in front of
// dlclose to forget `callers`. `objects` is checked against the loader's own count of removals, which counts every
// close, by any caller.
//
// Only the return address tells which object called. It is not in the calling object after a tail call
// (`void set(int n) { omp_set_num_threads(n); }` ends in a jump): then the object that called `set` decides. As a
// library is judged by its dependencies, too, this is right where they belong together. It cannot be right where a
// function of one runtime's library is called from another runtime's library and ends in a jump. The function of a
// region, in contrast, is always in the object that opens it. Code in no object (made at run time) sees the global
// scope, else it is ours.
#pragma once

#include <atomic>
#include <cstdint>

#include "openmp/symbols.h"

namespace smelt::openmp {

// Set once a second runtime has been seen in the process: from then on calls inside regions are looked at, too.
extern "C" bool smelt_openmp_several __attribute__((visibility("hidden")));

// 1: our runtime serves the caller. An answer from 2 on stands for another runtime's entry points, others[answer - 2]
// (callers.cc).
using Answer = uint32_t;
inline constexpr Answer kUnknown = 0, kOurs = 1, kFirstOther = 2;

// One word per address asked about, direct-mapped: the address, and in the upper bits, which it does not use, the
// answer.
inline constexpr uint32_t kCallers = 4096;    // 32 KiB; addresses that share a word are found out anew each time
inline constexpr unsigned kAnswerShift = 48;  // user addresses have 48 bits on x86-64 and AArch64
extern std::atomic<uint64_t> callers[kCallers];

inline std::atomic<uint64_t>& word_of(uint64_t address) { return callers[(address >> 4 ^ address >> 14) % kCallers]; }

// The long way.
Answer find_out(const void* address);

// Has it been found out already that is_ours(address)?
inline bool is_known_ours(const void* address) {
  const auto bits = reinterpret_cast<uint64_t>(address);
  // Relaxed: the word says all there is to say.
  return word_of(bits).load(std::memory_order_relaxed) == (bits | uint64_t{kOurs} << kAnswerShift);
}

// Is this code address (a function of the program, or where a call returns to) in an object that our runtime serves?
inline bool is_ours(const void* address) { return is_known_ours(address) || find_out(address) == kOurs; }

// The entry point that the caller means by this slot (symbols.h): ours if our runtime serves the caller, else the other
// runtime's.
void* find_meant(void*& slot, const void* address);
inline void* meant(void*& slot, const void* address) {
  return is_known_ours(address) ? resolved(slot) : find_meant(slot, address);
}

// A child calls it after fork: calls of dlclose in other threads are gone.
void forget_closing();

// STOCK(GOMP_barrier)(): the entry point that this function's caller would have got.
#define STOCK(name) \
  (reinterpret_cast<decltype(&::name)>(::smelt::openmp::meant(smelt_real_##name, __builtin_return_address(0))))

}  // namespace smelt::openmp
