#include "library/thread/overflow.h"

#include <signal.h>
#include <sys/auxv.h>

#include <cstdint>

#include "base/log.h"
#include "base/os/os.h"
#include "library/thread/scheduler.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

namespace smelt::thread {
namespace {

constinit uint32_t watching = 0;  // schedulers, under the lock of their list

// The kernel's frame on it, and a line of text.
size_t signal_stack_bytes() { return ::getauxval(AT_MINSIGSTKSZ) + 16384; }

void say_what_happened(int number, siginfo_t* info, void*) {
  const Worker* const worker = current_worker();
  const Thread* const thread = worker ? worker->current : nullptr;
  if (thread && info->si_code > 0) {  // the kernel's; otherwise somebody has sent it
    const Stacks& stacks = worker->scheduler->stacks;
    if (stacks.is_guard(thread, reinterpret_cast<uintptr_t>(info->si_addr)))
      log_line("a user-level thread ran over the end of its stack of %zu bytes: give smelt_scheduler_create more",
               stacks.stack_bytes());
  }
  // The usual course: the instruction is tried again, or, if it was sent, it is sent again.
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(number, &usual, nullptr);
  if (info->si_code <= 0) ::raise(number);
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == say_what_happened;
}

}  // namespace

void watch_overflow() {
  struct sigaction now {};
  if (watching++ == 0 && ::sigaction(SIGSEGV, nullptr, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
      now.sa_handler == SIG_DFL) {
    struct sigaction ours {};
    ours.sa_sigaction = say_what_happened;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGSEGV, &ours, nullptr);
  }
}

void unwatch_overflow() {
  struct sigaction now {};
  if (--watching == 0 && ::sigaction(SIGSEGV, nullptr, &now) == 0 && is_ours(now)) {
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    ::sigaction(SIGSEGV, &usual, nullptr);
  }
}

void begin_signal_stack(Worker& worker) {
  worker.signal_stack = os::map_pages(signal_stack_bytes());
  if (!worker.signal_stack) return;
  stack_t stack{};
  stack.ss_sp = worker.signal_stack;
  stack.ss_size = signal_stack_bytes();
  ::sigaltstack(&stack, nullptr);
}

void end_signal_stack(Worker& worker) {
  if (!worker.signal_stack) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
  os::unmap_pages(worker.signal_stack, signal_stack_bytes());
}

}  // namespace smelt::thread
