// The measurements of smelt report --measure: the patterns, by smelt-lab; OpenMP and MPI with and without Smelt, by
// epcc/compare and bench/mpi/mpi_compare, which lie in a build tree and are not installed.
#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "cli/houses.h"
#include "cli/progress_line.h"
#include "cli/report_sections.h"
#include "cli/run_environment.h"
#include "draw/svg.h"
#include "profile/text/error.h"
#include "report/html.h"

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

std::string live_part(ReportSubject& subject, const std::string& lab, Operation op) {
  int status = 0;
  const std::string command = fmt::format("{} compare --live --json --op {} --cpus {}", shell_word(lab),
                                          operation_name(op), cpu_ranges(subject.cpus));
  const Document live = Document::parse(output_of(command, "smelt compare --live", &status), nullptr, false);
  if (status != 0 || live.is_discarded()) return html::note(fmt::format("'{}' has failed.", command));
  subject.document["measured"][operation_name(op)] = live;
  Table table = {
      "pattern",
      columns("pattern; predicted, hops=predicted_hops|2; tight, hops=measured_hops|2; spread|%; error=times|+%"),
      live["patterns"]};
  table.title =
      fmt::format("{} on CPUs {}, in hops: {} ns in the profile, {} ns now", operation_name(op),
                  cpu_ranges(subject.cpus), shown(live, "hop", As::kTenths), shown(live, "hop_now", As::kTenths));
  return table_html(table) +
         html::note(
             told(live, "Rank correlation (Spearman) {spearman|2}, mean error {mean_error|%}, worst {worst_error|%}."));
}

// The program's output, or why there is nothing.
std::string program_table(const fs::path& program, const char* what, const char* label) {
  std::error_code error;
  if (!fs::exists(program, error))
    return html::note(fmt::format("{}: {} is in a build tree with -Dbench=true alone, and this program is not of one.",
                                  what, program.filename().string()));
  int status = 0;
  const std::string text =
      output_of(shell_word(program.string()) + " --quick 2>&1", program.filename().string(), &status);
  std::string out = html::element("h3", what) + html::preformatted(text, label);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    out += html::note(fmt::format("{} has failed.", program.filename().string()));
  return out;
}

}  // namespace

std::string measured_section(ReportSubject& subject) {
  std::string out = html::paragraph("Timed while this report was made.");
  const std::string lab = find_house("smelt-lab");
  if (subject.machine.kind != "measured")
    out += html::note(
        std::string("The patterns are not timed: nothing is predicted for a machine that was never measured.") +
        (subject.machine.note.empty() ? " Run 'smelt calibrate' first." : ""));
  else if (lab.empty())
    out += html::note("The patterns are not timed: smelt-lab, which does this, is not beside this program.");
  else if (subject.cpus.size() > 1)
    for (const Operation op : {Operation::kBarrier, Operation::kBroadcast, Operation::kReduce})
      out += live_part(subject, lab, op);
  std::error_code error;
  const fs::path build = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  out += program_table(build / "epcc/compare", "OpenMP: stock against Smelt, EPCC's method", "OpenMP");
  out += program_table(build / "bench/mpi/mpi_compare", "MPI: stock against Smelt", "MPI");
  return out;
}

}  // namespace smelt
