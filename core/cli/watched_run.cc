#include "cli/watched_run.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "base/fingerprint.h"
#include "base/os/os.h"
#include "cli/command.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The figures of /proc/PID/stat that are used here. False: the process is gone.
struct ProcessSeen {
  pid_t session = 0;
  double seconds = 0;
  bool ours = false;

  bool read(const std::string& folder) {
    const std::string stat = text_of_file(folder + "/stat");
    const size_t name = stat.rfind(") ");  // "11 (a name) R ..."
    if (name == std::string::npos) return false;
    std::istringstream fields(stat.substr(name + 2));
    std::string field;
    double ticks = 0;
    for (int i = 3; i <= 15 && fields >> field; ++i) {
      if (i == 6) session = std::stoi(field);
      if (i >= 14) ticks += std::stod(field);  // user, system
    }
    seconds = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
    return true;
  }
};

// The CPU time of ranks that a daemon starts for srun, and no wait tells; a variable that srun hands on marks them.
class RanksElsewhere {
 public:
  EnvironmentChange mark() const { return {kName, value_}; }  // for the launcher's environment

  // What a rank uses after its last look is lost. `session`: the launcher's, whose processes are waited for.
  void look(pid_t session) {
    const std::string marked = fmt::format("{}={}", kName, value_);
    std::error_code gone;
    for (std::filesystem::directory_iterator entry("/proc", gone), end; !gone && entry != end; entry.increment(gone)) {
      const std::string number = entry->path().filename().string(), folder = entry->path().string();
      ProcessSeen now;
      if (number[0] < '0' || number[0] > '9' || !now.read(folder) || now.session == session) continue;
      const auto [seen, is_new] = seen_.try_emplace(number);
      // A process that has not become its program yet has its parent's environment: it is looked at again.
      if (is_new || (!seen->second.ours && now.seconds == 0))
        seen->second.ours = text_of_file(folder + "/environ").find(marked) != std::string::npos;
      if (seen->second.ours) seen->second.seconds = std::max(seen->second.seconds, now.seconds);
    }
  }

  double seconds() const {
    double sum = 0;
    for (const auto& [process, seen] : seen_) sum += seen.seconds;
    return sum;
  }

 private:
  static constexpr const char* kName = "_SMELT_TRIAL";
  const std::string value_ = fmt::format("{}.{}", ::getpid(), os::now_ns());
  std::map<std::string, ProcessSeen> seen_;  // by number
};

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

bool has_letters(const std::string& line) {
  return std::any_of(line.begin(), line.end(), [](unsigned char c) { return std::isalpha(c) || c >= 0x80; });
}

// The last line, unless it is the rule that ends a message in a frame: then that message's first line.
std::string telling_line_of(const std::string& text) {
  std::string first, last;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (first.empty() && has_letters(line)) first = line;
    if (!line.empty()) last = line;
  }
  return one_line(has_letters(last) ? last : first);
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

WatchedRun watch_run(const ChildPlan& planned, const WatchOptions& watch) {
  WatchedRun run;
  const std::optional<StatsFile> told = watch.told ? std::optional<StatsFile>(std::in_place) : std::nullopt;
  std::optional<RanksElsewhere> elsewhere;
  const HeldSignals held;
  Pipe out, err;
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ChildPlan plan = planned;
  plan.apart = true;
  plan.signals = held.usual();
  plan.in = nothing, plan.out = out.write, plan.err = err.write;
  run.untold = told && told->path().empty();
  if (told && !run.untold) plan.changes.push_back({"SMELT_STATS", told->path()});
  if (watch.elsewhere) plan.changes.push_back(elsewhere.emplace().mark());
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
    if (elsewhere) elsewhere->look(child.pid);
    const int64_t now_ns = os::now_ns();
    if (watch.asked) run.interrupted = true;
    if (watch.limit_s > 0 && now_ns - child.begun_ns > static_cast<int64_t>(watch.limit_s * 1e9)) run.stopped = true;
    if ((run.interrupted || run.stopped) && now_ns >= next_signal_ns) {
      ::kill(-child.pid, signal);
      signal = SIGKILL;
      next_signal_ns = now_ns + kGraceNs;
    }
    pollfd ready[] = {{out.read, POLLIN, 0}, {err.read, POLLIN, 0}};  // a closed one, -1, is passed over
    const timespec moment{0, watch.elsewhere ? 20'000'000 : 100'000'000};
    const bool returns = watch.elsewhere || watch.asked || watch.limit_s > 0;
    ::ppoll(ready, 2, returns ? &moment : nullptr, held.usual());
    read_all();
  }
  run.times.wall_s = static_cast<double>(os::now_ns() - child.begun_ns) * 1e-9;
  read_all();  // not what a process that was left behind will still write
  run.times.user_s = seconds_of(used.ru_utime);
  run.times.system_s = seconds_of(used.ru_stime);
  if (elsewhere) {
    run.times.elsewhere_s = elsewhere->seconds();
    run.times.user_s += run.times.elsewhere_s;
  }
  run.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  run.interrupted |= watch.asked.load();
  run.last_error_line = telling_line_of(errors);
  if (told) run.stats = parse_job_stats(told->content());
  return run;
}

}  // namespace smelt
