// smelt report: everything that is known of a machine as one HTML file, to be looked at, printed and sent.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <ctime>
#include <memory>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/picture_request.h"
#include "cli/report_sections.h"
#include "cli/zoo_list.h"
#include "profile/text/error.h"
#include "report/page.h"
#include "smelt_config.h"

namespace smelt {
namespace {

struct ReportArguments {
  std::string machine = "this", output, network;
  bool measure = false, json = false;
};

int run_report(const ReportArguments& arguments) {
  if (arguments.machine == kZooList) return put_zoo_list(false);
  if (arguments.output.empty() && !arguments.json) throw UserError("report where? -o FILE.html, or --json");
  if (!arguments.output.empty() && !arguments.output.ends_with(".html"))
    throw UserError(fmt::format("--output {}: the name must end in .html", arguments.output));
  ReportSubject subject;
  subject.machine = read_machine_file(arguments.machine);
  const MachineFile& machine = subject.machine;
  if (!machine.note.empty()) warn(machine.note);
  if (arguments.measure && !machine.here)
    throw UserError("--measure: only this machine can be timed; leave --machine out");
  subject.cpus = machine.here ? allowed_cpus_of(machine) : machine.cpus;
  Interruption interrupt("interrupted; nothing was written");
  subject.stop = interrupt.asked();

  ReportPage page;
  page.title = one_line(machine.name);
  page.subtitle = "A report by Smelt: what messages between the CPUs cost, and what follows from it.";
  const auto add = [&page](const char* id, const char* title, std::string html) {
    if (!html.empty()) page.sections.push_back({id, title, std::move(html)});
  };
  subject.document["machine"] = page.title;
  subject.document["origin"] = one_line(machine.origin);
  subject.document["cpus"] = subject.cpus;
  add("topology", "Topology", topology_section(subject));
  add("costs", "What a message costs", costs_section(subject));
  add("patterns", "Chosen patterns", patterns_section(subject));
  add("raced", "Predicted against measured", raced_section(subject));
  add("thresholds", "Thresholds", thresholds_section(subject));
  add("networks", "Networks", networks_section(subject, arguments.network));
  if (machine.here) add("conditions", "Conditions", doctor_section(subject));
  if (arguments.measure) add("measured", "Measured now", measured_section(subject));
  add("commands", "The commands", commands_section(arguments.machine));
  page.sections.insert(page.sections.begin(), {"overview", "Overview", overview_section(subject)});
  page.data = script_data(subject);
  page.footer = "Made by smelt " SMELT_VERSION;
  // A machine of the zoo is always the same, and so is its report.
  if (machine.here) page.footer += fmt::format(", {:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)));
  page.footer += ". Its words are explained in docs/glossary.md.";
  const int code = interrupt.finish("the report has the best patterns found so far");
  if (arguments.json) put(document_text(subject.document));
  if (!arguments.output.empty()) write_file(arguments.output, html_page(page));
  return code;
}

}  // namespace

void add_report(CLI::App& app, Action& chosen) {
  CLI::App* verb = app.add_subcommand("report", "Write all that is known of a machine as one HTML file");
  auto arguments = std::make_shared<ReportArguments>();
  verb->add_option("-o,--output", arguments->output, "the file; it needs no other, and no network")
      ->type_name("FILE.html");
  verb->add_flag("--json", arguments->json, "print what the page is made of, for programs");
  verb->add_option("--machine", arguments->machine,
                   "this; synthetic:DESCRIPTION; zoo:NAME (zoo:list lists them); or a file (see smelt tree --help)")
      ->type_name("MACHINE")
      ->capture_default_str();
  verb->add_option("--network", arguments->network, "a network profile; by default the one of this machine, if there")
      ->type_name("FILE");
  verb->add_flag("--measure", arguments->measure,
                 "time the patterns on this machine, and OpenMP and MPI with and without Smelt where the programs of a "
                 "build tree are there: some minutes");
  verb->footer("Example:\n  smelt report -o here.html\n  smelt report --machine zoo:amd-epyc-7742-2x64x2 -o epyc.html");
  verb->callback([arguments, &chosen] { chosen = [arguments] { return run_report(*arguments); }; });
}

}  // namespace smelt
