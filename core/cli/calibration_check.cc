#include "cli/calibration_check.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

#include "cli/class_figures.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "discover/machine.h"
#include "measure/recheck.h"
#include "profile/text/error.h"
#include "profile/text/read.h"

namespace smelt {

int check_calibration(bool json, bool quiet) {
  std::string path;
  const ProfileImage image = present_profile(&path);
  const Machine machine = discover_machine();
  if (!machine.this_machine)
    throw UserError("only the machine we run on can be checked; unset HWLOC_XMLFILE and HWLOC_SYNTHETIC");
  std::vector<RecheckedPair> pairs = pairs_to_recheck(image, machine.allowed_cpus());
  if (pairs.empty() && image.n() > 1)
    throw UserError(
        "this process may use at most one CPU of the profile; let it use two, to check what is between them");
  if (!pairs.empty()) {
    const StillWorking working(fmt::format("measuring {} pairs", pairs.size()));
    recheck(pairs, *hardware_meter());
  }

  std::vector<ClassFigures> classes;
  for (const RecheckedPair& c : pairs) classes.push_back(c.figures);
  const auto changed = std::count_if(pairs.begin(), pairs.end(), [](const RecheckedPair& c) { return !c.within(); });
  const std::string advice =
      changed == 0
          ? ""
          : fmt::format(
                "{} of {} classes changed by more than {:.0f} %; if this machine is idle, run 'smelt calibrate'",
                changed, pairs.size(), kRecheckLimit * 100);
  if (json) {
    nlohmann::ordered_json out = {{"profile", path},
                                  {"unit", cost_unit_name(static_cast<CostUnit>(image.header.unit))},
                                  {"limit", kRecheckLimit},
                                  {"within", changed == 0},
                                  {"classes", nlohmann::ordered_json::array()}};
    for (const RecheckedPair& c : pairs)
      out["classes"].push_back({{"class", class_name(c.figures, classes)},
                                {"cpus", {c.a, c.b}},
                                {"stored", c.stored},
                                {"now", c.now},
                                {"ratio", c.ratio()},
                                {"within", c.within()}});
    out["advice"] = advice.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(advice);
    put(out.dump(2) + "\n");
  } else if (!quiet) {
    put(fmt::format("profile     {}\n", path));
    put(fmt::format("{:<26} {:>12} {:>9} {:>9} {:>7}\n", "one hop, ns", "CPUs", "stored", "now", "ratio"));
    for (const RecheckedPair& c : pairs)
      put(fmt::format("  {:<24} {:>12} {:>9.1f} {:>9.1f} {:>7.2f}{}\n", class_name(c.figures, classes),
                      fmt::format("{}, {}", c.a, c.b), c.stored, c.now, c.ratio(), c.within() ? "" : "  changed"));
    put(advice.empty() ? fmt::format("within      {:.0f} %: the profile holds\n", kRecheckLimit * 100)
                       : fmt::format("advice      {}\n", advice));
  }
  return changed == 0 ? 0 : kExitChanged;
}

}  // namespace smelt
