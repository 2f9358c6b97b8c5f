#include "cli/progress_line.h"

#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "base/os/os.h"

namespace smelt {
namespace {

constexpr double kRefreshS = 0.1;

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1000);
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 100 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

ProgressLine::ProgressLine(const char* what, bool wanted) : what_(what), shown_(wanted && ::isatty(STDERR_FILENO)) {}

ProgressLine::~ProgressLine() {
  if (begun_) std::fputc('\n', stderr);
}

void ProgressLine::show(uint64_t done, uint64_t total, double seconds_left) {
  const double now = static_cast<double>(os::now_ns()) * 1e-9;
  if (!shown_ || (done < total && last_s_ >= 0 && now - last_s_ < kRefreshS)) return;
  last_s_ = now;
  begun_ = true;
  const std::string left =
      seconds_left < 0.5 || done >= total ? "" : fmt::format(", about {} left", duration_text(std::ceil(seconds_left)));
  // Erased to the end of the line: what was there may have been longer.
  std::fputs(fmt::format("\rsmelt: measured {} of {} {}{}\033[K", done, total, what_, left).c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace smelt
