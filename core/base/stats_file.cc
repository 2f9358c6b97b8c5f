#include "base/stats_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include <smelt/options.h>

#include "base/options.h"
#include "base/os/no_cancellation.h"

namespace smelt {
namespace {

// One write, so that the lines of several processes do not mix.
int append(const char* path, const char* line, size_t length) {
  if (!path || !*path) return -ENOENT;
  const int saved_errno = errno;  // the host program's, not ours to change
  const os::NoCancellation no_cancellation;
  const int file = ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
  int error = file < 0 ? -errno : 0;
  if (file >= 0) {
    if (::write(file, line, length) != static_cast<ssize_t>(length)) error = -EIO;
    ::close(file);
  }
  errno = saved_errno;
  return error;
}

}  // namespace

void append_stats(const char* path, const char* format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  if (length < 0 || length >= static_cast<int>(sizeof line) - 1) return;  // half an object is of no use
  line[length] = '\n';
  append(path, line, static_cast<size_t>(length) + 1);
}

}  // namespace smelt

extern "C" int smelt_stats_append(const char* line) {
  if (!line) return -EINVAL;
  char text[2049];
  const int length = std::snprintf(text, sizeof text, "%s\n", line);
  if (length >= static_cast<int>(sizeof text)) return -E2BIG;
  return smelt::append(smelt::options().stats_file, text, static_cast<size_t>(length));
}
