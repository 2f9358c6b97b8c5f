// The measurements of smelt report --measure: the patterns, by smelt-lab; OpenMP and MPI with and without Smelt, by
// epcc/compare and bench/mpi/mpi_compare, which lie in a build tree and are not installed.
#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "cli/houses.h"
#include "cli/launch_environment.h"
#include "cli/progress_line.h"
#include "cli/report_document.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

// What a command prints; *status is as waitpid has it.
std::string output_of(const std::string& command, const std::string& name, int* status) {
  const StillWorking working("running " + name);
  std::FILE* const pipe = ::popen(command.c_str(), "re");
  if (!pipe) throw UserError("no process can be started; is there memory?");
  std::string text;
  std::array<char, 4096> part;
  for (size_t got = 0; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), got);
  *status = ::pclose(pipe);
  return text;
}

// The patterns of an operation, timed; or the note that they could not be.
Document live_document(const ReportSubject& subject, const std::string& lab, Operation op) {
  int status = 0;
  const std::string command = fmt::format("{} compare --live --json --op {} --cpus {}", shell_word(lab),
                                          operation_name(op), cpu_ranges(subject.cpus));
  Document live = Document::parse(output_of(command, "smelt compare --live", &status), nullptr, false);
  if (status != 0 || live.is_discarded()) return {{"note", fmt::format("'{}' has failed.", command)}};
  return live;
}

// The program's output, or why there is nothing.
Document program_document(const fs::path& program) {
  const std::string name = program.filename().string();
  std::error_code error;
  if (!fs::exists(program, error))
    return {{"note", name + " is in a build tree with -Dbench=true alone, and this program is not of one."}};
  int status = 0;
  Document out = {{"text", output_of(shell_word(program.string()) + " --quick 2>&1", name, &status)}};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) out["note"] = name + " has failed.";
  return out;
}

}  // namespace

Document measure_for_report(const ReportSubject& subject) {
  Document out = Document::object();
  const std::string lab = find_house("smelt-lab");
  if (subject.machine.kind != "measured")
    out["note"] =
        "The patterns are not timed: nothing is predicted for a machine that was never measured. Run "
        "'smelt calibrate' first.";
  else if (lab.empty())
    out["note"] = "The patterns are not timed: smelt-lab, which does this, is not beside this program.";
  else if (subject.cpus.size() > 1)
    for (const Operation op : {Operation::kBarrier, Operation::kBroadcast, Operation::kReduce})
      out[operation_name(op)] = live_document(subject, lab, op);
  std::error_code error;
  const fs::path build = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  out["openmp"] = program_document(build / "epcc/compare");
  out["mpi"] = program_document(build / "bench/mpi/mpi_compare");
  return out;
}

}  // namespace smelt
