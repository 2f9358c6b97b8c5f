// Whose caller is it? A process may hold several OpenMP runtimes, and a preloaded library sees the calls meant for all of them.
//
// The usual process has one libgomp, and every question here ends at the first line. But a Python program that imports two
// wheels, each with a renamed libgomp of its own, has two, each with threads and states of its own; and clang's
// libraries bring LLVM's. The dynamic linker gives a caller the first definition in the global scope, else the one among its
// own object's dependencies; and as we stand in the global scope before all, the call comes here. Were it handed to the libgomp
// that we serve while the caller's omp_get_thread_num() goes to another, the program would compute nonsense.
//
// So: we serve callers in objects whose omp_get_thread_num is that of our libgomp; the call of any other is handed to what it
// would have got without us.
#pragma once

#include <atomic>
#include <cstdint>

namespace smelt::gomp {

// Set once a second runtime has been seen in the process: from then on calls inside regions are looked at, too.
extern "C" bool smelt_gomp_several __attribute__((visibility("hidden")));

// One word per address asked about, direct-mapped: the address, and in the upper bits, which it does not use, the answer.
inline constexpr uint32_t kCallers = 4096;
inline constexpr uint64_t kOurs = 1ull << 48;
extern std::atomic<uint64_t> callers[kCallers];

// The long way: looks the address up, and looks for other runtimes.
bool find_out(const void* address);

// Is this code address (a function of the program, or where a call returns to) in an object that our libgomp serves?
inline bool is_ours(const void* address) {
  const auto bits = reinterpret_cast<uint64_t>(address);
  // Relaxed: the word says all there is to say.
  return callers[(bits >> 4 ^ bits >> 14) % kCallers].load(std::memory_order_relaxed) == (bits | kOurs) || find_out(address);
}

// What `name` means to the caller: `ours` if our libgomp serves it, else the other runtime's.
void* meant(const char* name, const void* address, void*& ours);

// STOCK(GOMP_barrier)(): the entry point that this function's caller would have got.
#define STOCK(name)                                                                                               \
  (reinterpret_cast<decltype(&::name)>(                                                                           \
      ::smelt::gomp::meant(#name, __builtin_return_address(0), smelt_real_##name)))

}  // namespace smelt::gomp
