#include "thread_state.h"

#include <link.h>

namespace smelt::gomp {
namespace {

struct Search {
  uintptr_t address;
  void* block;
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
  // In the main program's block lie the program's own variables.
  if (tls && info->dlpi_tls_data && info->dlpi_name && info->dlpi_name[0]) {
    search->block = info->dlpi_tls_data;  // the calling thread's
    search->bytes = tls->p_memsz;
  }
  return 1;
}

}  // namespace

bool ThreadState::find(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), nullptr, 0};
  dl_iterate_phdr(look, &search);
  if (!search.block || search.bytes % 8 != 0 || search.bytes > kStateWords * 8 ||
      reinterpret_cast<uintptr_t>(search.block) % 8 != 0)
    return false;
  block_ = static_cast<Word*>(search.block);
  words_ = static_cast<uint32_t>(search.bytes / 8);
  return true;
}

bool ThreadState::learn_range(const StateImage& before) {
  begin_ = end_ = 0;
  for (uint32_t i = 0; i < words_; ++i) {
    if (block_[i] == before.word[i]) continue;
    if (end_ == 0) begin_ = i;
    end_ = i + 1;
  }
  return end_ != 0;
}

}  // namespace smelt::gomp
