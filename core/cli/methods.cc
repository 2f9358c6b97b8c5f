#include "cli/methods.h"

#include <fmt/format.h>

#include "cli/terminal.h"

namespace smelt {
namespace {

struct MethodStep {
  const char* method;
  uint64_t from;  // 0: at once, UINT64_MAX: never
};

struct Collective {
  const char* name;
  std::vector<MethodStep> steps;  // ascending; the first at 0
};

// Which method serves which size: a method whose range is empty does not appear.
std::vector<Collective> collectives_of(const CurveSet& set) {
  const Crossings at = crossings_of(set);
  const auto steps = [](const char* first, std::vector<MethodStep> later) {
    std::vector<MethodStep> out{{first, 0}};
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

std::string methods_text(const Document& sets) {
  std::string out;
  for (const Document& set : sets) {
    std::string line = fmt::format("for {} processes{}, measured:", shown(set, "participants"),
                                   set["sync"] == kSyncNames[0] ? "" : ", a barrier after each call");
    for (const auto& [name, steps] : set.items()) {
      if (!steps.is_array()) continue;
      line += " " + name;
      for (const Document& step : steps) {
        const auto from = step["from_bytes"].get<uint64_t>();
        line += (from ? ", " : " ") + shown(step, "method") + (from ? " from " + bytes_text(from) : "");
      }
      line += ";";
    }
    line.pop_back();
    out += fact(out.empty() ? "methods" : "", line);
  }
  return out;
}

Document methods_document(const std::vector<CurveSet>& sets) {
  Document out = Document::array();
  for (const CurveSet& set : sets) {
    Document row = {{"participants", set.participants}, {"sync", kSyncNames[set.sync]}};
    for (const Collective& collective : collectives_of(set))
      for (const MethodStep& step : collective.steps)
        row[collective.name].push_back({{"method", step.method}, {"from_bytes", step.from}});
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace smelt
