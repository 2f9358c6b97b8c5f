// One run of a user's program, for comparison: its times, its end and what it wrote, of which little is kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "cli/child.h"
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
  WrittenOutput output;
  std::string last_error_line;

  bool ended_well() const { return code == 0 && error == 0 && !interrupted; }
  std::string end_text() const;  // "exit status 3", "ended by signal 11 (Segmentation fault)"
};

// Its standard input is empty, its standard error is not compared. When `asked` turns true, by a signal, the program
// is ended. Throws UserError where no process can be made.
WatchedRun watch_run(const ChildPlan& plan, const std::atomic<bool>& asked);

}  // namespace smelt
