// smelt tree: which pattern would be used, what it costs, and how it looks.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/picture_options.h"
#include "cli/zoo_list.h"
#include "generate/registry.h"

namespace smelt {
namespace {

struct TreeArguments {
  PictureArguments picture;
  std::string format = "text";
  bool list = false, json = false;
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

int run_tree(const TreeArguments& arguments) {
  if (arguments.list) {
    list_patterns(arguments.json || arguments.format == "json");
    return 0;
  }
  if (arguments.picture.machine == kZooList) return put_zoo_list(arguments.json || arguments.format == "json");
  PictureRequest request;
  Interruption interrupt("interrupted");
  const MachineFile machine = read_request(arguments.picture, interrupt.asked(), &request);
  const Picture picture = make_picture(machine, request);
  const int code = interrupt.finish("this is the best found so far");
  if (arguments.json || arguments.format == "json")
    put(json_picture(picture));
  else if (arguments.format == "dot")
    put(dot_picture(picture));
  else
    put(text_picture(picture, terminal_takes_utf8()));
  return code;
}

}  // namespace

void add_tree(CLI::App& app, Action& chosen) {
  CLI::App* verb = app.add_subcommand("tree", "Show the pattern for a machine: its price and its picture");
  auto arguments = std::make_shared<TreeArguments>();
  add_picture_options(*verb, arguments->picture);
  CLI::Option* format = verb->add_option("--format", arguments->format, "how to print it")
                            ->check(CLI::IsMember({"text", "dot", "json"}))
                            ->capture_default_str();
  verb->add_flag("--json", arguments->json, "the same as --format json")->excludes(format);
  verb->add_flag("--list", arguments->list, "list the patterns");
  verb->footer(
      "Example, two sockets of four cores:\n  smelt tree --machine 'synthetic:pack:2 core:4 pu:1' --op broadcast "
      "--pattern adaptive\n  smelt tree --format dot | dot -Tsvg > tree.svg");
  verb->callback([arguments, &chosen] { chosen = [arguments] { return run_tree(*arguments); }; });
}

}  // namespace smelt
