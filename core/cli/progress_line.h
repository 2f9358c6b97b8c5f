// One line of stderr that overwrites itself: how far a measurement is, and how long it may still take.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace smelt {

class ProgressLine {
 public:
  // `what`: "pairs". Silent unless `wanted` and stderr is a terminal.
  ProgressLine(const char* what, bool wanted);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // How long it will take, before anything is measured, and how long at most; not where it is a moment.
  void announce(double seconds, double at_most);
  // Some calls show nothing, because terminals are slower than pairs. seconds_left < 0: not known. `more` is added as
  // it is.
  void show(uint64_t done, uint64_t total, double seconds_left = -1, const std::string& more = "");

 private:
  void print();

  const char* const what_;
  const bool shown_;
  double last_s_ = -1;  // when something was printed
  bool begun_ = false;
  std::string text_;  // not printed yet
};

// For work that does not say how far it is: after a second a line says what is done and for how long already. None
// unless `wanted` and stderr is a terminal.
class StillWorking {
 public:
  explicit StillWorking(std::string what, bool wanted = true);
  ~StillWorking();  // erases the line
  StillWorking(const StillWorking&) = delete;
  StillWorking& operator=(const StillWorking&) = delete;

  void go_on_with(std::string what);

 private:
  void tell();

  std::mutex mutex_;
  std::condition_variable told_to_end_;
  std::string what_;
  bool ended_ = false;
  std::thread teller_;
};

}  // namespace smelt
