// smelt draw: pictures of a machine's costs and of the plans on it, as SVG, DOT or text.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <ctime>
#include <memory>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/terminal.h"
#include "pictures/documents.h"
#include "pictures/picture_request.h"
#include "pictures/python.h"
#include "pictures/verbs.h"
#include "pictures/zoo_list.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

struct DrawArguments {
  PictureArguments picture;
  std::string what, output, cost = "send-receive";
  bool json = false;
};

bool is_graph(const DrawArguments& arguments) { return arguments.what == "tree" || arguments.what == "schedule"; }

// Cheap errors first.
void check_name(const DrawArguments& arguments) {
  const std::string& file = arguments.output;
  if (file.empty() || file.ends_with(".svg") || file.ends_with(".txt") ||
      (file.ends_with(".dot") && is_graph(arguments)))
    return;
  if (!file.ends_with(".dot"))
    throw UserError(fmt::format("--output {}: the name must end in .svg, .dot or .txt", file));
  throw UserError(fmt::format("--output {}: a {} is no graph; DOT draws tree and schedule, so write .svg or .txt", file,
                              arguments.what));
}

std::vector<CostKind> kinds_of(const std::string& cost) {
  if (cost == "send") return {CostKind::kSend};
  if (cost == "receive") return {CostKind::kReceive};
  if (cost == "hop") return {CostKind::kHop};
  return {CostKind::kSend, CostKind::kReceive};
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  char text[32];
  return ::localtime_r(&now, &local) && std::strftime(text, sizeof text, "%Y-%m-%d", &local) ? text : "";
}

Document drawn_document(const DrawArguments& arguments, const Picture& picture) {
  if (arguments.what == "matrix") return matrix_document(picture, kinds_of(arguments.cost));
  if (arguments.what == "tree") return picture_document(picture);
  return arguments.what == "schedule" ? rounds_document(picture) : timeline_document(picture);
}

// A terminal gets costs and trees by this program, without Python.
std::string own_text(const DrawArguments& arguments, const Picture& picture, const TextStyle& style) {
  if (arguments.what == "matrix") return text_heat_map(picture, kinds_of(arguments.cost), style);
  return arguments.what == "tree" ? text_picture(picture, style.utf8) : "";
}

// What is drawn, and what the lines above or below it say.
int draw(const DrawArguments& arguments, const Picture& picture) {
  if (arguments.json) {
    put(document_text(drawn_document(arguments, picture), -1));
    return 0;
  }
  // A file is read anywhere, a terminal knows its own letters.
  const bool terminal = arguments.output.empty();
  if (terminal || arguments.output.ends_with(".txt")) {
    const std::string text =
        own_text(arguments, picture, terminal ? TextStyle{terminal_takes_utf8(), takes_colours()} : TextStyle{});
    if (!text.empty()) {
      terminal ? put(text) : write_file(arguments.output, text);
      return 0;
    }
  }
  Document document = drawn_document(arguments, picture);
  document["header"] = text_header(picture);
  document["date"] = picture.date;
  return draw_document(arguments.what, terminal ? "-" : arguments.output, document);
}

int run_draw(const DrawArguments& arguments) {
  check_name(arguments);
  if (arguments.picture.machine == kZooList) return put_zoo_list(arguments.json);
  PictureRequest request;
  Interruption interrupt("interrupted");
  const MachineFile machine = read_request(arguments.picture, interrupt.asked(), &request);
  // A tree is what a broadcast is known by, and the cheapest barrier may be none.
  if (arguments.what == "tree" && arguments.picture.op_option->count() == 0) request.op = Operation::kBroadcast;
  Picture picture = arguments.what == "matrix" ? picture_costs(machine, request) : make_picture(machine, request);
  if (arguments.what == "tree" && !picture.is_tree)
    throw UserError(
        fmt::format("pattern {}: it is no tree; name one with --pattern, or draw its schedule", picture.pattern));
  const int code = interrupt.finish("this is the best found so far");
  picture.date = today();
  const int drawn = draw(arguments, picture);
  return drawn != 0 ? drawn : code;
}

}  // namespace

void add_draw(CLI::App& app, Action& chosen) {
  CLI::App* verb = app.add_subcommand("draw", "Draw the costs of a machine, a tree, a schedule or its timeline");
  auto arguments = std::make_shared<DrawArguments>();
  verb->add_option(
          "picture", arguments->what,
          "matrix: what a message between two CPUs costs; tree: who sends to whom, by level; schedule: who waits "
          "for whom, by round; timeline: what everybody does when")
      ->required()
      ->check(CLI::IsMember({"matrix", "tree", "schedule", "timeline"}));
  CLI::Option* output = verb->add_option("-o,--output", arguments->output,
                                         "write FILE.svg, FILE.dot (tree and schedule) or FILE.txt instead of stdout")
                            ->type_name("FILE");
  verb->add_flag("--json", arguments->json, "print what would be drawn, for programs")->excludes(output);
  add_picture_options(*verb, arguments->picture);
  verb->add_option("--cost", arguments->cost, "which cost a matrix shows")
      ->check(CLI::IsMember({"send-receive", "send", "receive", "hop"}))
      ->capture_default_str();
  verb->footer(
      "A tree is that of a broadcast unless --op says otherwise.\nExamples:\n  smelt draw matrix -o costs.svg\n"
      "  smelt draw timeline --machine 'synthetic:pack:2 core:4 pu:1' --op barrier --pattern hybrid");
  verb->callback([arguments, &chosen] { chosen = [arguments] { return run_draw(*arguments); }; });
}

}  // namespace smelt
