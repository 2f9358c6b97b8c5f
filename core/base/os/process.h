// Is another process still there? Functions leave errno as it was, and none is a cancellation point.
#pragma once

#include <cstdint>

namespace smelt::os {

// When the process was started, in the kernel's ticks since the machine was: with it a number that was given to another
// process is noticed. 0: not known.
uint64_t process_start(int32_t process);

// Has it surely ended? One that nobody has waited for yet has; one of which we cannot know it has not. `started`: as
// process_start() said then, or 0.
bool process_gone(int32_t process, uint64_t started);

}  // namespace smelt::os
