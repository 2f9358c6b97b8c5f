// smelt doctor: would timings taken on this machine now be right, and do programs find what they need?
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/doctor.h"
#include "cli/terminal.h"

namespace smelt {
namespace {

std::string severity_text(const std::string& severity) {
  const Ink ink = severity == severity_name(Severity::kWarning) ? Ink::kWarning
                  : severity == severity_name(Severity::kNote)  ? Ink::kNote
                                                                : Ink::kGood;
  return inked(ink, fmt::format("{:7}", severity));
}

// The subjects of those findings that are warnings.
std::string warned_of(const Document& findings, bool of_programs_alone) {
  std::string subjects;
  for (const Document& one : findings)
    if (one["severity"] == severity_name(Severity::kWarning) && (one["of_programs"] || !of_programs_alone))
      subjects += (subjects.empty() ? "" : ", ") + shown(one, "what");
  return subjects;
}

std::string doctor_text(const Document& document) {
  const Document& findings = document["findings"];
  // The conclusions first.
  std::string out;
  for (const auto& [about, said] : doctor_conclusions(document))
    out += fact(about, inked(said.second ? Ink::kGood : Ink::kWarning, said.first));
  size_t width = 0;
  for (const Document& f : findings) width = std::max(width, shown(f, "what").size());
  for (const Document& f : findings) {
    out += fmt::format("{}  {:{}}  {}\n", severity_text(f["severity"]), shown(f, "what"), width,
                       one_line(shown(f, "found")));
    if (!f["why"].is_null())
      out += fmt::format("{:7}  why: {}\n{:7}  do:  {}\n", "", shown(f, "why"), "", shown(f, "advice"));
  }
  return out;
}

}  // namespace

Document examine_this_machine() {
  const System system = this_system();
  std::vector<Finding> findings = measurement_conditions(system);
  const bool others = others_run(findings);
  for (auto part : {program_conditions, profile_conditions}) {
    const std::vector<Finding> more = part(system, others);
    findings.insert(findings.end(), more.begin(), more.end());
  }
  Document list = Document::array();
  for (const Finding& f : findings)
    list.push_back({{"severity", severity_name(f.severity)},
                    {"what", f.what},
                    {"found", f.found},
                    {"why", f.why.empty() ? Document(nullptr) : Document(f.why)},
                    {"advice", f.advice.empty() ? Document(nullptr) : Document(f.advice)},
                    {"of_programs", f.of_programs}});
  return {{"running_is_fine", !any_warning_of_programs(findings)},
          {"trustworthy", !any_warning(findings)},
          {"findings", std::move(list)}};
}

std::vector<std::pair<std::string, Conclusion>> doctor_conclusions(const Document& document) {
  const Document& findings = document["findings"];
  const bool runs = document["running_is_fine"], measures = document["trustworthy"];
  return {{"running",
           {runs ? "fine: nothing here keeps programs from what Smelt can do"
                 : "works, with less than could be: " + warned_of(findings, true),
            runs}},
          {"measuring",
           {measures ? "fine: nothing here would make figures wrong"
                     : "figures taken now would be wrong: " + warned_of(findings, false),
            measures}}};
}

void add_doctor(CLI::App& app, Action& chosen) {
  CLI::App* verb = app.add_subcommand(
      "doctor", "Say whether programs run well here now, what would make timings wrong, and what to do");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "for programs");
  verb->footer("The exit code is 1 when there is a warning.\nExample:\n  smelt doctor && smelt calibrate");
  verb->callback([json, &chosen] {
    chosen = [json] {
      const Document document = examine_this_machine();
      show(document, *json, doctor_text);
      return document["trustworthy"] ? 0 : kExitWarning;
    };
  });
}

}  // namespace smelt
