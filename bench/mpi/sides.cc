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

Side open_mpi_side(const Request& request, const std::string& name, const Words& choice) {
  Side side;
  side.name = side.column = name;
  side.command = {request.mpirun};
  append(side.command, open_mpi_placement(request));
  append(side.command, choice);
  side.command.push_back(request.own_dir + "/mpi_sweep");
  return side;
}

Side make_tuned(const Request& request) { return open_mpi_side(request, "tuned", {"--mca", "coll", "^smelt"}); }

Side make_sm(const Request& request) {
  Side side = open_mpi_side(request, "sm", {"--mca", "coll", "^smelt", "--mca", "coll_sm_priority", "95"});
  side.component = "sm";
  return side;
}

Side make_smelt(const Request& request) {
  Side side = open_mpi_side(request, "smelt", {"--mca", "coll_smelt_priority", "90"});
  side.column = "Smelt";
  side.component = "smelt";
  side.settings = {fmt::format("OMPI_MCA_mca_base_component_path={}:SYSTEM_DEFAULT", request.smelt_dir)};
  // As smelt run does (core/cli/run_environment.cc): otherwise PMIx warns of that folder, on every rank's output.
  if (SMELT_OPEN_MPI_MAJOR >= 5) side.settings.emplace_back("PMIX_MCA_mca_base_component_path=");
  return side;
}

Side make_mpich(const Request& request) {
  Side side;
  side.name = side.column = "mpich";
  side.open_mpi = false;
  side.command = {request.mpich_mpirun, "-n", std::to_string(request.ranks)};
  if (request.bind && !request.oversubscribed())
    append(side.command, {"-bind-to", request.ranks > request.cores ? "hwthread" : "core"});
  side.command.push_back(request.own_dir + "/mpi_sweep_mpich");
  return side;
}

// Why the side cannot run; empty: it can.
std::string missing(const Request& request, const std::string& name) {
  const auto no = [](const std::string& path, int mode) { return access(path.c_str(), mode) != 0; };
  if (name == "mpich") {
    if (no(request.own_dir + "/mpi_sweep_mpich", X_OK)) return "no MPICH compiler (mpicc.mpich) when this was built";
    return request.mpich_mpirun.empty() ? "no mpirun.mpich; --mpich-mpirun PATH names one" : "";
  }
  if (request.mpirun.empty()) return "no mpirun of Open MPI; --mpirun PATH names one";
  if (no(request.own_dir + "/mpi_sweep", X_OK)) return "no mpi_sweep beside this program";
  if (name == "smelt" && no(request.smelt_dir + "/mca_coll_smelt.so", R_OK))
    return fmt::format("no {}/mca_coll_smelt.so; build ompi_coll_smelt or give --smelt-dir", request.smelt_dir);
  return "";
}

Side make_side(const Request& request, const std::string& name) {
  if (name == "tuned") return make_tuned(request);
  if (name == "sm") return make_sm(request);
  return name == "mpich" ? make_mpich(request) : make_smelt(request);
}

}  // namespace

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
    if (!named && !request.sides.empty()) continue;
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
