// Ctrl-C and SIGTERM while something is measured or searched that takes its time.
//
// The first one asks: the running work stops soon, and says itself what there is and how to go on. If nobody asks any
// more, and for the second one, the process says its text and leaves at once: threads and processes that measure hold
// nothing and end with it.
#pragma once

#include <atomic>
#include <string>

namespace smelt {

// One at a time. From construction to destruction SIGINT and SIGTERM are ours, unless they were ignored (nohup).
class Interruption {
 public:
  explicit Interruption(const std::string& text);  // as it leaves; one line, without "smelt: "
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  const std::atomic<bool>* asked() const;  // true after the first signal
  void leave_at_once();                    // from now on the first signal does
  void ignore();                           // "interrupted" must mean that nothing was changed
  // The search is over. The exit code: 0, or after the first signal kExitInterrupted and a warning that says what is
  // shown now.
  int finish(const std::string& shown);

 private:
  void give_back();
};

}  // namespace smelt
