// Our barrier through the public API, in the form of the peers' (core/library/bench/peers.h).
#pragma once

#include <fmt/format.h>
#include <smelt/barrier.h>

#include <string>
#include <vector>

#include "profile/text/error.h"

namespace smelt::paper {

class SmeltBarrier {
 public:
  // For threads on these CPUs in turn; with more threads than CPUs the library serves a crowd, whatever the pattern.
  // Throws UserError.
  SmeltBarrier(uint32_t threads, const std::vector<uint32_t>& cpus, const std::string& pattern) {
    std::vector<unsigned> pinned;
    for (uint32_t thread = 0; thread < threads; ++thread) pinned.push_back(cpus[thread % cpus.size()]);
    smelt_context* context = nullptr;
    int error = smelt_context_create(nullptr, threads, pinned.data(), pattern.c_str(), &context);
    if (!error) error = smelt_barrier_create(context, &barrier_);
    smelt_context_free(context);
    if (error) throw UserError(fmt::format("a barrier of {} threads by {}: errno {}", threads, pattern, -error));
  }
  ~SmeltBarrier() { smelt_barrier_free(barrier_); }
  SmeltBarrier(const SmeltBarrier&) = delete;
  SmeltBarrier& operator=(const SmeltBarrier&) = delete;
  void wait(uint32_t thread) { smelt_barrier_wait(barrier_, thread); }

 private:
  smelt_barrier* barrier_ = nullptr;
};

}  // namespace smelt::paper
