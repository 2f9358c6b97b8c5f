#include "cli/program.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <hwloc.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"
#include "cli/commit.h"
#include "cli/terminal.h"
#include "generate/registry.h"
#include "profile/text/error.h"
#include "smelt_config.h"

namespace smelt {

void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void put_page(const std::string& text) { put(wrapped(text, terminal_width())); }

void show(const Document& document, bool json, const std::function<std::string(const Document&)>& page) {
  if (json)
    put(document_text(document));
  else
    put_page(page(document));
}

void write_file(const std::string& path, std::string_view content) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (!file) throw UserError(fmt::format("{}: cannot be written ({})", path, std::strerror(errno ? errno : EIO)));
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

void warn(const std::string& text) { std::fputs(("smelt: " + one_line(text) + "\n").c_str(), stderr); }

namespace {

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App* verb_named(const CLI::App& app, const std::string& name) {
  for (const CLI::App* verb : verbs_of(app))
    if (verb->get_name() == name) return verb;
  return nullptr;
}

std::vector<std::string> names_of_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : verbs_of(app)) names.push_back(verb->get_name());
  return names;
}

// None: it takes other values, too.
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

// The words that a shell offers, of the parser's own table: contrib/completion asks `smelt --complete WORD...`.
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

// "--op" and "--op=..." alike.
const CLI::Option* option_named(const CLI::App& verb, const std::string& word) {
  return verb.get_option_no_throw(word.substr(0, word.find('=')));
}

void add_values(const Program& program, const CLI::Option& option, Candidates& out) {
  const std::string type = option.get_type_name();
  const std::vector<std::string> choices = choices_of(option);
  for (const std::string& choice : choices) out.add(choice, "");
  if (!choices.empty()) return;
  if (type == "MACHINE") {
    out.add("this", "the machine that this runs on");
    for (const std::string& name : program.machines) out.add(name, "");
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

std::string completions(const Program& program, const CLI::App& app, const std::vector<std::string>& words) {
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
    add_values(program, *wanting, out);
  } else if (begun.starts_with('-')) {
    const size_t equals = begun.find('=');
    if (equals == std::string::npos) {
      add_options(*verb, out);
    } else if (const CLI::Option* option = option_named(*verb, begun)) {
      out.behind(begun.substr(0, equals + 1));
      add_values(program, *option, out);
    }
  } else if (verb->get_prefix_command()) {
    return fmt::format(":program {}\n", last);
  } else {
    for (const CLI::App* below : verbs_of(*verb)) out.add(below->get_name(), below->get_description());
    const auto places = verb->get_options([](const CLI::Option* option) { return option->get_positional(); });
    if (positionals < places.size()) add_values(program, *places[positionals], out);
  }
  return out.text();
}

#ifdef __clang__
constexpr const char* kCompiler = "";  // it says its name itself
#else
constexpr const char* kCompiler = "GCC ";
#endif

std::string hwloc_series() {
  const unsigned version = hwloc_get_api_version();
  return fmt::format("{}.{}", version >> 16, version >> 8 & 0xff);
}

// The verb that was meant, or "" when nothing is near.
std::string nearest_verb(const CLI::App& app, const std::string& word) {
  std::string nearest;
  uint32_t best = most_typing_errors(word.c_str()) + 1;
  for (const CLI::App* verb : verbs_of(app)) {
    const uint32_t distance = edit_distance(word.c_str(), verb->get_name().c_str());
    if (distance < best) best = distance, nearest = verb->get_name();
  }
  return nearest;
}

// An unknown first word deserves better than the parser's "not expected".
void check_verb(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words[0].starts_with('-') || verb_named(app, words[0])) return;
  const std::string meant = nearest_verb(app, words[0]);
  throw UserError(fmt::format("'{}' is not a command{}; see 'smelt --help'", words[0],
                              meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant)));
}

// One line of a help: what it is about, and from column 30 on what that does.
std::string help_line(const std::string& name, const std::string& description) {
  std::string line = fmt::format("  {:<28}", name);
  if (name.size() >= 28) line += fmt::format("\n{:30}", "");
  return line + description + "\n";
}

