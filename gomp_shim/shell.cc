#include "shell.h"

#include "hot_team.h"
#include "libgomp.h"
#include "real.h"
#include "thread_state.h"

namespace smelt::gomp {

intptr_t shell_distance = 0;  // from the thread pointer; 0: not found

namespace {

void run_undeferred(void (*body)(void*), void* argument) {
  REAL(GOMP_task)(body, argument, nullptr, 0, 1, false, 0, nullptr, 0, nullptr);
}

struct Look {
  ThreadState state;
  StateImage before, inside;
};

void look_inside(void* argument) {
  auto& look = *static_cast<Look*>(argument);
  look.state.save(&look.inside);
}

void tell_shell(void* argument) { *static_cast<Shell*>(argument) = shell(); }

}  // namespace

bool find_shell() {
  Look look;
  if (!look.state.find(smelt_real_GOMP_parallel)) return false;
  look.state.save(&look.before);
  run_undeferred(look_inside, &look);
  const uint32_t word = look.state.only_difference(look.before, look.inside);
  if (!look.state.same_as(look.before) || word == look.state.words()) return false;
  shell_distance = static_cast<const char*>(look.state.address(word)) - static_cast<char*>(__builtin_thread_pointer());
  return true;
}

bool has_shell() {
  if (smelt_gomp_own.has_shell) [[likely]]
    return true;
  const Shell around = shell();
  Shell inside = around;
  run_undeferred(tell_shell, &inside);
  const auto here = reinterpret_cast<Shell>(__builtin_frame_address(0));
  // Is it on this stack, not far above us?
  smelt_gomp_own.has_shell = shell() == around && inside < here && here - inside < 1 << 16;
  return smelt_gomp_own.has_shell;
}

}  // namespace smelt::gomp
