#include "pictures/machines/zoo.h"

#include <algorithm>
#include <iterator>

#include "base/options.h"

namespace smelt {
namespace {

constexpr ZooEntry kZoo[] = {
#include "zoo_machines.inc"
};

}  // namespace

std::span<const ZooEntry> zoo() { return kZoo; }

const ZooEntry* find_in_zoo(const std::string& name) {
  const auto found = std::find_if(std::begin(kZoo), std::end(kZoo), [&](const ZooEntry& e) { return name == e.name; });
  return found == std::end(kZoo) ? nullptr : &*found;
}

const ZooEntry* nearest_in_zoo(const std::string& words) {
  // People type the model ("epyc-7742") and leave out the rest.
  if (!words.empty())
    for (const ZooEntry& entry : kZoo)
      if (std::string(entry.name).find(words) != std::string::npos) return &entry;
  const ZooEntry* nearest = nullptr;
  uint32_t fewest = most_typing_errors(words.c_str()) + 1;
  for (const ZooEntry& entry : kZoo)
    if (const uint32_t edits = edit_distance(words.c_str(), entry.name); edits < fewest)
      nearest = &entry, fewest = edits;
  return nearest;
}

}  // namespace smelt
