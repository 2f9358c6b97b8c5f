// smelt doctor: would timings taken on this machine now be right, and do programs find what they need?
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/doctor.h"
#include "cli/terminal.h"

namespace smelt {
namespace {

using Json = nlohmann::ordered_json;

std::string counted(size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string severity_text(Severity severity) {
  const Ink ink = severity == Severity::kWarning ? Ink::kWarning
                  : severity == Severity::kNote  ? Ink::kNote
                                                 : Ink::kGood;
  return inked(ink, fmt::format("{:7}", severity_name(severity)));
}

std::string doctor_text(const std::vector<Finding>& findings) {
  size_t width = 0;
  for (const Finding& f : findings) width = std::max(width, f.what.size());
  const auto count = [&](Severity severity) {
    return static_cast<size_t>(
        std::count_if(findings.begin(), findings.end(), [=](const Finding& f) { return f.severity == severity; }));
  };
  const size_t warnings = count(Severity::kWarning);
  // The conclusion first.
  std::string out =
      inked(Ink::kStrong,
            fmt::format("{}, {}: {}", counted(warnings, "warning"), counted(count(Severity::kNote), "note"),
                        warnings ? "figures taken now would be wrong" : "nothing here would make figures wrong")) +
      "\n";
  for (const Finding& f : findings) {
    out += fmt::format("{}  {:{}}  {}\n", severity_text(f.severity), f.what, width, one_line(f.found));
    if (!f.why.empty()) out += fmt::format("{:7}  why: {}\n{:7}  do:  {}\n", "", f.why, "", f.advice);
  }
  return out;
}

std::string doctor_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& f : findings)
    list.push_back({{"severity", severity_name(f.severity)},
                    {"what", f.what},
                    {"found", f.found},
                    {"why", f.why.empty() ? Json(nullptr) : Json(f.why)},
                    {"advice", f.advice.empty() ? Json(nullptr) : Json(f.advice)}});
  const Json out = {{"trustworthy", !any_warning(findings)}, {"findings", std::move(list)}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::vector<Finding> examine_this_machine() {
  const System system = this_system();
  std::vector<Finding> findings = measurement_conditions(system);
  for (auto part : {program_conditions, profile_conditions}) {
    const std::vector<Finding> more = part(system);
    findings.insert(findings.end(), more.begin(), more.end());
  }
  return findings;
}

void add_doctor(CLI::App& app, Action& chosen) {
  CLI::App* verb =
      app.add_subcommand("doctor", "Say what would make timings on this machine wrong now, and what to do about it");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "for programs");
  verb->footer("The exit code is 1 when there is a warning.\nExample:\n  smelt doctor && smelt calibrate");
  verb->callback([json, &chosen] {
    chosen = [json] {
      const std::vector<Finding> findings = examine_this_machine();
      if (*json)
        put(doctor_json(findings));
      else
        put_page(doctor_text(findings));
      return any_warning(findings) ? kExitWarning : 0;
    };
  });
}

}  // namespace smelt
