#include "openmp/new_thread.h"

#include <link.h>
#include <sched.h>
#include <atomic>
#include <cstdint>

namespace smelt::openmp {
namespace {

// The ends of the object's segments that hold code. Relaxed: two numbers that only grow from nothing to what they stay.
std::atomic<uintptr_t> code_begin{0}, code_end{0};

int look(dl_phdr_info* info, size_t, void* entry) {
  const auto address = reinterpret_cast<uintptr_t>(entry);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_LOAD || address < begin || address - begin >= header.p_memsz) continue;
    code_begin.store(begin, std::memory_order_relaxed);
    code_end.store(begin + header.p_memsz, std::memory_order_relaxed);
    return 1;
  }
  return 0;
}

}  // namespace

void find_runtime(const void* entry) { dl_iterate_phdr(look, const_cast<void*>(entry)); }

bool is_of_runtime(void* (*start)(void*)) {
  const auto address = reinterpret_cast<uintptr_t>(start);
  return address >= code_begin.load(std::memory_order_relaxed) && address < code_end.load(std::memory_order_relaxed);
}

int begin_elsewhere(pthread_t thread) {
  const int here = ::sched_getcpu();
  cpu_set_t all;
  if (here < 0 || here >= CPU_SETSIZE || ::pthread_getaffinity_np(thread, sizeof all, &all) != 0) return 0;
  if (!CPU_ISSET(here, &all) || CPU_COUNT(&all) < 2) return 0;
  CPU_CLR(here, &all);
  const bool changed = ::pthread_setaffinity_np(thread, sizeof all, &all) == 0;
  CPU_SET(here, &all);
  if (changed) ::pthread_setaffinity_np(thread, sizeof all, &all);
  return 0;
}

}  // namespace smelt::openmp
