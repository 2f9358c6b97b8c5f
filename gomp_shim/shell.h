// Which task of libgomp's is the calling thread in?
//
// A task that is not deferred (if(0), or many wait already) needs nothing of ours: the call is a jump to libgomp, which
// runs the body at once. But the tasks that this body makes are its own children, and a taskwait in it waits for those
// alone. So at the first one it must be known that the thread is no longer in the body of before. libgomp keeps the
// current task in a word of its thread-local structure, here the shell of the body that runs. Which word is found by
// looking, as in thread_state.h: it is the only one that is another inside an undeferred task, and its distance from
// the thread pointer is the same for all threads, since libgomp's own code relies on that (initial-exec).
//
// The structures of undeferred tasks lie on the stack of the thread that runs them. So of two that are not over, the
// inner one has the lower address.
#pragma once

#include <cstdint>

namespace smelt::gomp {

using Shell = uintptr_t;

extern intptr_t shell_distance __attribute__((visibility("hidden")));  // from the thread pointer; 0: not known

inline Shell shell() {
  // libgomp's memory, written in calls that the compiler cannot see through.
  using Word [[gnu::may_alias]] = const Shell;
  return *reinterpret_cast<Word*>(static_cast<char*>(__builtin_thread_pointer()) + shell_distance);
}

// Finds out once, while resolving, which word it is. False: it does not show.
bool find_shell();

// Is it so for the calling thread, too?
bool has_shell();

}  // namespace smelt::gomp
