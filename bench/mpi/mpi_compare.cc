// mpi_compare: MPI's collectives under Open MPI as it comes, under its components for a node, under MPICH and under
// Smelt, in interleaved rounds of runs. How a line of the table comes about is told in rounds.h, and to the user by
// --help.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "bench/mpi/campaign.h"
#include "bench/mpi/report.h"
#include "discover/machine.h"
#include "epcc/program.h"
#include "profile/text/error.h"

namespace {

namespace fs = std::filesystem;
using namespace smelt::bench;
using smelt::epcc::BadInput;
using smelt::epcc::complain;
using smelt::epcc::FailedRun;

constexpr const char* kMethod = R"(Kernels:
  barrier; bcast and reduce with root 0; bcast-rotating and reduce-rotating, where call i has root i modulo the ranks;
  allreduce; allgather, gather and scatter (root 0), their vector forms, alltoall, alltoallv and reduce-scatter-block,
  whose size is that of one block; reduce-scatter, where every other rank has half a block; scan; exscan; dup, which is
  MPI_Comm_dup, a barrier on the copy and MPI_Comm_free. Reductions are sums of doubles from 8 bytes on, exclusive-or of
  bytes below. Results are checked outside of the timed loops; a wrong one fails the run.
Statistics:
  A run is one mpirun of mpi_sweep with one kernel and all sizes. Per size it measures batches of calls in a tight
  loop, after a warm-up, as IMB and the OSU benchmarks do; time per call is that of the slowest rank, and the run's
  figure is the median over the batches. Mind that in such a loop the root of bcast or scatter runs ahead of the
  others, and the leaves of reduce or gather ahead of the root: with a fixed root the figure is the rate of a pipeline,
  not the time of one call. The rotating kernels, --strict and --skew stop that. With --strict a barrier follows each
  call, and its time counts: ratios of short calls are nearer to the barrier's then. With --skew NS all ranks start
  each call together, each waits a random time up to NS, and the time is from the arrival of the last rank to the exit
  of the last rank.
  A round is one run of each side, directly one after the other; every second round goes the other way round. A ratio
  is made within a round: the fastest other side / Smelt, or / the first side where Smelt does not take part. Shown
  are the median over the rounds, the least and the greatest.
  Every measurement is bracketed by a ping-pong between ranks 0 and 1: rounds with all hops <= 80 ns are "near", with
  all above "far", and never share a line; rounds with both are left out.
Sides:
  tuned: Open MPI's own choice. sm, han, xhc, acoll: Open MPI with that component at priority 95; what it does not have
  is served as in tuned. han wants several nodes and steps aside on one; xhc does reductions in its own buffers, since
  without XPMEM (6.0.0rc2) it crashes elsewhere; acoll serves from two ranks on, as it comes from 16.
  mpich: MPICH as it comes; mpich-rg: with release_gather for barrier, bcast, reduce and allreduce, whatever their size.
  smelt: Open MPI with mca_coll_smelt.so at priority 90. OMPI_MCA_coll* of your shell are not passed on, but for
  OMPI_MCA_coll_smelt_*. With more ranks than CPUs nothing is bound and Open MPI's sides all get mpi_yield_when_idle.
  By default tuned, sm (from Open MPI 6 on xhc), mpich and smelt take part.
Installations:
  --open-mpi PREFIX: the sides beside Smelt's are of the Open MPI there, Smelt's is of the one it was built for. --mpich
  PREFIX alike. mpi_sweep is compiled for them by their own mpicc.
Exit status: 0, 1 a benchmark failed (a side other than Smelt is only marked), 2 bad input.)";

struct Arguments {
  Request request;
  std::string sizes = "1:16M", json, open_mpi, mpich;
  std::vector<std::string> peers;
  bool no_bind = false, no_verify = false, quick = false;
};

void describe_options(CLI::App& app, Arguments& a) {
  Request& r = a.request;
  app.footer(kMethod);
  app.add_option("--ranks", r.ranks, "MPI processes")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--rounds,--pairs", r.rounds, "runs of each side per kernel (default 5, with --quick 3)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--kernels", r.kernels, "only these, separated by commas: barrier,bcast")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--sizes", a.sizes, "message sizes: MIN:MAX, all powers of two (default 1:16M), or 8,1K,1M");
  std::vector<std::string> sides(std::begin(kSideNames), std::end(kSideNames));
  app.add_option("--sides", r.sides, fmt::format("{}, or all that are there", fmt::join(sides, ", ")))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(sides) | CLI::IsMember({"all"}));
  app.add_option("--peers", a.peers, "the sides beside Smelt's: --peers xhc,mpich-rg; --peers all")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(sides) | CLI::IsMember({"all"}))
      ->excludes("--sides");
  app.add_option("--skew", r.skew_ns, "random delay of each rank before each call, at most so many ns (0: tight loop)")
      ->check(CLI::Range(0.0, 1e9));
  app.add_flag("--strict", r.strict, "a barrier after each call, which is part of its time")->excludes("--skew");
  app.add_flag("--no-bind", a.no_bind, "let the ranks wander (default: a core each when there are enough)");
  app.add_option("--batch-ms", r.batch_ms, "length of a batch (default 5, with --quick 2)")
      ->check(CLI::Range(0.001, 1e5));
  app.add_option("--batches", r.batches, "batches per run and size (default 5, with --quick 3)")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--no-verify", a.no_verify, "do not check the results");
  app.add_option("--timeout", r.timeout_s, "seconds after which one run counts as failed")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  app.add_option("--smelt-dir", r.smelt_dir, "where mca_coll_smelt.so lies (default: of this build, or installed)");
  app.add_option("--mpirun", r.open_mpi.mpirun, "of Open MPI (default: mpirun.openmpi, else mpirun)");
  app.add_option("--open-mpi", a.open_mpi, "where another Open MPI is installed, for the sides beside Smelt's");
  app.add_option("--mpich", a.mpich, "where MPICH is installed (default: the mpirun.mpich and mpicc.mpich of PATH)");
  app.add_flag("--quick", a.quick, "shorter and fewer runs, fewer kernels and sizes: the whole table within a minute");
  app.add_option("--json", a.json, "write JSON to this file as well: rows, and every round");
}

