#include "measure/processes.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/os.h"
#include "base/os/shared_memory.h"

namespace smelt {

namespace {

constexpr int kNoErrno = 200;  // exit status of a child that failed without one

int pin_to(uint32_t cpu) {
  // Sized for the CPU's number: cpu_set_t ends at 1,023.
  cpu_set_t* set = CPU_ALLOC(size_t{cpu} + 1);
  if (!set) return -ENOMEM;
  const size_t bytes = CPU_ALLOC_SIZE(size_t{cpu} + 1);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(cpu, bytes, set);
  const int error = ::sched_setaffinity(0, bytes, set) == 0 ? 0 : -errno;
  CPU_FREE(set);
  return error;
}

[[noreturn]] void child_main(Rank rank, uint32_t cpu, pid_t parent, const std::function<int(Rank&)>& body,
                             unsigned limit_s) {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);  // the parent's handlers speak for all
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before we asked
  ::alarm(limit_s);
  int result = 1;
  try {
    result = pin_to(cpu);
    if (!result) result = body(rank);
  } catch (const std::bad_alloc&) {
    result = -ENOMEM;
  } catch (...) {
  }
  // No destructors, no flushing: the buffers' contents are the parent's. Its status tells an errno.
  ::_exit(result == 0 ? 0 : result < 0 && result > -kNoErrno ? -result : kNoErrno);
}

void kill_all(const std::vector<pid_t>& children, size_t from) {
  for (size_t i = from; i < children.size(); ++i) ::kill(children[i], SIGKILL);
}

std::string ending(int status) {
  if (WIFEXITED(status))
    return WEXITSTATUS(status) == kNoErrno ? "failed" : fmt::format("failed ({})", std::strerror(WEXITSTATUS(status)));
  if (WTERMSIG(status) == SIGALRM) return "took too long";
  return fmt::format("was killed by signal {}", WTERMSIG(status));
}

}  // namespace

smelt_host Rank::host() { return host_of_rank(this); }

bool Rank::can_read_others() {
  const uint64_t own = 0x736d656c74000000 + me;
  meeting->probe[me] = {os::process_id(), reinterpret_cast<uint64_t>(&own)};
  meeting->meet();
  int64_t can = 1;
  for (unsigned i = 0; i < n && can; ++i) {
    uint64_t found = 0;
    const auto& other = meeting->probe[i];
    can = i == me || os::read_process(other.process, &found, other.address, sizeof found) == 0;
  }
  return host_minimum(static_cast<MeetingRank*>(this), &can, 1) == 0 && can;
}

std::string run_processes(const std::vector<uint32_t>& cpus, const std::function<int(Rank&)>& body, unsigned limit_s) {
  const auto n = static_cast<unsigned>(cpus.size());
  Meeting* meeting = Meeting::open(n);
  if (!meeting) return fmt::format("no memory to share ({})", std::strerror(errno));
  const pid_t parent = ::getpid();
  std::string why;
  std::vector<pid_t> children;
  for (unsigned i = 0; i < n && why.empty(); ++i) {
    const pid_t child = ::fork();
    if (child == 0) child_main({meeting, n, i}, cpus[i], parent, body, limit_s);
    if (child < 0)
      why = fmt::format("process {} of {} cannot be started ({})", i + 1, n, std::strerror(errno));
    else
      children.push_back(child);
  }
  if (!why.empty()) kill_all(children, 0);
  for (size_t i = 0; i < children.size(); ++i) {
    int status = 0;
    while (::waitpid(children[i], &status, 0) < 0 && errno == EINTR) {
    }
    if (status == 0 || !why.empty()) continue;
    why = fmt::format("process {} of {} {}", i + 1, n, ending(status));
    kill_all(children, i + 1);
  }
  ::munmap(meeting, sizeof *meeting);
  return why;
}

}  // namespace smelt
