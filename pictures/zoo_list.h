// The output of --machine zoo:list in place of a machine: the machines of the zoo.
#pragma once

#include <string>
#include <vector>

namespace smelt {

inline constexpr const char* kZooList = "zoo:list";

int put_zoo_list(bool json);           // 0, the exit code
std::vector<std::string> zoo_names();  // "zoo:apple-m1-pro-1x6", for shells

}  // namespace smelt
