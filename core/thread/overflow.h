// A thread that runs over the end of its stack touches its guard, and the program gets a SIGSEGV which tells nobody
// what has happened. If the program has no handler of its own for it, ours says so, in one line, and lets the signal
// take its usual course. It runs on a stack of its own, since there is no room on the thread's.
#pragma once

namespace smelt::thread {

struct Worker;

void watch_overflow();                    // counted; the first call installs the handler
void unwatch_overflow();                  // and the last one takes it away, if it still is ours
void begin_signal_stack(Worker& worker);  // of this kernel thread
void end_signal_stack(Worker& worker);

}  // namespace smelt::thread
