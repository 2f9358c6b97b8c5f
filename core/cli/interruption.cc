#include "cli/interruption.h"

#include <unistd.h>
#include <csignal>
#include <cstring>

#include "cli/command.h"

namespace smelt {
namespace {

static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler must not wait for a lock");
std::atomic<bool> g_asked{false}, g_leave{false};
char g_text[256];
constexpr int kSignals[] = {SIGINT, SIGTERM};
struct sigaction g_before[2];

void on_signal(int) {
  if (!g_leave.load() && !g_asked.exchange(true)) return;
  // A terminal's cursor stands behind the progress.
  [[maybe_unused]] ssize_t written = 0;
  if (::isatty(STDERR_FILENO)) written = ::write(STDERR_FILENO, "\n", 1);
  written = ::write(STDERR_FILENO, g_text, std::strlen(g_text));
  ::_exit(kExitInterrupted);
}

}  // namespace

Interruption::Interruption(const std::string& text) {
  g_asked = g_leave = false;
  const std::string line = "smelt: " + text;
  const size_t length = line.copy(g_text, sizeof g_text - 2);
  std::memcpy(g_text + length, "\n", 2);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (int i = 0; i < 2; ++i) {
    ::sigaction(kSignals[i], nullptr, &g_before[i]);
    if (g_before[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

void Interruption::give_back() {
  for (int i = 0; i < 2; ++i) ::sigaction(kSignals[i], &g_before[i], nullptr);
}

Interruption::~Interruption() { give_back(); }

const std::atomic<bool>* Interruption::asked() const { return &g_asked; }

void Interruption::leave_at_once() {
  g_leave = true;
  // One that came while nobody looked.
  if (g_asked) on_signal(0);
}

int Interruption::finish(const std::string& shown) {
  give_back();
  if (!g_asked) return 0;
  warn("interrupted: " + shown);
  return kExitInterrupted;
}

void Interruption::ignore() {
  for (const int signal : kSignals) std::signal(signal, SIG_IGN);
}

}  // namespace smelt
