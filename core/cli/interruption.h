// Ctrl-C and SIGTERM while something is measured that takes its time.
//
// The first one asks: what is running is stopped at the next pair, and says itself how to go on. Where nobody asks any
// more, and for the second one, the process says its text and leaves at once: threads and processes that measure hold
// nothing and end with it.
#pragma once

#include <atomic>
#include <string>

namespace smelt {

// One at a time. From construction to destruction SIGINT and SIGTERM are ours, unless they were ignored (nohup).
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  const std::atomic<bool>* asked() const;            // true after the first signal
  void leave_at_once(const std::string& text);       // from now on the first signal does; one line, without "smelt: "
  void ignore();                                     // "interrupted" must mean that nothing was changed
};

}  // namespace smelt
