// Memory for stacks: reserved, backed by the kernel page by page when it is touched. Functions leave errno as it was,
// and none is a cancellation point.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smelt::os {

size_t page_bytes();

// Private, anonymous, in small pages only: with large ones a stack would take 2 MiB at its first touch. nullptr when
// refused. unmap_pages() (os.h) gives it back.
void* map_stacks(size_t bytes);

// Pages that nobody may touch, marked within their mapping (MADV_GUARD_INSTALL, Linux 6.13). False: the kernel cannot.
bool mark_guard(void* address, size_t bytes);
// Does the same by splitting the mapping in three. False if that is refused, most likely because the process has too
// many mappings.
bool split_guard(void* address, size_t bytes);
// How many mappings a process may have (/proc/sys/vm/max_map_count).
int64_t mapping_limit();

}  // namespace smelt::os
