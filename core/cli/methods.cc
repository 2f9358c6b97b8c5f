#include "cli/methods.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace smelt {
namespace {

struct Step {
  const char* method;
  uint64_t from;  // 0: at once, UINT64_MAX: never
};

struct Collective {
  const char* name;
  std::vector<Step> steps;  // ascending; the first at 0
};

// What serves which size: a method whose range is empty does not appear.
std::vector<Collective> collectives_of(const CurveSet& set) {
  const Crossings at = crossings_of(set);
  const auto steps = [](const char* first, std::vector<Step> later) {
    std::vector<Step> out{{first, 0}};
    // Single copy goes before sliced where both would serve a size.
    for (size_t i = 0; i < later.size(); ++i) {
      const bool hidden = i + 1 < later.size() && later[i + 1].from <= later[i].from;
      if (later[i].from == UINT64_MAX || hidden) continue;
      if (later[i].from == 0) out.clear();
      out.push_back(later[i]);
    }
    return out;
  };
  return {{"broadcast", steps("shelf", {{"single copy", at.copy_broadcast}})},
          {"reduce", steps("flat", {{"sliced", at.flat_reduce}, {"single copy", at.copy_reduce}})},
          {"allreduce", steps("flat", {{"sliced", at.flat_allreduce}, {"single copy", at.copy_allreduce}})}};
}

}  // namespace

std::string bytes_text(uint64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (bytes < 1 << 10) return fmt::format("{} B", bytes);
  if (bytes < 1 << 20) return fmt::format("{:.3g} KiB", number / (1 << 10));
  return fmt::format("{:.3g} MiB", number / (1 << 20));
}

std::string methods_text(const std::vector<CurveSet>& sets) {
  std::string out;
  for (const CurveSet& set : sets) {
    out += fmt::format("{:<12}for {} processes{}, measured:", &set == &sets.front() ? "methods" : "", set.participants,
                       set.sync ? ", a barrier after each call" : "");
    for (const Collective& collective : collectives_of(set)) {
      out += fmt::format(" {}", collective.name);
      for (const Step& step : collective.steps)
        out += step.from ? fmt::format(", {} from {}", step.method, bytes_text(step.from))
                         : fmt::format(" {}", step.method);
      out += ";";
    }
    out.back() = '\n';
  }
  return out;
}

nlohmann::ordered_json methods_json(const std::vector<CurveSet>& sets) {
  auto out = nlohmann::ordered_json::array();
  for (const CurveSet& set : sets) {
    nlohmann::ordered_json row = {{"participants", set.participants}, {"sync", kSyncNames[set.sync]}};
    for (const Collective& collective : collectives_of(set))
      for (const Step& step : collective.steps)
        row[collective.name].push_back({{"method", step.method}, {"from_bytes", step.from}});
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace smelt
