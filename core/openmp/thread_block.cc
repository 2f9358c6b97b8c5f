#include "openmp/thread_block.h"

#include <dlfcn.h>
#include <link.h>
#include <cstdint>

namespace smelt::openmp {
namespace {

struct Search {
  uintptr_t address;
  void* block;
  size_t module;
  size_t bytes;
};

int look(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  const ElfW(Phdr)* tls = nullptr;
  bool holds = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_TLS) tls = &header;
    if (header.p_type == PT_LOAD) holds |= search->address >= begin && search->address - begin < header.p_memsz;
  }
  if (!holds) return 0;
  if (tls && info->dlpi_name && info->dlpi_name[0]) {
    search->block = info->dlpi_tls_data;  // the calling thread's
    search->module = info->dlpi_tls_modid;
    search->bytes = tls->p_memsz;
  }
  return 1;
}

// The block of a library that was opened later is not in the list above until the thread has used it by this function,
// and libgomp's code never does: it knows the distance from the thread pointer (initial-exec).
void* block_by_module(size_t module) {
  struct Index {
    unsigned long module, offset;
  } index{module, 0};
  // It is found by name, because linking to it would need the dynamic linker beside libc.
  static const auto get = reinterpret_cast<void* (*)(Index*)>(dlsym(RTLD_DEFAULT, "__tls_get_addr"));
  return get && module ? get(&index) : nullptr;
}

}  // namespace

ThreadBlock thread_block(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), nullptr, 0, 0};
  dl_iterate_phdr(look, &search);
  if (!search.block) search.block = block_by_module(search.module);
  return {search.block, search.bytes};
}

}  // namespace smelt::openmp
