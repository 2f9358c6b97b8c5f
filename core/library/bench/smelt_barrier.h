// Our barrier through the public API, in the form of its peers (peers.h).
#pragma once

#include <smelt/smelt.h>

#include <cstdint>
#include <string>
#include <vector>

namespace smelt::bench {

class SmeltBarrier {
 public:
  // For threads that are pinned to the CPUs in turn. 0, or a negative errno.
  template <typename Cpu>
  int open(uint32_t threads, const std::vector<Cpu>& cpus) {
    std::vector<unsigned> pinned;
    for (uint32_t thread = 0; thread < threads; thread++)
      pinned.push_back(static_cast<unsigned>(cpus[thread % cpus.size()]));
    smelt_context* context = nullptr;
    int error = smelt_context_create(nullptr, threads, pinned.data(), nullptr, &context);
    if (error == 0) error = smelt_barrier_create(context, &barrier_);
    if (error == 0) pattern_ = smelt_context_pattern(context);
    smelt_context_free(context);
    return error;
  }
  SmeltBarrier() = default;
  ~SmeltBarrier() { smelt_barrier_free(barrier_); }
  SmeltBarrier(const SmeltBarrier&) = delete;
  SmeltBarrier& operator=(const SmeltBarrier&) = delete;
  void wait(uint32_t thread) { smelt_barrier_wait(barrier_, thread); }
  const std::string& pattern() const { return pattern_; }

 private:
  smelt_barrier* barrier_ = nullptr;
  std::string pattern_;
};

}  // namespace smelt::bench
