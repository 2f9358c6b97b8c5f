// process.h on Linux: pidfd_open and poll, which see the end of all its threads; /proc/PID/stat for when it began.
#include "base/os/process.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os/errno_keeper.h"
#include "base/os/no_cancellation.h"
#include "base/os/os.h"

namespace smelt::os {

uint64_t process_start(int32_t process) {
  char path[32], text[1024];
  std::snprintf(path, sizeof path, "/proc/%d/stat", process);
  if (read_small_file(path, text, sizeof text) <= 0) return 0;
  // "pid (name) state ...": the name may have anything in it, so from the last bracket on. The 22nd field.
  const char* at = std::strrchr(text, ')');
  for (int field = 2; at && field < 22; ++field) at = std::strchr(at + 1, ' ');
  return at ? std::strtoull(at, nullptr, 10) : 0;
}

bool process_gone(int32_t process, uint64_t started) {
  const ErrnoKeeper keeper;
  const NoCancellation no_cancellation;
  if (process <= 0) return false;
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  if (descriptor < 0) return errno == ESRCH || (::kill(process, 0) != 0 && errno == ESRCH);
  pollfd ended{descriptor, POLLIN, 0};
  const bool gone = ::poll(&ended, 1, 0) == 1;
  ::close(descriptor);
  if (gone || started == 0) return gone;
  const uint64_t now = process_start(process);
  return now != 0 && now != started;
}

}  // namespace smelt::os
