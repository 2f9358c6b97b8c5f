// The measurements of smelt report --measure: the patterns, by smelt-lab; OpenMP and MPI with and without Smelt, by
// epcc/compare and bench/mpi/mpi_compare, which lie in a build tree and are not installed.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "cli/houses.h"
#include "cli/launch_environment.h"
#include "cli/progress_line.h"
#include "pictures/report_document.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

// The program's output, or why there is nothing.
Document program_document(const fs::path& program) {
  const std::string name = program.filename().string();
  std::error_code error;
  if (!fs::exists(program, error))
    return {{"note", name + " is in a build tree with -Dbench=true alone, and this program is not of one."}};
  const StillWorking working("running " + name);
  std::FILE* const pipe = ::popen((shell_word(program.string()) + " --quick 2>&1").c_str(), "re");
  if (!pipe) throw UserError("no process can be started; is there memory?");
  std::string text;
  std::array<char, 4096> part;
  for (size_t got = 0; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), got);
  Document out = {{"text", text}};
  if (::pclose(pipe) != 0) out["note"] = name + " has failed.";
  return out;
}

// The patterns of an operation, timed; or the note that they could not be.
Document live_document(const ReportSubject& subject, const std::string& op) {
  const StillWorking working(fmt::format("timing the patterns of a {}", op));
  try {
    return Document::parse(ask_house({"compare", "--live", "--json", "--op", op, "--cpus", cpu_ranges(subject.cpus)}));
  } catch (const UserError& error) {
    return {{"note", fmt::format("The patterns of a {} were not timed: {}.", op, error.what())}};
  }
}

}  // namespace

Document measure_for_report(const ReportSubject& subject) {
  Document out = Document::object();
  if (subject.machine.kind != "measured")
    out["note"] =
        "The patterns are not timed: nothing is predicted for a machine that was never measured. Run "
        "'smelt calibrate' first.";
  else if (find_house("smelt-lab").empty())
    out["note"] = "The patterns are not timed: smelt-lab, which does this, is not beside this program.";
  else if (subject.cpus.size() > 1)
    for (const char* const op : {"barrier", "broadcast", "reduce"}) out[op] = live_document(subject, op);
  std::error_code error;
  const fs::path build = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  out["openmp"] = program_document(build / "epcc/compare");
  out["mpi"] = program_document(build / "bench/mpi/mpi_compare");
  return out;
}

}  // namespace smelt
