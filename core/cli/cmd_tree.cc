// smelt tree: which pattern would be used, what it costs, and how it looks.
#include <fmt/format.h>
#include <langinfo.h>
#include <nlohmann/json.hpp>

#include <clocale>
#include <cstring>
#include <memory>

#include "cli/command.h"
#include "cli/plan.h"
#include "generate/registry.h"

namespace smelt {
namespace {

struct TreeArguments {
  std::string machine = "this", op = "barrier", pattern = "best", cost_model = "overlap", format = "text", cpus;
  uint32_t root = 0;
  bool has_cpus = false, has_root = false, list = false, json = false;
};

std::string name_with_argument(const PatternInfo& row) {
  return row.argument ? fmt::format("{}:{}", row.name, row.argument) : row.name;
}

void list_patterns(bool json) {
  if (json) {
    auto rows = nlohmann::ordered_json::array();
    for (const PatternInfo& row : pattern_registry()) {
      nlohmann::ordered_json entry = {{"name", row.name}, {"kind", row.tree ? "tree" : "exchange"}, {"help", row.help}};
      if (row.argument)
        entry["argument"] = {{"default", row.default_argument}, {"min", row.min_argument}, {"max", row.max_argument}};
      rows.push_back(std::move(entry));
    }
    put(rows.dump(2) + "\n");
    return;
  }
  put("Trees serve broadcasts, reductions and barriers; exchanges serve barriers only.\n");
  put(fmt::format("  {:<16} {:<9} {}\n", "best", "", "the cheapest of the following under the cost model"));
  for (const PatternInfo& row : pattern_registry()) {
    const std::string fallback = row.argument ? fmt::format(" (default {}:{})", row.name, row.default_argument) : "";
    put(fmt::format("  {:<16} {:<9} {}{}\n", name_with_argument(row), row.tree ? "tree" : "exchange", row.help,
                    fallback));
  }
}

bool terminal_takes_utf8() { return std::setlocale(LC_CTYPE, "") && std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0; }

int run_tree(const TreeArguments& arguments) {
  if (arguments.list) {
    list_patterns(arguments.json || arguments.format == "json");
    return 0;
  }
  PlanRequest request;
  request.op = arguments.op == "broadcast" ? Operation::kBroadcast
               : arguments.op == "reduce"  ? Operation::kReduce
                                           : Operation::kBarrier;
  request.pattern = arguments.pattern;
  request.paper = arguments.cost_model == "paper";
  if (arguments.has_root) request.root = arguments.root;
  if (arguments.has_cpus) request.cpus = parse_cpu_list(arguments.cpus);  // before the machine: cheap errors first

  const MachineFile machine = read_machine_file(arguments.machine);
  if (!machine.note.empty()) warn(machine.note);
  if (request.cpus.empty() && arguments.machine == "this") request.cpus = allowed_cpus_of(machine);
  const Picture picture = make_plan(machine, request);
  if (arguments.json || arguments.format == "json")
    put(json_picture(picture));
  else if (arguments.format == "dot")
    put(dot_picture(picture));
  else
    put(text_picture(picture, terminal_takes_utf8()));
  return 0;
}

}  // namespace

void add_tree(CLI::App& app, Action& chosen) {
  CLI::App* verb = app.add_subcommand("tree", "Show the pattern for a machine: its price and its picture");
  auto arguments = std::make_shared<TreeArguments>();
  verb->add_option("--machine", arguments->machine,
                   "this; synthetic:DESCRIPTION in hwloc's notation; or a file: profile (JSON or packed), cost matrix "
                   "(JSON), hwloc XML")
      ->type_name("MACHINE")
      ->capture_default_str();
  verb->add_option("--op", arguments->op, "what the pattern is for")
      ->check(CLI::IsMember({"broadcast", "reduce", "barrier"}))
      ->capture_default_str();
  verb->add_option("--pattern", arguments->pattern, "which pattern; best: the cheapest; see --list")
      ->type_name("NAME")
      ->capture_default_str();
  CLI::Option* cpus = verb->add_option("--cpus", arguments->cpus,
                                       "kernel CPU numbers that take part, in this order: 0-3,8,10-11 (default: all)")
                          ->type_name("LIST");
  CLI::Option* root =
      verb->add_option("--root", arguments->root, "CPU that is the root (default: the pattern's choice)")
          ->type_name("CPU");
  verb->add_option("--cost-model", arguments->cost_model,
                   "overlap: independent messages overlap; paper: sends and receives add up (OSDI'16, section 3.1)")
      ->check(CLI::IsMember({"overlap", "paper"}))
      ->capture_default_str();
  CLI::Option* format = verb->add_option("--format", arguments->format, "how to print it")
                            ->check(CLI::IsMember({"text", "dot", "json"}))
                            ->capture_default_str();
  verb->add_flag("--json", arguments->json, "the same as --format json")->excludes(format);
  verb->add_flag("--list", arguments->list, "list the patterns");
  verb->footer(
      "Example, two sockets of four cores:\n  smelt tree --machine 'synthetic:pack:2 core:4 pu:1' --op broadcast "
      "--pattern adaptive\n  smelt tree --format dot | dot -Tsvg > tree.svg");
  verb->callback([=, &chosen] {
    arguments->has_cpus = cpus->count() > 0;
    arguments->has_root = root->count() > 0;
    chosen = [arguments] { return run_tree(*arguments); };
  });
}

}  // namespace smelt
