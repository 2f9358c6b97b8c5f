// smelt report: everything that is known of a machine as one HTML file, to be looked at, printed and sent.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "cli/command.h"
#include "cli/interruption.h"
#include "pictures/picture_request.h"
#include "pictures/python.h"
#include "pictures/report_document.h"
#include "pictures/verbs.h"
#include "pictures/zoo_list.h"
#include "profile/text/error.h"

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
  subject.network = arguments.network;
  subject.cpus = machine.here ? allowed_cpus_of(machine.cpus) : machine.cpus;
  subject.asked = arguments.machine;
  subject.measure = arguments.measure;
  Interruption interrupt("interrupted; nothing was written");
  subject.stop = interrupt.asked();
  const Document document = report_document(subject);
  const int code = interrupt.finish("the report has the best patterns found so far");
  if (arguments.json) put(document_text(document));
  const int drawn = arguments.output.empty() ? 0 : draw_document("report", arguments.output, document);
  return drawn != 0 ? drawn : code;
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
