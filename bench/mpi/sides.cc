#include "bench/mpi/sides.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "epcc/program.h"
#include "smelt_config.h"

namespace smelt::bench {
namespace {

using epcc::BadInput;
using epcc::Environment;

// A choice of collectives in the user's shell would make one side another. Smelt's own parameters may stay.
bool would_mislead(std::string_view entry) {
  if (entry.starts_with("OMPI_MCA_coll_smelt_priority=")) return true;
  if (entry.starts_with("OMPI_MCA_coll_smelt_")) return false;
  for (const char* prefix : {"OMPI_MCA_coll", "OMPI_MCA_mca_base_component_path=", "OMPI_MCA_mpi_yield_when_idle="})
    if (entry.starts_with(prefix)) return true;
  return false;
}

using Words = std::vector<std::string>;

void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

// Open MPI counts cores as slots unless told otherwise.
Words open_mpi_placement(const Request& request) {
  Words words{"-n", std::to_string(request.ranks)};
  if (request.oversubscribed())
    append(words, {"--oversubscribe", "--bind-to", "none"});
  else if (request.ranks > request.cores)
    append(words, {"--use-hwthread-cpus", "--bind-to", "hwthread"});
  else
    append(words, {"--bind-to", "core"});
  if (!request.bind && !request.oversubscribed()) words.back() = "none";
  // Open MPI finds out by itself only when it counts its own ranks; asked for by name, it is the same for all sides.
  if (request.oversubscribed()) append(words, {"--mca", "mpi_yield_when_idle", "1"});
  return words;
}

Side open_mpi_side(const Request& request, const Installation& library, const std::string& name, const Words& choice) {
  Side side;
  side.name = side.column = name;
  side.command = {library.mpirun};
  append(side.command, open_mpi_placement(request));
  append(side.command, choice);
  side.command.push_back(library.sweep);
  return side;
}

// Another component than the chosen one, at a priority above all others.
Side make_peer(const Request& request, const std::string& name) {
  Words choice{"--mca", "coll", "^smelt"};
  if (name != "tuned") append(choice, {"--mca", "coll_" + name + "_priority", "95"});
  // Without XPMEM it crashes in reductions that do not fit into its own buffers (6.0.0rc2).
  const std::string largest = std::to_string(std::max(1L << 20, *std::ranges::max_element(request.sizes)));
  if (name == "xhc")
    append(choice, {"--mca", "coll_xhc_reduce_cico_max", largest, "--mca", "coll_xhc_allreduce_cico_max", largest});
  if (name == "acoll") append(choice, {"--mca", "coll_acoll_comm_size_thresh", "2"});  // 16 as it comes
  Side side = open_mpi_side(request, request.peers, name, choice);
  if (name != "tuned") side.component = name;
  return side;
}

Side make_smelt(const Request& request) {
  Side side = open_mpi_side(request, request.open_mpi, "smelt", {"--mca", "coll_smelt_priority", "90"});
  side.column = "Smelt";
  side.component = "smelt";
  side.settings = {fmt::format("OMPI_MCA_mca_base_component_path={}:SYSTEM_DEFAULT", request.smelt_dir)};
  // As smelt run does (core/cli/launch_environment.cc): otherwise PMIx warns of that folder, on every rank's output.
  if (SMELT_OPEN_MPI_MAJOR >= 5) side.settings.emplace_back("PMIX_MCA_mca_base_component_path=:");
  return side;
}

Side make_mpich(const Request& request, const std::string& name) {
  Side side;
  side.name = side.column = name;
  side.open_mpi = false;
  if (name == "mpich-rg")
    for (const char* collective : {"BARRIER", "BCAST", "REDUCE", "ALLREDUCE"})
      side.settings.push_back(fmt::format("MPIR_CVAR_{}_POSIX_INTRA_ALGORITHM=release_gather", collective));
  side.command = {request.mpich.mpirun, "-n", std::to_string(request.ranks)};
  if (request.bind && !request.oversubscribed())
    append(side.command, {"-bind-to", request.ranks > request.cores ? "hwthread" : "core"});
  side.command.push_back(request.mpich.sweep);
  return side;
}

bool is_mpich(const std::string& name) { return name.starts_with("mpich"); }

// Why the side cannot run; empty: it can.
std::string missing(const Request& request, const std::string& name) {
  const auto no = [](const std::string& path, int mode) { return access(path.c_str(), mode) != 0; };
  if (is_mpich(name)) {
    if (no(request.mpich.sweep, X_OK))
      return "no MPICH compiler (mpicc.mpich) when this was built; --mpich PREFIX names an installation";
    return request.mpich.mpirun.empty() ? "no mpirun.mpich; --mpich PREFIX names an installation" : "";
  }
  const Installation& library = name == "smelt" ? request.open_mpi : request.peers;
  if (library.mpirun.empty()) return "no mpirun of Open MPI; --mpirun PATH names one";
  if (no(library.sweep, X_OK)) return "no mpi_sweep beside this program";
  if (name == "smelt" && no(request.smelt_dir + "/mca_coll_smelt.so", R_OK))
    return fmt::format("no {}/mca_coll_smelt.so; build ompi_coll_smelt or give --smelt-dir", request.smelt_dir);
  return "";
}

Side make_side(const Request& request, const std::string& name) {
  if (is_mpich(name)) return make_mpich(request, name);
  return name == "smelt" ? make_smelt(request) : make_peer(request, name);
}

// Which sides take part where nobody says it: not han, which would leave this machine alone, and of the others each
// library as it comes with its best component for a node.
bool by_default(const std::string& name) {
  const char* node_component = SMELT_OPEN_MPI_MAJOR >= 6 ? "xhc" : "sm";
  return name == "tuned" || name == node_component || name == "mpich" || name == "smelt";
}

}  // namespace

Installation installation_at(const std::string& prefix, bool mpich, const std::string& folder) {
  const auto find = [&prefix](const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (const std::string path = prefix + "/bin/" + name; access(path.c_str(), X_OK) == 0) return path;
    throw BadInput{fmt::format("{}: there is no bin/{}", prefix, names.back())};
  };
  const std::string own = mpich ? ".mpich" : ".openmpi";
  Installation found{find({"mpirun" + own, "mpirun"}), folder + (mpich ? "/mpi_sweep_mpich" : "/mpi_sweep")};
  std::vector<std::string> words{find({"mpicc" + own, "mpicc"}), "-std=gnu11", "-O3", "-o", found.sweep};
  for (const char* source : {"sweep.c", "kernels.c", "measure.c", "node.c"})
    words.push_back(fmt::format("{}/{}", SMELT_SWEEP_SOURCES, source));
  const epcc::Finished compiled = epcc::run_child(words, Environment::of_this_process(), 120);
  if (!compiled.ok) throw epcc::FailedRun{fmt::format("{} failed: {}", words[0], compiled.failure)};
  return found;
}

std::string Side::shown() const {
  Words words = settings;
  append(words, command);
  return fmt::format("{}", fmt::join(words, " "));
}

Environment common_environment() {
  Environment environment = Environment::of_this_process();
  const Words entries = environment.entries();
  for (const std::string& entry : entries)
    if (would_mislead(entry)) environment.unset(entry.substr(0, entry.find('=')));
  if (geteuid() == 0) {  // Open MPI's mpirun does not run as root unless it is told twice
    environment.set("OMPI_ALLOW_RUN_AS_ROOT", "1");
    environment.set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  }
  // From 6.0 on, btl/ofi sleeps for a second when it finds no fabric: a minute of a table whose ranks share a node.
  const bool chosen =
      std::ranges::any_of(entries, [](const std::string& entry) { return entry.starts_with("OMPI_MCA_btl="); });
  if (SMELT_OPEN_MPI_MAJOR >= 6 && !chosen) environment.set("OMPI_MCA_btl", "^ofi");
  return environment;
}

Words shown_settings(const Environment& environment) {
  Words result;
  for (const std::string& entry : environment.entries())
    for (const char* prefix : {"OMPI_MCA_", "MPIR_CVAR_", "SMELT_"})
      if (entry.starts_with(prefix)) result.push_back(entry);
  std::ranges::sort(result);
  return result;
}

std::vector<Side> make_sides(const Request& request, Words& warnings) {
  std::vector<Side> sides;
  for (const std::string name : kSideNames) {
    const bool named = std::ranges::count(request.sides, name) > 0;
    const bool all = std::ranges::count(request.sides, "all") > 0;
    if (request.sides.empty() ? !by_default(name) : !named && !all) continue;
    const std::string why = missing(request, name);
    if (!why.empty() && named) throw BadInput{fmt::format("--sides {}: {}", name, why)};
    if (!why.empty()) {
      warnings.push_back(fmt::format("{} is left out: {}", name, why));
      continue;
    }
    sides.push_back(make_side(request, name));
    Side& side = sides.back();
    side.environment = common_environment();
    for (const std::string& entry : side.settings) {
      const size_t equals = entry.find('=');
      side.environment.set(entry.substr(0, equals), entry.substr(equals + 1));
    }
  }
  if (sides.empty()) throw BadInput{"no side is left to measure"};
  return sides;
}

}  // namespace smelt::bench
