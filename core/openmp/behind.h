// A function that a shim stands in front of in the C library: found once, by the loader, and kept in a word.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace smelt::openmp {

// The next function of that name behind ours.
template <typename Function>
Function behind(std::atomic<Function>& found, const char* name) {
  Function function = found.load(std::memory_order_relaxed);  // code needs no ordering
  if (!function) {
    function = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
    found.store(function, std::memory_order_relaxed);
  }
  return function;
}

}  // namespace smelt::openmp
