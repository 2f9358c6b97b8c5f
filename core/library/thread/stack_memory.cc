#include "library/thread/stack_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "base/os/errno_keeper.h"
#include "base/os/os.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

namespace smelt::os {

size_t page_bytes() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

void* map_stacks(size_t bytes) {
  const ErrnoKeeper keeper;
  // No reservation of swap: most of it is never touched.
  void* address =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  ::madvise(address, bytes, MADV_NOHUGEPAGE);  // refused where there are no large pages, which is as good
  return address;
}

bool mark_guard(void* address, size_t bytes) {
  const ErrnoKeeper keeper;
  return ::madvise(address, bytes, MADV_GUARD_INSTALL) == 0;
}

bool split_guard(void* address, size_t bytes) {
  const ErrnoKeeper keeper;
  return ::mprotect(address, bytes, PROT_NONE) == 0;
}

int64_t mapping_limit() {
  constexpr int64_t kUsual = 65530;
  char text[32];
  if (read_small_file("/proc/sys/vm/max_map_count", text, sizeof text) <= 0) return kUsual;
  const long long limit = std::strtoll(text, nullptr, 10);
  return limit > 0 ? limit : kUsual;
}

}  // namespace smelt::os
