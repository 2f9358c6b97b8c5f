// The parser's own table of verbs and options is the one source, so that no shell can be out of date.
#include "cli/completion.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <string_view>

#include "generate/registry.h"
#include "zoo/zoo.h"

namespace smelt {
namespace {

class Candidates {
 public:
  explicit Candidates(std::string begun) : begun_(std::move(begun)) {}

  void add(std::string_view word, std::string_view words) {
    if (word.starts_with(begun_)) out_ += fmt::format("{}{}\t{}\n", before_, word, first_line(words));
  }
  void add_files() {
    if (!begun_.starts_with("zoo:")) out_ += ":files\n";
  }
  // The text in front of each: "--op=".
  void behind(const std::string& before) {
    before_ = before;
    begun_.erase(0, before.size());
  }
  const std::string& text() const { return out_; }

 private:
  static std::string_view first_line(std::string_view words) { return words.substr(0, words.find('\n')); }

  std::string begun_, before_, out_;
};

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App* verb_named(const CLI::App& app, const std::string& name) {
  for (const CLI::App* verb : verbs_of(app))
    if (verb->get_name() == name) return verb;
  return nullptr;
}

// "--op" and "--op=..." alike.
const CLI::Option* option_named(const CLI::App& verb, const std::string& word) {
  return verb.get_option_no_throw(word.substr(0, word.find('=')));
}

void add_values(const CLI::Option& option, Candidates& out) {
  const std::string type = option.get_type_name();
  const std::vector<std::string> choices = choices_of(option);
  for (const std::string& choice : choices) out.add(choice, "");
  if (!choices.empty()) return;
  if (type == "MACHINE") {
    out.add("this", "the machine that this runs on");
    for (const ZooEntry& entry : zoo()) out.add(std::string("zoo:") + entry.name, "");
    out.add_files();
  } else if (option.check_lname("pattern")) {
    out.add("best", "the cheapest of the following under the cost model");
    for (const PatternInfo& row : pattern_registry()) out.add(row.name, row.help);
  } else if (type.starts_with("FILE") || type == "FOLDER" || type == "PATH") {
    out.add_files();
  }
}

void add_options(const CLI::App& verb, Candidates& out) {
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) out.add("--" + name, option->get_description());
    for (const std::string& name : option->get_snames()) out.add("-" + name, option->get_description());
  }
}

}  // namespace

std::vector<std::string> names_of_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : verbs_of(app)) names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();  // "TEXT:{broadcast,reduce,barrier}"
  const size_t open = type.find('{'), close = type.rfind('}');
  std::vector<std::string> choices;
  for (size_t at = open + 1; open != std::string::npos && close != std::string::npos && at <= close;) {
    const size_t end = type.find_first_of(",}", at);
    choices.push_back(type.substr(at, end - at));
    at = end + 1;
  }
  return choices;
}

std::string completions(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return "";
  const CLI::App* verb = &app;
  const CLI::Option* wanting = nullptr;  // an option whose value comes next
  size_t positionals = 0;
  const size_t last = words.size() - 1;
  for (size_t i = words[0] == "help" ? 1 : 0; i < last; ++i) {
    const std::string& word = words[i];
    if (wanting) {
      wanting = nullptr;
    } else if (verb->get_prefix_command() && word == "--") {
      return fmt::format(":program {}\n", i + 1);
    } else if (word.starts_with('-')) {
      const CLI::Option* option = option_named(*verb, word);
      if (option && option->get_items_expected_max() > 0 && word.find('=') == std::string::npos) wanting = option;
    } else if (const CLI::App* below = verb_named(*verb, word)) {
      verb = below, positionals = 0;
    } else if (verb->get_prefix_command()) {
      return fmt::format(":program {}\n", i);
    } else {
      ++positionals;
    }
  }
  const std::string& begun = words[last];
  Candidates out(begun);
  if (wanting) {
    add_values(*wanting, out);
  } else if (begun.starts_with('-')) {
    const size_t equals = begun.find('=');
    if (equals == std::string::npos) {
      add_options(*verb, out);
    } else if (const CLI::Option* option = option_named(*verb, begun)) {
      out.behind(begun.substr(0, equals + 1));
      add_values(*option, out);
    }
  } else if (verb->get_prefix_command()) {
    return fmt::format(":program {}\n", last);
  } else {
    for (const CLI::App* below : verbs_of(*verb)) out.add(below->get_name(), below->get_description());
    const auto places = verb->get_options([](const CLI::Option* option) { return option->get_positional(); });
    if (positionals < places.size()) add_values(*places[positionals], out);
  }
  return out.text();
}

}  // namespace smelt
