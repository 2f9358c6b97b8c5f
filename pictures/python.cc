#include "pictures/python.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>

#include "cli/command.h"
#include "cli/launch_environment.h"
#include "cli/terminal.h"
#include "pictures/picture_request.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

constexpr const char* kProgram = "draw.py";
constexpr int kNoPython = 127;

}  // namespace

int draw_document(const std::string& what, const std::string& output, const Document& document) {
  const std::string program = find_part("pictures", "smelt/pictures", kProgram);
  if (program.empty()) throw UserError(fmt::format("{}, which draws pictures, is not beside this program", kProgram));
  std::string command =
      fmt::format("command -v python3 >/dev/null 2>&1 || exit {}; exec python3 {} {} {}", kNoPython,
                  shell_word(program), what, shell_word(output == "-" || output[0] != '-' ? output : "./" + output));
  if (output == "-" && !terminal_takes_utf8()) command += " --ascii";
  if (output == "-" && takes_colours()) command += " --colour";
  // It may end before it has read everything.
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  std::fflush(stdout);
  std::FILE* const pipe = ::popen(command.c_str(), "we");
  if (!pipe) throw UserError("no process can be started; is there memory?");
  const std::string text = document_text(document, -1);
  std::fwrite(text.data(), 1, text.size(), pipe);
  const int status = ::pclose(pipe);
  ::signal(SIGPIPE, before);
  if (!WIFEXITED(status)) throw UserError(fmt::format("{} has failed", kProgram));
  if (WEXITSTATUS(status) == kNoPython)
    throw UserError(
        "pictures are drawn by Python, which is not here; install it (Debian: apt install python3-matplotlib "
        "python3-jinja2 graphviz), or use --json");
  return WEXITSTATUS(status);
}

}  // namespace smelt
