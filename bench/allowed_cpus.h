// The CPUs that the calling thread may run on, in their order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/os/os.h"

namespace smelt {

inline std::vector<uint32_t> allowed_cpus() {
  std::vector<uint32_t> cpus(os::allowed_cpu_list(nullptr, 0));
  const uint32_t count = os::allowed_cpu_list(cpus.data(), static_cast<uint32_t>(cpus.size()));
  cpus.resize(std::min<size_t>(cpus.size(), count));
  return cpus;
}

}  // namespace smelt
