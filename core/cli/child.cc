#include "cli/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/os/os.h"
#include "cli/command.h"
#include "cli/launch_environment.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

// Never returns. It tells through `said` when it began, and, if execvp came back, why.
[[noreturn]] void become(const ChildPlan& plan, int said) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (plan.apart) ::setsid();
  if (plan.in >= 0) ::dup2(plan.in, 0);
  if (plan.out >= 0) ::dup2(plan.out, 1);
  if (plan.err >= 0) ::dup2(plan.err, 2);
  if (plan.signals) ::sigprocmask(SIG_SETMASK, plan.signals, nullptr);
  set_environment(plan.changes);
  std::vector<char*> argv = argument_pointers(plan.command);
  int64_t words[2] = {os::now_ns(), 0};
  [[maybe_unused]] ssize_t written = ::write(said, words, sizeof words[0]);
  ::execvp(argv[0], argv.data());
  words[1] = errno;
  written = ::write(said, &words[1], sizeof words[1]);
  ::_exit(kExitNotFound);
}

}  // namespace

void set_environment(const std::vector<EnvironmentChange>& changes) {
  for (const EnvironmentChange& change : changes) {
    if (change.value)
      ::setenv(change.name.c_str(), change.value->c_str(), 1);
    else
      ::unsetenv(change.name.c_str());
  }
}

std::vector<char*> argument_pointers(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  return argv;
}

Child start_child(const ChildPlan& plan) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw UserError(fmt::format("no pipe ({})", std::strerror(errno)));
  Child child;
  child.pid = ::fork();
  if (child.pid == 0) become(plan, ends[1]);
  const int error = errno;
  ::close(ends[1]);
  int64_t words[2] = {0, 0};
  size_t got = 0;
  while (child.pid > 0 && got < sizeof words) {
    const ssize_t here = ::read(ends[0], reinterpret_cast<char*>(words) + got, sizeof words - got);
    if (here < 0 && errno == EINTR) continue;
    if (here <= 0) break;
    got += static_cast<size_t>(here);
  }
  ::close(ends[0]);
  if (child.pid < 0) throw UserError(fmt::format("no process can be made ({})", std::strerror(error)));
  child.begun_ns = words[0];
  child.error = static_cast<int>(words[1]);
  if (child.error) ::waitpid(child.pid, nullptr, 0);
  return child;
}

int cannot_execute(const std::string& name, int error) {
  // ENOENT with the file there: its interpreter is missing.
  if (const std::string program = find_program(name); error == ENOENT && !program.empty()) {
    warn(fmt::format("{}: its interpreter or loader does not exist; see 'file {}'", name, program));
    return kExitNoExecute;
  }
  if (error == ENOENT || error == ENOTDIR) {
    warn(fmt::format("{}: not found; check the name, or its directory in PATH", name));
    return kExitNotFound;
  }
  warn(fmt::format("{}: cannot be executed ({}); check its mode and format", name, std::strerror(error)));
  return kExitNoExecute;
}

}  // namespace smelt
