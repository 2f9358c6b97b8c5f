// shared_memory.h on Linux: memfd_create, opened by others through /proc.
#include "base/os/shared_memory.h"

#include <cstdio>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/os/errno_keeper.h"
#include "base/os/no_cancellation.h"

namespace smelt::os {

int create_memory_file(const char* name, uint64_t bytes) {
  const ErrnoKeeper keeper;
  const NoCancellation no_cancellation;
  if (bytes > file_size_limit()) return -EFBIG;
  const int descriptor = ::memfd_create(name, MFD_CLOEXEC);
  if (descriptor < 0) return -errno;
  if (::fchmod(descriptor, 0600) != 0 || ::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    const int error = errno;
    ::close(descriptor);
    return -error;
  }
  return descriptor;
}

int open_memory_file(int32_t process, int32_t descriptor, uint64_t bytes) {
  const ErrnoKeeper keeper;
  const NoCancellation no_cancellation;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", process, descriptor);
  // First only as a place (O_PATH): opening a pipe wakes the processes that wait at it, opening a device may do
  // anything.
  const int place = ::open(path, O_PATH | O_CLOEXEC);
  if (place < 0) return -errno;
  struct stat status {};
  int result = -ENXIO;
  if (::fstat(place, &status) == 0 && S_ISREG(status.st_mode) && static_cast<uint64_t>(status.st_size) == bytes) {
    // The kind of file there cannot change any more. By the thread's own folder: the process's is empty once main has
    // left by pthread_exit.
    std::snprintf(path, sizeof path, "/proc/thread-self/fd/%d", place);
    result = ::open(path, O_RDWR | O_CLOEXEC);
    if (result < 0) result = -errno;
  }
  ::close(place);
  return result;
}

void close_file(int descriptor) {
  const ErrnoKeeper keeper;
  const NoCancellation no_cancellation;
  ::close(descriptor);
}

int take_pages(int descriptor, uint64_t offset, uint64_t bytes) {
  const ErrnoKeeper keeper;
  const NoCancellation no_cancellation;
  if (offset + bytes > file_size_limit()) return -EFBIG;
  int result;
  do {
    result = ::posix_fallocate(descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (result == EINTR);
  return -result;
}

void* map_file(int descriptor, uint64_t bytes) {
  const ErrnoKeeper keeper;
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) return nullptr;
  ::madvise(address, bytes, MADV_DONTDUMP);  // a core file of every rank would hold all of it
  return address;
}

uint64_t file_size_limit() {
  const ErrnoKeeper keeper;
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return INT64_MAX;
  return limit.rlim_cur;
}

uint64_t random_number() {
  const ErrnoKeeper keeper;
  const NoCancellation no_cancellation;
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  timespec now{};  // early in a boot: the clock and the process tell two files apart as well
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) << 40 ^ static_cast<uint64_t>(now.tv_nsec) << 20 ^
         static_cast<uint64_t>(::getpid());
}

namespace {

// Both calls may move less than asked for.
template <typename Call>
int move_all(Call call, uint64_t here, uint64_t there, uint64_t bytes) {
  const ErrnoKeeper keeper;
  for (uint64_t done = 0; done < bytes;) {
    const iovec local{reinterpret_cast<void*>(here + done), bytes - done};
    const iovec remote{reinterpret_cast<void*>(there + done), bytes - done};
    const ssize_t moved = call(&local, &remote);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return moved < 0 ? -errno : -EFAULT;
    done += static_cast<uint64_t>(moved);
  }
  return 0;
}

}  // namespace

int read_process(int32_t process, void* to, uint64_t from, uint64_t bytes) {
  return move_all([process](const iovec* local,
                            const iovec* remote) { return ::process_vm_readv(process, local, 1, remote, 1, 0); },
                  reinterpret_cast<uint64_t>(to), from, bytes);
}

int write_process(int32_t process, const void* from, uint64_t to, uint64_t bytes) {
  return move_all([process](const iovec* local,
                            const iovec* remote) { return ::process_vm_writev(process, local, 1, remote, 1, 0); },
                  reinterpret_cast<uint64_t>(from), to, bytes);
}

}  // namespace smelt::os
