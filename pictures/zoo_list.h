// The output of --machine zoo:list in place of a machine: the machines of the zoo.
#pragma once

namespace smelt {

inline constexpr const char* kZooList = "zoo:list";

int put_zoo_list(bool json);  // 0, the exit code

}  // namespace smelt
