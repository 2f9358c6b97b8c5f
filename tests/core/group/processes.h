// Real processes that form groups: forked, with a host whose two slow collectives go over a shared page.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "measure/meeting.h"

namespace smelt::test {

struct Seat : MeetingRank {
  uint64_t progress_calls = 0;
};

// As setenv. A word of a list, "SMELT_TUNE=chunk", comes behind those that are there.
inline void set_setting(const char* name, const char* value) {
  const char* const word = std::strchr(name, '=');
  const std::string list = word ? std::string(name, word) : name;
  const char* const before = word ? getenv(list.c_str()) : nullptr;
  const std::string said = word ? std::string(word + 1) + "=" + value : value;
  setenv(list.c_str(), (before ? std::string(before) + "," + said : said).c_str(), 1);
}

inline smelt_host host_of(Seat* seat) {
  smelt_host host = host_of_rank(seat);
  host.progress = [](void* context) { ++static_cast<Seat*>(static_cast<MeetingRank*>(context))->progress_calls; };
  return host;
}

// Runs `body` in n processes; it returns 0 for success. The number of processes that failed, by exit status or signal.
inline int run_processes(unsigned n, const std::function<int(Seat&)>& body, unsigned timeout_s = 120) {
  Meeting* meeting = Meeting::open(n);
  std::vector<pid_t> children;
  for (unsigned i = 0; i < n; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(timeout_s);
      Seat seat;
      static_cast<MeetingRank&>(seat) = {meeting, n, i};
      const int result = body(seat);
      std::fflush(nullptr);
      _exit(result == 0 ? 0 : 1);
    }
    children.push_back(child);
  }
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    failed += !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  munmap(meeting, sizeof *meeting);
  return failed;
}

}  // namespace smelt::test
