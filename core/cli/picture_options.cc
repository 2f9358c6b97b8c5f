// The options are as in smelt.1, under smelt tree.
#include "cli/picture_options.h"

#include <langinfo.h>

#include <clocale>
#include <cstring>

#include "base/os/os.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "generate/exact.h"

namespace smelt {

void add_picture_options(CLI::App& verb, PictureArguments& arguments) {
  arguments.machine_option =
      verb.add_option(
              "--machine", arguments.machine,
              "this; synthetic:DESCRIPTION in hwloc's notation; zoo:NAME (zoo:list lists them); or a file: profile "
              "(JSON or packed), cost matrix or costs by class (JSON), hwloc XML")
          ->type_name("MACHINE")
          ->capture_default_str();
  arguments.op_option = verb.add_option("--op", arguments.op, "what the pattern is for")
                            ->check(CLI::IsMember({"broadcast", "reduce", "barrier"}))
                            ->capture_default_str();
  verb.add_option("--pattern", arguments.pattern, "which pattern; best: the cheapest; see 'smelt tree --list'")
      ->type_name("NAME")
      ->capture_default_str();
  arguments.cpus_option =
      verb.add_option("--cpus", arguments.cpus,
                      "kernel CPU numbers that take part, in this order: 0-3,8,10-11 (default: all)")
          ->type_name("LIST");
  arguments.root_option =
      verb.add_option("--root", arguments.root, "CPU that is the root (default: the pattern's choice)")
          ->type_name("CPU");
  verb.add_option("--cost-model", arguments.cost_model,
                  "overlap: independent messages overlap; paper: sends and receives add up (OSDI'16, section 3.1)")
      ->check(CLI::IsMember({"overlap", "paper"}))
      ->capture_default_str();
  verb.add_option("--exact", arguments.exact, "find the optimal tree up to so many participants")
      ->check(CLI::Range(0u, kMostExact))
      ->capture_default_str();
  verb.add_option("--moves", arguments.moves, "moves of annealing above that (default: by the number of participants)");
  verb.add_option("--seed", arguments.seed, "of the annealing; the same seed finds the same tree")
      ->check(whole_number())
      ->capture_default_str();
  verb.add_option("--budget", arguments.budget_ms,
                  "ms that the search may take on a machine; what it finds then depends on the time")
      ->check(number_between(0, 1e9));
}

MachineFile read_request(const PictureArguments& arguments, const std::atomic<bool>* stop, PictureRequest* request) {
  request->op = arguments.op == "broadcast" ? Operation::kBroadcast
                : arguments.op == "reduce"  ? Operation::kReduce
                                            : Operation::kBarrier;
  request->pattern = arguments.pattern;
  request->paper = arguments.cost_model == "paper";
  if (arguments.root_option->count() > 0) request->root = arguments.root;
  // Before the machine: cheap errors first.
  if (arguments.cpus_option->count() > 0) request->cpus = parse_cpu_list(arguments.cpus);
  MachineFile machine = read_machine_file(arguments.machine);
  if (!machine.note.empty()) warn(machine.note);
  if (request->cpus.empty() && machine.here) request->cpus = allowed_cpus_of(machine);
  // The paper's model has no line that several poll.
  request->effort = {arguments.exact, arguments.moves, arguments.seed, {0, stop}, !request->paper};
  if (arguments.budget_ms > 0)
    request->effort.limits.deadline_ns = os::now_ns() + static_cast<int64_t>(arguments.budget_ms * 1e6);
  return machine;
}

bool terminal_takes_utf8() { return std::setlocale(LC_CTYPE, "") && std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0; }

}  // namespace smelt
