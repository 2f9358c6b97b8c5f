// streamcluster: an online k-median kernel (kmedian.h) that crosses barriers all the time, with one barrier after the
// other put in: section 5.5 of Smelt's paper (OSDI 2016).
//   build/core/library/streamcluster --threads 4 --barrier all
// All barriers are built into the same template and run the same phases, in interleaved rounds: in each round every
// barrier clusters the whole stream once, in fresh memory, and the order turns from round to round. A ratio is of two
// runs of one round.
#include <fmt/format.h>
#include <sched.h>

#include <chrono>
#include <memory>
#include <thread>

#include "peers.h"
#include "smelt_barrier.h"
#include "streamcluster/request.h"

namespace {

using namespace smelt::bench;
using Clock = std::chrono::steady_clock;

struct Run {
  double seconds = 0;
  Clustering result;
};

struct Team {
  uint32_t threads;
  std::vector<uint32_t> cpus;  // thread i on cpus[i % cpus.size()]

  void pin(uint32_t thread) const {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpus[thread % cpus.size()], &one);
    sched_setaffinity(0, sizeof one, &one);
  }
};

// Time is from when all threads are there to when all are done.
template <typename Barrier>
Run run_with(Barrier& barrier, const Problem& problem, const Team& team) {
  Shared shared(problem, team.threads);
  Run run;
  std::vector<std::jthread> threads;
  for (uint32_t thread = 0; thread < team.threads; thread++)
    threads.emplace_back([&, thread] {
      team.pin(thread);
      Worker<Barrier> worker(shared, barrier, thread);
      barrier.wait(thread);
      const auto start = Clock::now();
      worker.run();
      barrier.wait(thread);
      if (thread == 0) run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    });
  threads.clear();  // joins
  run.result = shared.result;
  return run;
}

template <typename Barrier>
Run run_peer(const Problem& problem, const Team& team) {
  Barrier barrier(team.threads, team.threads > team.cpus.size());
  return run_with(barrier, problem, team);
}

Run run_smelt(const Problem& problem, const Team& team) {
  SmeltBarrier barrier;
  if (const int error = barrier.open(team.threads, team.cpus); error != 0)
    throw CLI::RuntimeError(fmt::format("no Smelt barrier for these threads: errno {}", -error), 1);
  return run_with(barrier, problem, team);
}

struct Kind {
  const char* name;
  Run (*run)(const Problem&, const Team&);
};
constexpr Kind kKinds[] = {
    {"smelt", run_smelt},
    {"pthread", run_peer<PthreadBarrier>},
    {"std", run_peer<StdBarrier>},
    {"dissemination", run_peer<DisseminationBarrier>},
    {"mcs", run_peer<McsBarrier>},
    {"central", run_peer<CentralBarrier>},
    {"tree", run_peer<TreeBarrier>},
};

struct Series {
  const Kind* kind;
  std::vector<double> seconds;  // by round
};

Spread ratios(const Series& other, const Series& smelt) {
  std::vector<double> values;
  for (size_t round = 0; round < smelt.seconds.size(); round++)
    values.push_back(other.seconds[round] / smelt.seconds[round]);
  return spread_of(values);
}

void report(const std::vector<Series>& all) {
  const Series* smelt = nullptr;
  const Series* best_other = nullptr;
  for (const Series& series : all) {
    if (series.kind == &kKinds[0])
      smelt = &series;
    else if (!best_other || spread_of(series.seconds).median < spread_of(best_other->seconds).median)
      best_other = &series;
  }
  fmt::print("{:14} {:>12} {:>21} {:>13} {:>15}\n", "barrier", "median s", "least .. most", "x Smelt's",
             "least .. most");
  for (const Series& series : all) {
    const Spread s = spread_of(series.seconds);
    fmt::print("{:14} {:12.4f} {:>21}", series.kind->name, s.median, fmt::format("{:.4f} .. {:.4f}", s.least, s.most));
    if (smelt && &series != smelt) {
      const Spread r = ratios(series, *smelt);
      fmt::print(" {:13.3f} {:>15}", r.median, fmt::format("{:.3f} .. {:.3f}", r.least, r.most));
    }
    fmt::print("\n");
  }
  if (smelt && best_other) {
    const Spread r = ratios(*best_other, *smelt);
    fmt::print("best other / Smelt: {} {:.3f} ({:.3f} .. {:.3f})\n", best_other->kind->name, r.median, r.least, r.most);
  }
}

std::vector<uint32_t> allowed_cpus() {
  std::vector<uint32_t> cpus;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
      if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  return cpus;
}

int run(const Request& request, const std::vector<std::string>& names, Team team) {
  const std::vector<uint32_t> allowed = allowed_cpus();
  if (team.cpus.empty()) team.cpus = allowed;
  for (const uint32_t cpu : team.cpus)
    if (std::ranges::count(allowed, cpu) == 0)
      throw CLI::ValidationError("--cpus", fmt::format("CPU {} is none that this process may use", cpu));
  std::vector<Series> all;
  for (const Kind& kind : kKinds)
    if (std::ranges::count(names, kind.name) || std::ranges::count(names, "all")) all.push_back({&kind, {}});

  Clustering first;
  for (uint32_t round = 0; round < request.rounds; round++)
    for (size_t turn = 0; turn < all.size(); turn++) {
      Series& series = all[(round + turn) % all.size()];
      const Run run = series.kind->run(request.problem, team);
      series.seconds.push_back(run.seconds);
      if (round + turn == 0) first = run.result;
      if (run.result.digest != first.digest || run.result.barriers != first.barriers) {
        fmt::print(stderr, "streamcluster: with {} the result is another one: digest {:016x}, {:016x} expected\n",
                   series.kind->name, run.result.digest, first.digest);
        return 1;
      }
    }
  fmt::print("{} threads, {} rounds: {} points of {} dimensions in chunks of {}\n", team.threads, request.rounds,
             request.problem.points, request.problem.dimensions, request.problem.chunk);
  fmt::print("{} centres, cost {:.6g}, {} barriers\ndigest {:016x}\n", first.centers, first.cost, first.barriers,
             first.digest);
  report(all);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Clusters a stream of points with one barrier after the other", "streamcluster"};
  Request request;
  describe_request(app, request);
  std::vector<uint32_t> cpus;
  app.add_option("--cpus", cpus, "CPUs for the threads in turn, as 0,2,4 (default: all that the process may use)")
      ->delimiter(',')
      ->allow_extra_args(false);
  std::vector<std::string> names{"all"};
  std::vector<std::string> known{"all"};
  for (const Kind& kind : kKinds) known.emplace_back(kind.name);
  app.add_option("--barrier", names, "one or several of them")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(known))
      ->capture_default_str();
  app.footer("Exit status: 0, 1 a barrier changed the result, other: bad input.");
  try {
    app.parse(argc, argv);
    return run(request, names, {request.threads, cpus});
  } catch (const CLI::Error& error) {
    return app.exit(error);
  }
}
