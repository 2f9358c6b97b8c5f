// A process without address space to spare.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>

#include "processes.h"

namespace smelt::test {

inline constexpr rlim_t kAddressSpace = 256 << 20;  // less than a segment

inline void limit_address_space() {
  rlimit now{};
  getrlimit(RLIMIT_AS, &now);
  now.rlim_cur = kAddressSpace;
  setrlimit(RLIMIT_AS, &now);
}

// Under qemu-user the limit is not the program's: setting it succeeds and changes nothing.
inline bool address_space_can_be_limited() {
  return run_processes(1, [](Seat&) {
           limit_address_space();
           return mmap(nullptr, kAddressSpace, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) ==
                          MAP_FAILED
                      ? 0
                      : 1;
         }) == 0;
}

}  // namespace smelt::test
