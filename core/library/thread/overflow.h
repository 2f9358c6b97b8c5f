// A thread that runs over the end of its stack touches its guard, and the program gets a SIGSEGV which tells nobody
// what has happened. If the program has no handler of its own for it, ours says so, in one line, and lets the signal
// take its usual course. It runs on a stack of its own, since there is no room on the thread's.
#pragma once

namespace smelt::thread {

struct Worker;

// Counted; not by two threads at once. The first call installs the handler, and the last takes it away, if it still is
// ours.
void watch_overflow();
void unwatch_overflow();
void begin_signal_stack(Worker& worker);  // of this kernel thread
void end_signal_stack(Worker& worker);

}  // namespace smelt::thread
