#include "base/log.h"

#include <smelt/options.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "base/os/no_cancellation.h"

namespace smelt {
namespace {

void say(const char* who, const char* colon, const char* format, va_list arguments) {
  const int saved_errno = errno;  // the host program's, not ours to change
  const os::NoCancellation no_cancellation;
  char line[1024];
  const int prefix = std::snprintf(line, sizeof line / 2, "smelt: %s%s", who, colon);
  int length = std::vsnprintf(line + prefix, sizeof line - prefix - 1, format, arguments);
  length = std::clamp(length, 0, static_cast<int>(sizeof line) - prefix - 2);
  line[prefix + length] = '\n';
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, static_cast<size_t>(prefix + length + 1));
  errno = saved_errno;
}

}  // namespace

void log_line(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say("", "", format, arguments);
  va_end(arguments);
}

}  // namespace smelt

extern "C" void smelt_say(const char* who, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  smelt::say(who, ": ", format, arguments);
  va_end(arguments);
}
