// Ctrl-C during a long search: stop searching and show what there is.
#pragma once

#include <atomic>
#include <csignal>
#include <string>

namespace smelt {

// While one lives, the first SIGINT sets a flag that searches look at, and the second ends the program as SIGINT does. One at a time.
class InterruptedSearch {
 public:
  InterruptedSearch();
  ~InterruptedSearch();
  InterruptedSearch(const InterruptedSearch&) = delete;
  InterruptedSearch& operator=(const InterruptedSearch&) = delete;

  const std::atomic<bool>* flag() const;  // for SearchLimits::stop
  bool happened() const { return flag()->load(); }
  // The search is over, and SIGINT is again what it was. The exit code: 0, or after an interruption 130 and a warning that says
  // what is shown now.
  int finish(const std::string& shown);

 private:
  struct sigaction before_;
};

}  // namespace smelt
