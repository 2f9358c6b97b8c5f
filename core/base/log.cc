#include "base/log.h"

#include <unistd.h>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "base/os/no_cancellation.h"

namespace smelt {

void log_line(const char* format, ...) {
  const int saved_errno = errno;  // the host program's, not ours to change
  const os::NoCancellation no_cancellation;
  char line[1024] = "smelt: ";
  constexpr int kPrefix = 7;  // "smelt: "
  va_list arguments;
  va_start(arguments, format);
  int length = std::vsnprintf(line + kPrefix, sizeof line - kPrefix - 1, format, arguments);
  va_end(arguments);
  if (length < 0) length = 0;
  if (length > static_cast<int>(sizeof line) - kPrefix - 2) length = static_cast<int>(sizeof line) - kPrefix - 2;
  line[kPrefix + length] = '\n';
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, static_cast<size_t>(kPrefix + length + 1));
  errno = saved_errno;
}

}  // namespace smelt
