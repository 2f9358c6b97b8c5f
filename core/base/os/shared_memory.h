// Memory that processes share without a name in any file system: it lives as long as somebody has it open or mapped, so
// nothing can be left behind. Every function leaves errno as it was, and none is a cancellation point.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smelt::os {

// A memory file of `bytes` (sparse: no page is taken yet), as a descriptor; only this user may open it. Respects ulimit
// -f (a file beyond it would be a SIGXFSZ). Negative errno.
int create_memory_file(const char* name, uint64_t bytes);

// The same file, by its descriptor in its creator's process: /proc/<process>/fd/<descriptor>. Should the numbers mean
// something else here, a pipe, a device, a file of another size, then it is not opened: -ENXIO. Negative errno; the
// caller checks that a file of that size is the one it meant.
int open_memory_file(int32_t process, int32_t descriptor, uint64_t bytes);
void close_file(int descriptor);

// Gives [offset, offset + bytes) its pages now, on the calling thread's NUMA node, so that a full machine is an error
// here and not a signal later. 0 or a negative errno.
int take_pages(int descriptor, uint64_t offset, uint64_t bytes);

void* map_file(int descriptor, uint64_t bytes);  // read, write, shared; nullptr when refused

// Largest file that ulimit -f allows this process.
uint64_t file_size_limit();

uint64_t random_number();

// Copies from or to another process's memory (cross memory attach). 0 or a negative errno; fewer bytes are -EFAULT.
int read_process(int32_t process, void* to, uint64_t from, uint64_t bytes);
int write_process(int32_t process, const void* from, uint64_t to, uint64_t bytes);

}  // namespace smelt::os
