// Child processes: run one and collect what it printed; keep foreign load running. However this program ends, by a
// signal, too, no child stays behind.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace smelt::epcc {

// An environment to run a child in, "NAME=value" each.
class Environment {
 public:
  static Environment of_this_process();
  void set(std::string_view name, std::string_view value);  // replaces
  void unset(std::string_view name);
  const std::vector<std::string>& entries() const { return entries_; }

 private:
  std::vector<std::string> entries_;
};

struct Finished {
  bool ok = false;      // exited with 0
  std::string failure;  // why not: "exit status 3: <last line of stderr>", "killed by signal 11 ..."
  std::string out, err;
};

// Runs argv[0] (a path) and waits for its end, at most `timeout_s`; then it is killed.
Finished run_child(const std::vector<std::string>& argv, const Environment& environment, double timeout_s);

// N processes that compute for ever on whatever CPU they get: somebody else's load. Ended with the object.
class Hogs {
 public:
  explicit Hogs(int count);
  ~Hogs();
  Hogs(const Hogs&) = delete;
  Hogs& operator=(const Hogs&) = delete;
  bool ok() const { return ok_; }

 private:
  std::vector<pid_t> pids_;
  bool ok_ = true;
};

// SIGINT, SIGTERM, SIGHUP: end all children, then this program the same way.
void install_signal_handlers();

}  // namespace smelt::epcc
