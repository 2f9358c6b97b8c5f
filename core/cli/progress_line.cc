#include "cli/progress_line.h"

#include <chrono>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "base/os/os.h"
#include "profile/text/rows.h"

namespace smelt {
namespace {

constexpr double kRefreshS = 0.1;
constexpr double kMomentS = 1;

}  // namespace

ProgressLine::ProgressLine(const char* what, bool wanted) : what_(what), shown_(wanted && ::isatty(STDERR_FILENO)) {}

ProgressLine::~ProgressLine() {
  if (!text_.empty()) print();
  if (begun_) std::fputc('\n', stderr);
}

void ProgressLine::print() {
  // Erased to the end of the line: the text before may have been longer.
  std::fputs(fmt::format("\rsmelt: {}\033[K", text_).c_str(), stderr);
  std::fflush(stderr);
  text_.clear();
  begun_ = true;
}

void ProgressLine::announce(double seconds, double at_most) {
  if (!shown_ || seconds < kMomentS) return;
  text_ = fmt::format("measuring, about {} in all, at most {}", duration_text(std::ceil(seconds)),
                      duration_text(std::ceil(at_most)));
  print();
}

void ProgressLine::show(uint64_t done, uint64_t total, double seconds_left, const std::string& more) {
  if (!shown_) return;
  const std::string left =
      seconds_left < 0.5 || done >= total ? "" : fmt::format(", about {} left", duration_text(std::ceil(seconds_left)));
  text_ = fmt::format("measured {} of {} {}{}{}", done, total, what_, left, more);
  const double now = static_cast<double>(os::now_ns()) * 1e-9;
  if (last_s_ >= 0 && now - last_s_ < kRefreshS) return;
  last_s_ = now;
  print();
}

StillWorking::StillWorking(std::string what, bool wanted) : what_(std::move(what)) {
  if (wanted && ::isatty(STDERR_FILENO)) teller_ = std::thread([this] { tell(); });
}

StillWorking::~StillWorking() {
  if (!teller_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  told_to_end_.notify_one();
  teller_.join();
}

void StillWorking::go_on_with(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
}

void StillWorking::tell() {
  std::unique_lock lock(mutex_);
  int seconds = 0;
  while (!told_to_end_.wait_for(lock, std::chrono::duration<double>(kMomentS), [this] { return ended_; })) {
    std::fputs(fmt::format("\rsmelt: {}, {} s so far\033[K", what_, ++seconds).c_str(), stderr);
    std::fflush(stderr);
  }
  if (seconds > 0) std::fputs("\r\033[K", stderr);
}

}  // namespace smelt
