#include "cli/watched_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/fingerprint.h"
#include "base/os/os.h"
#include "cli/command.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

constexpr size_t kBeginning = 256 * 1024;  // of an output, to show where it differs
constexpr size_t kErrorTail = 4096;
constexpr size_t kShownOfLine = 60;
constexpr int64_t kGraceNs = 3'000'000'000;  // between the signal that asks a program to end and the one that does

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw UserError(fmt::format("no pipe ({})", std::strerror(errno)));
    read = ends[0], write = ends[1];
    ::fcntl(read, F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    end(read);
    end(write);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  static void end(int& descriptor) {
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
  }
};

// The end of a child interrupts ppoll, and nothing else: outside of it the signals that matter are held back, so that
// none comes between the look and the wait.
class HeldSignals {
 public:
  HeldSignals() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGCHLD, &action, &before_);
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&held, signal);
    ::sigprocmask(SIG_BLOCK, &held, &usual_);
  }
  ~HeldSignals() {
    ::sigprocmask(SIG_SETMASK, &usual_, nullptr);
    ::sigaction(SIGCHLD, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  const sigset_t* usual() const { return &usual_; }

 private:
  sigset_t usual_;
  struct sigaction before_;
};

void keep_tail(std::string& tail, const char* data, size_t size) {
  tail.append(data, size);
  if (tail.size() > kErrorTail) tail.erase(0, tail.size() - kErrorTail);
}

// Reads what is there. At the end of the file the descriptor is closed.
template <typename Take>
void drain(int& descriptor, Take take) {
  char piece[65536];
  while (descriptor >= 0) {
    const ssize_t got = ::read(descriptor, piece, sizeof piece);
    if (got > 0)
      take(piece, static_cast<size_t>(got));
    else if (got < 0 && errno == EINTR)
      continue;
    else if (got < 0 && errno == EAGAIN)
      return;
    else
      Pipe::end(descriptor);
  }
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

std::string last_line_of(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return one_line(text.substr(text.rfind('\n') + 1));
}

std::string line_at(const std::string& text, size_t begin) {
  if (begin >= text.size()) return "missing";
  const std::string line = text.substr(begin, std::min(text.find('\n', begin) - begin, kShownOfLine));
  return fmt::format("'{}'", one_line(line));
}

}  // namespace

void WrittenOutput::add(const char* data, size_t size) {
  hash = bytes ? fnv1a(data, size, hash) : fnv1a(data, size);
  bytes += size;
  beginning.append(data, std::min(size, kBeginning - std::min(beginning.size(), kBeginning)));
}

std::string first_difference(const WrittenOutput& is, const WrittenOutput& instead_of) {
  const std::string &a = is.beginning, &b = instead_of.beginning;
  const auto at = static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  if (at == std::min(a.size(), b.size()) && at == kBeginning)
    return fmt::format("behind the first {} KiB ({} bytes instead of {})", kBeginning / 1024, is.bytes,
                       instead_of.bytes);
  const size_t line = at == 0 ? 0 : a.rfind('\n', at - 1) + 1;
  return fmt::format("line {} is {} instead of {}",
                     std::count(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(line), '\n') + 1, line_at(a, line),
                     line_at(b, line));
}

std::string WatchedRun::end_text() const {
  if (code <= 128) return fmt::format("exit status {}", code);
  return fmt::format("ended by signal {} ({})", code - 128, ::strsignal(code - 128));
}

WatchedRun watch_run(const ChildPlan& planned, const std::atomic<bool>& asked) {
  WatchedRun run;
  const HeldSignals held;
  Pipe out, err;
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ChildPlan plan = planned;
  plan.apart = true;
  plan.signals = held.usual();
  plan.in = nothing, plan.out = out.write, plan.err = err.write;
  const Child child = start_child(plan);
  ::close(nothing);
  Pipe::end(out.write);
  Pipe::end(err.write);
  run.error = child.error;
  if (run.error) return run;

  std::string errors;
  const auto read_all = [&] {
    drain(out.read, [&](const char* data, size_t size) { run.output.add(data, size); });
    drain(err.read, [&](const char* data, size_t size) { keep_tail(errors, data, size); });
  };
  int status = 0, signal = SIGTERM;
  int64_t next_signal_ns = 0;
  rusage used{};
  while (::wait4(child.pid, &status, WNOHANG, &used) == 0) {
    if (asked && os::now_ns() >= next_signal_ns) {
      run.interrupted = true;
      ::kill(-child.pid, signal);
      signal = SIGKILL;
      next_signal_ns = os::now_ns() + kGraceNs;
    }
    pollfd ready[] = {{out.read, POLLIN, 0}, {err.read, POLLIN, 0}};  // a closed one, -1, is passed over
    const timespec moment{0, 100'000'000};
    ::ppoll(ready, 2, asked ? &moment : nullptr, held.usual());
    read_all();
  }
  run.times.wall_s = static_cast<double>(os::now_ns() - child.begun_ns) * 1e-9;
  read_all();  // not what a process that was left behind will still write
  run.times.user_s = seconds_of(used.ru_utime);
  run.times.system_s = seconds_of(used.ru_stime);
  run.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  run.interrupted |= asked.load();
  run.last_error_line = last_line_of(std::move(errors));
  return run;
}

}  // namespace smelt
