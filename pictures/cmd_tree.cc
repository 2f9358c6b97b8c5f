// smelt tree: which pattern would be used, what it costs, and how it looks.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/terminal.h"
#include "generate/registry.h"
#include "pictures/documents.h"
#include "pictures/picture_request.h"
#include "pictures/python.h"
#include "pictures/verbs.h"
#include "pictures/zoo_list.h"

namespace smelt {
namespace {

struct TreeArguments {
  PictureArguments picture;
  std::string format = "text";
  bool list = false, json = false;
};

Document patterns_document() {
  Document rows = Document::array();
  for (const PatternInfo& row : pattern_registry()) {
    Document entry = {{"name", row.name}, {"kind", row.tree ? "tree" : "exchange"}, {"help", row.help}};
    if (row.argument)
      entry["argument"] = {{"name", row.argument},
                           {"default", row.default_argument},
                           {"min", row.min_argument},
                           {"max", row.max_argument}};
    rows.push_back(std::move(entry));
  }
  return rows;
}

std::string patterns_text(const Document& document) {
  Document rows = {{{"pattern", "best"}, {"kind", ""}, {"help", "the cheapest of the following under the cost model"}}};
  for (Document row : document) {
    const auto name = row["name"].get<std::string>();
    row["pattern"] = name;
    if (row.contains("argument")) {
      const Document& argument = row["argument"];
      row["pattern"] = fmt::format("{}:{}", name, shown(argument, "name"));
      row["help"] = fmt::format("{} (default {}:{})", shown(row, "help"), name, shown(argument, "default"));
    }
    rows.push_back(std::move(row));
  }
  return "Trees serve broadcasts, reductions and barriers; exchanges serve barriers only.\n" +
         table_text({"pattern", columns("pattern; kind; =help"), std::move(rows)});
}

int run_tree(const TreeArguments& arguments) {
  if (arguments.list) {
    show(patterns_document(), arguments.json || arguments.format == "json", patterns_text);
    return 0;
  }
  if (arguments.picture.machine == kZooList) return put_zoo_list(arguments.json || arguments.format == "json");
  PictureRequest request;
  Interruption interrupt("interrupted");
  const MachineFile machine = read_request(arguments.picture, interrupt.asked(), &request);
  const Picture picture = make_picture(machine, request);
  const int code = interrupt.finish("this is the best found so far");
  if (arguments.json || arguments.format == "json") {
    put(document_text(picture_document(picture), -1));
  } else if (arguments.format == "dot") {
    const int drawn = draw_document("dot", "-", picture.is_tree ? picture_document(picture) : rounds_document(picture));
    return drawn != 0 ? drawn : code;
  } else {
    // A line of the picture that was broken would be no picture.
    const std::string text = text_picture(picture, terminal_takes_utf8());
    const size_t facts = std::min(text.find("\n\n"), text.size());
    put_page(text.substr(0, facts));
    put(text.substr(facts));
  }
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
  verb->callback([=, &chosen] { chosen = [=] { return run_tree(*arguments); }; });
}

}  // namespace smelt
