// One run of a user's program, for comparison: its times, its end and what it wrote, of which little is kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "cli/child.h"
#include "cli/job_stats.h"
#include "cli/trial.h"

namespace smelt {

// The standard output of a program: all of it by hash and length, and its beginning.
struct WrittenOutput {
  uint64_t hash = 0, bytes = 0;
  std::string beginning;

  void add(const char* data, size_t size);
  bool operator==(const WrittenOutput& other) const { return hash == other.hash && bytes == other.bytes; }
};

// "line 3 is 'a' instead of 'b'", as far as the beginnings tell.
std::string first_difference(const WrittenOutput& is, const WrittenOutput& instead_of);

struct WatchedRun {
  RunTimes times;
  int code = 0;   // exit status; 128 + signal where one ended it
  int error = 0;  // errno of why it did not start
  bool interrupted = false;
  bool stopped = false;  // it had not ended after WatchOptions::limit_s
  WrittenOutput output;
  std::string last_error_line;  // or the first, where the last is a rule below a message
  JobStats stats;               // with WatchOptions::told
  bool untold = false;          // there was no file that its processes could write to

  bool ended_well() const { return code == 0 && error == 0 && !interrupted; }
  std::string end_text() const;  // "exit status 3", "ended by signal 11 (Segmentation fault)"
};

struct WatchOptions {
  const std::atomic<bool>& asked;  // when it turns true, by a signal, the program is ended
  double limit_s = 0;              // after so long, too; 0: none
  bool told = false;               // its processes are asked what was served
  bool elsewhere = false;          // a daemon starts its ranks, whose time is looked for (srun)
};

// Its standard input is empty, its standard error is not compared. Throws UserError where no process can be made.
WatchedRun watch_run(const ChildPlan& plan, const WatchOptions& watch);

}  // namespace smelt