// A help reads the same whatever CLI11 the system has. From 2.5 on CLI11's own page is filled to 80 columns, examples
// and all, and lacks the word "Usage". put_page() fits this one to the terminal.
class Help : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return app->get_description() + "\n" + make_usage(app, std::move(name)) + make_positionals(app) +
           make_groups(app, mode) + make_subcommands(app, mode) + "\n" + app->get_footer() + "\n";
  }

  // One usage for each verb: of those that run a program, with the program.
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    usage.erase(usage.find_last_not_of('\n') + 1).erase(0, usage.find_first_not_of('\n'));
    if (usage.rfind("Usage: ", 0) != 0) usage.insert(0, "Usage: ");
    return usage + (app->get_prefix_command() ? " -- PROGRAM [ARGUMENTS...]\n" : "\n");
  }

  std::string make_subcommand(const CLI::App* verb) const override {
    return help_line(verb->get_name(), verb->get_description());
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    // The parser's own names of types, and what it does not take together, say little to people.
    std::string takes = make_option_opts(option);
    takes = takes.substr(0, takes.find(" Excludes:"));
    for (const char* const type : {" TEXT:", " UINT:", " FLOAT:", " INT:"})
      if (takes.starts_with(type)) takes.replace(0, std::strlen(type), " ");
    return help_line(make_option_name(option, is_positional) + takes, make_option_desc(option));
  }
};

// The facts that a report of a fault should have.
std::string version_text() {
  const std::string mpi = SMELT_OPEN_MPI_SERIES;
  const std::string commit = commit_built();
  return fmt::format("smelt {}{}\nbuilt by {}{} with hwloc {}, {}", SMELT_VERSION,
                     commit == "none" ? "" : fmt::format(" (commit {})", commit), kCompiler, __VERSION__,
                     hwloc_series(), mpi.empty() ? "without Open MPI" : "for Open MPI " + mpi);
}

// "export, import or diff"
std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) out += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return out;
}

// If a verb lacks one of a few words, it deserves better than the parser's "is required".
std::string missing_text(const CLI::App& verb, const std::string& otherwise) {
  std::vector<std::string> words = names_of_verbs(verb);
  if (words.empty())
    for (const CLI::Option* option : verb.get_options())
      if (option->get_required() && option->count() == 0 && words.empty()) words = choices_of(*option);
  return words.empty() ? otherwise : fmt::format("{}: {}?", verb.get_name(), listed(words));
}

// Returns the exit code of what the arguments ask for.
int dispatch(const Program& program, std::vector<std::string> words) {
  if (program.leave_elsewhere) program.leave_elsewhere(words);
  CLI::App app{"Smelt: machine-aware barriers, broadcasts and reductions between the cores of one machine", "smelt"};
  app.formatter(std::make_shared<Help>());
  app.set_version_flag("-V,--version", version_text());
  app.require_subcommand(1);
  app.footer(program.footer);
  Action chosen;
  std::vector<std::string> tail;
  program.add_verbs(app, chosen, tail);

  if (!words.empty() && words[0] == "--complete") {  // for shells alone: not in the help
    put(completions(program, app, {words.begin() + 1, words.end()}));
    return 0;
  }
  if (!words.empty() && words[0] == "help") {  // smelt help tree = smelt tree --help
    words.erase(words.begin());
    words.resize(std::min<size_t>(words.size(), 1));
    words.push_back("--help");
  }
  if (words.empty()) throw UserError(fmt::format("which command? {}; see 'smelt --help'", listed(names_of_verbs(app))));
  check_verb(app, words);
  const std::string first = words[0];
  if (first == "run" || first == "try") {  // behind "--" all belongs to the program, and is not for the parser
    const auto dashes = std::find(words.begin(), words.end(), "--");
    tail.assign(dashes, words.end());
    words.erase(dashes, words.end());
  }
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes them last first
    app.parse(words);
  } catch (const CLI::Success& help_or_version) {
    std::ostringstream text;
    const int code = app.exit(help_or_version, text, text);
    put_page(text.str());
    return code;
  } catch (const CLI::ParseError& error) {
    std::string text = one_line(error.what()) + ";";
    std::string names;
    const CLI::App* verb = &app;
    while (!verb->get_subcommands().empty()) {
      verb = verb->get_subcommands()[0];
      names += verb->get_name() + " ";
    }
    if (dynamic_cast<const CLI::RequiredError*>(&error))
      text = verb != &app ? missing_text(*verb, text) : fmt::format("{}: no such option;", first);
    throw UserError(fmt::format("{} see 'smelt {}--help'", text, names));
  }
  return chosen();
}

}  // namespace

int run_program(const Program& program, int argc, char** argv) {
  int code = kExitUsage;
  try {
    code = dispatch(program, {argv + std::min(argc, 1), argv + argc});
  } catch (const UserError& error) {
    warn(error.what());
  } catch (const std::bad_alloc&) {
    warn("out of memory; name fewer CPUs with --cpus");
  } catch (const std::exception& error) {
    warn(fmt::format("internal error: {}; please report it", error.what()));
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    warn(fmt::format("cannot write the output: {}", std::strerror(errno)));
    return code ? code : kExitOutput;
  }
  return code;
}

}  // namespace smelt