std::string find_smelt_dir(const std::string& own_dir) {
  for (const fs::path& directory : {fs::path(own_dir) / "../../ompi_coll_smelt", fs::path(SMELT_MPI_COMPONENTS)})
    if (access((directory / "mca_coll_smelt.so").c_str(), R_OK) == 0) return fs::weakly_canonical(directory);
  return fs::path(own_dir).parent_path().parent_path() / "ompi_coll_smelt";
}

// Given by the user: must be there. Else the first of the usual names; empty when none is there.
std::string find_mpirun(const char* option, const std::string& given, const std::vector<std::string>& usual) {
  if (given.empty()) return smelt::epcc::find_program(usual);
  const std::string found = smelt::epcc::find_program({given});
  if (found.empty()) throw BadInput{fmt::format("{}: there is no program \"{}\"", option, given)};
  return found;
}

void complete(const CLI::App& app, Arguments& a, const smelt::Machine& machine, const std::string& folder) {
  Request& r = a.request;
  std::set<uint16_t> cores;
  for (const smelt::Pu& pu : machine.pus)
    if (pu.allowed) cores.insert(pu.core);
  r.cores = static_cast<int>(cores.size());
  r.cpus = static_cast<int>(machine.allowed_cpus().size());
  if (machine.cpu_quota > 0) r.cpus = std::min(r.cpus, static_cast<int>(machine.cpu_quota));
  r.bind = !a.no_bind;
  r.verify = !a.no_verify;
  if (a.quick) {
    r.together = true;
    if (app.count("--rounds") == 0) r.rounds = 3;
    if (app.count("--batch-ms") == 0) r.batch_ms = 2;
    if (app.count("--batches") == 0) r.batches = 3;
    if (app.count("--sizes") == 0) a.sizes = "8,64,1K,8K,64K,1M";
    if (app.count("--kernels") == 0) r.kernels = {"barrier", "bcast", "bcast-rotating", "reduce", "allreduce", "dup"};
  }
  r.sizes = parse_sizes(a.sizes);
  r.own_dir = smelt::epcc::own_directory();
  r.smelt_dir = r.smelt_dir.empty() ? find_smelt_dir(r.own_dir) : fs::absolute(r.smelt_dir).string();
  if (!a.peers.empty()) r.sides = a.peers;
  if (!a.peers.empty()) r.sides.emplace_back("smelt");
  r.open_mpi = {find_mpirun("--mpirun", r.open_mpi.mpirun, {"mpirun.openmpi", "mpirun"}), r.own_dir + "/mpi_sweep"};
  r.peers = a.open_mpi.empty() ? r.open_mpi : installation_at(a.open_mpi, false, folder);
  r.mpich = a.mpich.empty()
                ? Installation{find_mpirun("--mpich", "", {"mpirun.mpich", "mpiexec.mpich", "mpiexec.hydra"}),
                               r.own_dir + "/mpi_sweep_mpich"}
                : installation_at(a.mpich, true, folder);
}

// For what is compiled here; removed with it.
struct Folder {
  std::string path = (fs::temp_directory_path() / "mpi_compare.XXXXXX").string();
  Folder() {
    if (!mkdtemp(path.data())) throw FailedRun{fmt::format("no folder \"{}\"", path)};
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

int run(const CLI::App& app, Arguments& a) {
  const smelt::Machine machine = smelt::discover_machine();
  const Folder folder;
  complete(app, a, machine, folder.path);
  std::ofstream json;
  if (!a.json.empty()) {  // before the work, not after it
    json.open(a.json);
    if (!json) throw BadInput{fmt::format("--json: cannot write \"{}\"", a.json)};
  }
  const Results results = run_campaign(a.request, smelt::epcc::terminal_progress());
  smelt::epcc::end_progress();
  const std::string text = fmt::format("{}, {} CPUs allowed{}", machine.name(), a.request.cpus,
                                       machine.virtualised ? ", virtual: near and far may change at any time" : "");
  fmt::print("{}", report_text(a.request, results, text));
  if (a.json.empty()) return 0;
  json << report_json(a.request, results, text) << std::flush;
  if (!json) throw FailedRun{fmt::format("--json: writing \"{}\" failed", a.json)};
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr const char* kName = "mpi_compare";
  CLI::App app{
      "MPI's collectives: stock Open MPI, its components for a node, MPICH and Smelt, in interleaved rounds of runs.",
      kName};
  Arguments arguments;
  describe_options(app, arguments);
  smelt::epcc::install_signal_handlers();
  try {
    app.parse(argc, argv);
    return run(app, arguments);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return complain(kName, error.what(), 2);
  } catch (const BadInput& bad) {
    return complain(kName, bad.line, 2);
  } catch (const FailedRun& failed) {
    return complain(kName, failed.line, 1);
  } catch (const smelt::UserError& error) {
    return complain(kName, error.what(), 2);
  } catch (const std::exception& error) {
    return complain(kName, error.what(), 1);
  }
}
