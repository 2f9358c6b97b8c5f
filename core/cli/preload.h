// The OpenMP shim as a file, and the LD_PRELOAD that puts it in front of a program.
#pragma once

#include <string>

namespace smelt {

inline constexpr const char* kShimName = "libsmelt_gomp.so";

// Beside this executable as built or as installed, wherever the tree was moved to; else in the configured libdir.
// "" when there is none.
std::string find_shim();

// `before` (LD_PRELOAD as it was, or nullptr) without any shim, and with `shim` in front unless that is "".
std::string preload_value(const char* before, const std::string& shim);

// The file that execvp would run for `command`, "" when there is none.
std::string find_program(const std::string& command);

// Why a preloaded library cannot work in this program, as the rest of a sentence; "" when it can, as far as one sees.
std::string preload_obstacle(const std::string& program);

}  // namespace smelt
