#include "cli/interrupt.h"

#include "cli/command.h"

namespace smelt {
namespace {

std::atomic<bool> interrupted;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait");

}  // namespace

InterruptedSearch::InterruptedSearch() {
  interrupted = false;
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, nullptr, &before_);
  // Who started the program with SIGINT ignored, as nohup and scripts in the background do, wants it to go on.
  if (before_.sa_handler != SIG_IGN) sigaction(SIGINT, &action, nullptr);
}

InterruptedSearch::~InterruptedSearch() { sigaction(SIGINT, &before_, nullptr); }

int InterruptedSearch::finish(const std::string& shown) {
  sigaction(SIGINT, &before_, nullptr);
  if (!happened()) return 0;
  warn("interrupted: " + shown);
  return kExitInterrupted;
}

const std::atomic<bool>* InterruptedSearch::flag() const { return &interrupted; }

}  // namespace smelt
