// The verbs of the smelt program. Each cmd_<verb>.cc adds its subcommand; parsing fills `chosen` with what to do, main
// does it and returns its exit code.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/table.h"

// Its header is 5 seconds of compiling: for those alone that add options.
namespace CLI {
class App;
}

namespace smelt {

using Action = std::function<int()>;

void add_calibrate(CLI::App& app, Action& chosen);
void add_profile(CLI::App& app, Action& chosen);
// `tail` is what the command line held from its first "--" on; it must outlive `chosen`.
void add_run(CLI::App& app, Action& chosen, const std::vector<std::string>& tail);
void add_try(CLI::App& app, Action& chosen, const std::vector<std::string>& tail);  // as add_run
void add_env(CLI::App& app, Action& chosen);
void add_config(CLI::App& app, Action& chosen);
void add_doctor(CLI::App& app, Action& chosen);

// Exit codes besides 0 and those of `smelt run`.
inline constexpr int kExitOutput = 1;       // stdout could not be written
inline constexpr int kExitWarning = 1;      // something is not as it should be (doctor, network check, profile verify)
inline constexpr int kExitUsage = 2;        // the user's input; one line on stderr says what to do
inline constexpr int kExitNoExecute = 126;  // the shell's conventions, kept by smelt run
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitInterrupted = 130;

void put(const std::string& text);       // to stdout; main reports a failure once, at the end
void put_page(const std::string& text);  // to be read: as wide as the terminal
// Prints a verb's findings: for programs as they are, for people as the page that is made of them.
void show(const Document& document, bool json, const std::function<std::string(const Document&)>& page);
// Writes the file that -o names. Throws UserError.
void write_file(const std::string& path, std::string_view content);
void warn(const std::string& text);  // "smelt: ...", one line on stderr
std::string one_line(std::string text);

}  // namespace smelt
