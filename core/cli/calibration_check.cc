#include "cli/calibration_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/class_figures.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "cli/terminal.h"
#include "discover/machine.h"
#include "measure/recheck.h"
#include "profile/text/error.h"
#include "profile/text/read.h"

namespace smelt {
namespace {

std::string check_text(const Document& document) {
  Document rows = document["classes"];
  for (Document& row : rows) row["changed"] = row["within"] ? "" : "changed";
  return fact("profile", shown(document, "profile")) +
         table_text(
             {"one hop, ns", columns("class; CPUs=cpus|cpus; stored|1; now|1; ratio|2; =changed"), std::move(rows)}) +
         (document["within"] ? fact("within", shown(document, "limit", As::kPercent) + ": the profile holds")
                             : fact("advice", shown(document, "advice")));
}

}  // namespace

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
    const StillWorking working(fmt::format("measuring {} pairs", pairs.size()), !quiet);
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
  Document out = {{"profile", path},
                  {"unit", cost_unit_name(static_cast<CostUnit>(image.header.unit))},
                  {"limit", kRecheckLimit},
                  {"within", changed == 0},
                  {"classes", Document::array()}};
  for (const RecheckedPair& c : pairs)
    out["classes"].push_back({{"class", class_name(c.figures, classes)},
                              {"cpus", {c.a, c.b}},
                              {"stored", c.stored},
                              {"now", c.now},
                              {"ratio", c.ratio()},
                              {"within", c.within()}});
  out["advice"] = advice.empty() ? Document(nullptr) : Document(advice);
  if (!quiet || json) show(out, json, check_text);
  return changed == 0 ? 0 : kExitChanged;
}

}  // namespace smelt
