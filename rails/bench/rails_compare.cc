// rails_compare: the throughput of two (or more) unequal rails, by the library that uses them.
//
//   1. two namespaces, a rail for each rate of --rates (Mbit/s) and delay of --delays (µs, each way)
//   2. smelt network samples them; what follows from the samples is all that is known of them from here on
//   3. our rails, every message from its sending to the answer, in rounds: on each rail alone, in halves, by bandwidth,
//      by equal finish, one after the other in each round
//   4. Open MPI, the same messages, in rounds: on each rail alone, by ompi_pml_smelt, over all as it comes, over all
//      with smelt tune
//
// A ratio compares two ways in the same round; its median over the rounds is printed, with its quartiles. tbf lets
// --burst KB through at the speed of memory before it limits anything: up to so many on each rail, messages compare
// schedulers, and they do not find the sampled times, of one message after the other. 8 need an idle machine. Needs
// root.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <smelt/rail.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/os/os.h"
#include "profile/text/error.h"
#include "profile/text/statistics.h"
#include "rails/bench/nodes.h"
#include "rails/bench/sample_nodes.h"
#include "rails/rail/rail.h"

namespace smelt {
namespace {

struct Arguments {
  std::vector<uint32_t> rates = {200, 80}, delays;
  std::vector<size_t> sizes = {8,         1 << 10,   4 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10,
                               256 << 10, 512 << 10, 1 << 20, 2 << 20,  4 << 20,  16 << 20};
  uint32_t rounds = 7, mpi_rounds = 6, mpi_runs = 3;
  uint32_t burst_kb = 64;
  bool strict = false;
  uint32_t row = 8;
  double seconds = 20;
  std::string tcp = "cubic";  // as on most machines
  std::string smelt = BENCH_SMELT, relay = BENCH_RELAY, pingpong = BENCH_PINGPONG, component = BENCH_COMPONENT, keep;
};

constexpr int kCannot = 77;  // tests call that skipped
constexpr uint64_t kAnswer = 8;

struct Contender {
  std::string name;
  smelt_rail_options options;
};

[[noreturn]] void fail(const std::string& why) { throw UserError(why); }

void check(int error, const char* what) {
  if (error < 0) fail(fmt::format("{}: {}", what, strerror(-error)));
}

// --- our rails

struct Shared {
  double us[16][64][64], predicted[16][64][64];  // by way, size, round
  uint64_t bytes[16][64][kMaxRails];
  int failed;
};

class Node {
 public:
  Node(const std::string& profile, const std::vector<Contender>& ways, int from, int to) {
    for (const Contender& way : ways) {
      smelt_rails* rails = nullptr;
      check(smelt_rails_open(profile.c_str(), &way.options, &rails), "open");
      char address[SMELT_RAIL_ADDRESS];
      size_t bytes = 0;
      smelt_rails_address(rails, address, &bytes);
      (void)!::write(to, address, bytes);
      size_t got = 0;
      for (ssize_t n; got < bytes && (n = ::read(from, address + got, bytes - got)) > 0;) got += static_cast<size_t>(n);
      uint32_t peer;
      check(smelt_rails_connect(rails, address, got, &peer), "connect");
      all_.push_back(rails);
    }
  }
  ~Node() {
    for (smelt_rails* rails : all_) smelt_rails_close(rails);
  }
  smelt_rails* operator[](size_t way) const { return all_[way]; }

  void complete(size_t way, smelt_rail_request* request) const {
    int result;
    for (uint32_t turn = 0; (result = smelt_rail_test(all_[way], request, nullptr)) == 0; ++turn)
      if (turn % 16 == 15) os::yield_cpu();
    check(result, "message");
  }
  void send(size_t way, const void* data, size_t bytes) const {
    smelt_rail_request request;
    check(smelt_rail_send(all_[way], &request, 0, data, bytes), "send");
    complete(way, &request);
  }
  void receive(size_t way, void* data, size_t bytes) const {
    smelt_rail_request request;
    check(smelt_rail_receive(all_[way], &request, 0, data, bytes), "receive");
    complete(way, &request);
  }

 private:
  std::vector<smelt_rails*> all_;
};

constexpr uint32_t kMostRounds = 64;

// A short message often: it costs nothing, and a busy machine is felt most by it.
uint32_t rounds_of(const Arguments& arguments, size_t bytes) {
  const uint32_t times = bytes <= 64 << 10 ? 8 : bytes <= 512 << 10 ? 2 : 1;
  return std::min(times * arguments.rounds, kMostRounds);
}

void measure(const Node& node, int number, size_t ways, const Arguments& arguments, Shared* shared) {
  std::vector<char> data(*std::max_element(arguments.sizes.begin(), arguments.sizes.end()));
  char answer[kAnswer] = "";
  // Each way finds the buckets of tbf full, and the CPU awake.
  double slowest = 1e9;
  for (const uint32_t rate : arguments.rates) slowest = std::min(slowest, std::max(1.0, double(rate)));
  const auto pause_ns = static_cast<int64_t>(1e6 + 8e3 * 1024 * arguments.burst_kb / slowest);
  // Each way has connections of its own, and TCP begins anew on one that was not used for some 0.2 s, which is felt
  // where a rail is far: then a later one of a way's messages in a row counts, as in the sampling.
  const size_t in_a_row = arguments.delays.empty() ? 1 : arguments.row;
  for (size_t s = 0; s < arguments.sizes.size(); ++s)
    for (int round = -1; round < static_cast<int>(rounds_of(arguments, arguments.sizes[s])); ++round)
      for (size_t turn = 0; turn < ways * in_a_row; ++turn) {
        const size_t way = turn / in_a_row, bytes = arguments.sizes[s];
        if (number == 2) {
          node.receive(way, data.data(), bytes);
          node.send(way, answer, kAnswer);
          continue;
        }
        for (const int64_t until = os::now_ns() + pause_ns; os::now_ns() < until;) os::yield_cpu();
        const double predicted = smelt_rail_predict(node[way], 0, bytes) + smelt_rail_predict(node[way], 0, kAnswer);
        smelt_rail_state before[kMaxRails];
        for (uint32_t r = 0; r < kMaxRails; ++r) smelt_rail_info(node[way], 0, r, &before[r]);
        const int64_t begin = os::now_ns();
        smelt_rail_request request, reply;
        check(smelt_rail_receive(node[way], &reply, 0, answer, kAnswer), "receive");
        check(smelt_rail_send(node[way], &request, 0, data.data(), bytes), "send");
        node.complete(way, &reply);
        const double us = 1e-3 * static_cast<double>(os::now_ns() - begin);
        node.complete(way, &request);
        if (round < 0 || turn % in_a_row + 1 < in_a_row) continue;
        shared->us[way][s][round] = us, shared->predicted[way][s][round] = predicted;
        for (uint32_t r = 0; r < kMaxRails; ++r) {
          smelt_rail_state after{};
          if (smelt_rail_info(node[way], 0, r, &after) == 0) shared->bytes[way][s][r] = after.bytes - before[r].bytes;
        }
      }
}

void run_own(const Nodes& nodes, const Arguments& arguments, const std::vector<Contender>& ways,
             const std::string& folder, Shared* shared) {
  int pipes[2][2];
  if (::pipe(pipes[0]) != 0 || ::pipe(pipes[1]) != 0) fail("no pipe");
  std::vector<pid_t> pids;
  for (const int number : {1, 2}) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      int code = 1;
      nodes.enter(number);
      try {
        const Node node(folder + fmt::format("/node{}.network", number), ways, pipes[2 - number][0],
                        pipes[number - 1][1]);
        measure(node, number, ways.size(), arguments, shared);
        code = 0;
      } catch (const UserError& error) {
        fmt::print(stderr, "node {}: {}\n", number, error.what());
      }
      ::_exit(code);
    }
    pids.push_back(pid);
  }
  for (const pid_t pid : pids) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (status != 0) fail("the messages over our rails failed");
  }
}

// --- Open MPI

std::string write_agent(const Nodes& nodes, const std::string& folder) {
  std::ofstream(folder + "/hosts") << "127.0.0.1 localhost\n"
                                   << Nodes::address(0, 1) << " node1\n"
                                   << Nodes::address(0, 2) << " node2\n";
  const std::string enter = folder + "/enter", agent = folder + "/agent";
  std::ofstream(enter) << fmt::format(
      "#!/bin/sh\n# enter NODE COMMAND...\nnode=$1; shift\ncase $node in 1) cpus='{}';; *) cpus='{}';; esac\n"
      "exec ${{cpus:+taskset -c $cpus}} nsenter --net=/run/netns/{}$node unshare --uts --mount "
      "--propagation private sh -c '\n  hostname node'$node'; mount --bind {}/hosts /etc/hosts; mount -t tmpfs -o "
      "mode=1777 tmpfs /dev/shm; exec \"$@\"' _ \"$@\"\n",
      Nodes::cpus_of(1), Nodes::cpus_of(2), nodes.name(1).substr(0, nodes.name(1).size() - 1), folder);
  std::ofstream(agent) << fmt::format(
      "#!/bin/sh\n# agent [-options] HOST COMMAND...\nwhile [ \"${{1#-}}\" != \"$1\" ]; do shift; done\n"
      "host=$1; shift\nexec {} \"${{host#node}}\" sh -c \"$*\"\n",
      enter);
  ::chmod(enter.c_str(), 0755), ::chmod(agent.c_str(), 0755);
  return agent;
}

// Microseconds by size; empty: it did not run.
std::map<size_t, double> run_mpi(const Arguments& arguments, const std::string& folder, const std::string& options) {
  std::string command = fmt::format(
      "{0}/enter 1 mpirun --allow-run-as-root --oversubscribe --mca plm_rsh_agent {0}/agent "
      "--mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include rail0 --mca pml ^ucx,cm --mca btl tcp,self "
      "--bind-to none --mca mpi_yield_when_idle 1 {1} --host node1,node2 -n 2 {2} {3}",
      folder, options, arguments.pingpong, arguments.mpi_rounds);
  for (const size_t bytes : arguments.sizes) command += fmt::format(" {}", bytes);
  command += " </dev/null 2>" + folder + "/mpi.errors";
  std::map<size_t, double> times;
  FILE* output = ::popen(command.c_str(), "r");
  if (!output) return times;
  size_t bytes;
  double us;
  while (std::fscanf(output, "%zu %lf", &bytes, &us) == 2) times[bytes] = us;
  if (::pclose(output) != 0) times.clear();
  return times;
}

// --- what is printed

double mbits(size_t bytes, double us) { return us > 0 ? 8 * static_cast<double>(bytes) / us : 0; }

std::string size_text(size_t bytes) {
  return bytes >= 1 << 20   ? fmt::format("{} MiB", bytes >> 20)
         : bytes >= 1 << 10 ? fmt::format("{} KiB", bytes >> 10)
                            : fmt::format("{} B", bytes);
}

void print_row(const std::string& first, const std::vector<std::string>& cells) {
  fmt::print("{:>8}", first);
  for (const std::string& cell : cells) fmt::print(" {:>11}", cell);
  fmt::print("\n");
  std::fflush(stdout);
}

std::vector<std::string> names_of(const std::vector<Contender>& ways) {
  std::vector<std::string> names;
  for (const Contender& way : ways) names.push_back(way.name);
  return names;
}

// A ratio of two times of the same round, over the rounds.
struct Ratio {
  double low = 0, middle = 0, high = 0;  // quartiles and median
};

Ratio ratio_of(const std::vector<double>& ratios) {
  return {quantile(ratios, 0.25), quantile(ratios, 0.5), quantile(ratios, 0.75)};
}

std::string text_of(const Ratio& ratio) {
  return fmt::format("{:.3f} [{:.3f} .. {:.3f}]", ratio.middle, ratio.low, ratio.high);
}

// A line with a goal: the worst over the sizes.
struct Goal {
  const char* what;
  double least;
  Ratio worst{1e9, 1e9, 1e9};
  size_t at = 0;

  void add(const Ratio& ratio, size_t bytes) {
    if (ratio.middle < worst.middle) worst = ratio, at = bytes;
  }
  // Says it; false: it was missed, by more than the spread.
  bool print() const {
    if (at == 0) return true;
    fmt::print("{:<34} {} at {}, at least {}: {}\n", what, text_of(worst), size_text(at), least,
               worst.middle >= least ? "reached"
               : worst.high >= least ? "within the spread"
                                     : "missed");
    return worst.high >= least;
  }
};

bool report_own(const Arguments& arguments, const std::vector<Contender>& ways, const Shared& shared) {
  const size_t rails = arguments.rates.size(), finish = ways.size() - 1;
  fmt::print("\nOur rails, Mbit/s from the sending to the answer, medians of {} rounds and more:\n", arguments.rounds);
  print_row("size", names_of(ways));
  // Where two ways split alike, a hundredth is what their medians differ by; halves are 40 % away.
  Goal of_sum{"of the sum, from 1 MiB", 0.95}, of_single{"of the best single rail", 0.97},
      of_others{"of halves and by bandwidth", 0.99}, promise{"promise and time, from 1 MiB", 0.90};
  std::vector<std::string> notes;
  for (size_t s = 0; s < arguments.sizes.size(); ++s) {
    const size_t bytes = arguments.sizes[s], rounds = rounds_of(arguments, bytes);
    const auto times_of = [&](size_t way) {
      return std::vector<double>(shared.us[way][s], shared.us[way][s] + rounds);
    };
    const auto against = [&](size_t way) {
      std::vector<double> ratios;
      for (size_t i = 0; i < rounds; ++i) ratios.push_back(shared.us[way][s][i] / shared.us[finish][s][i]);
      return ratio_of(ratios);
    };
    std::vector<std::string> cells;
    for (size_t way = 0; way < ways.size(); ++way)
      cells.push_back(fmt::format("{:.4g}", mbits(bytes, median(times_of(way)))));
    print_row(size_text(bytes), cells);

    size_t best = 0;
    for (size_t r = 1; r < rails; ++r)
      if (median(times_of(r)) < median(times_of(best))) best = r;
    const Ratio single = against(best);
    Ratio others = against(rails);
    for (size_t way = rails + 1; way < finish; ++way)
      if (const Ratio other = against(way); other.middle < others.middle) others = other;
    std::vector<double> sums, promises;
    for (size_t i = 0; i < rounds; ++i) {
      double per_us = 0;
      for (size_t r = 0; r < rails; ++r) per_us += 1 / shared.us[r][s][i];
      sums.push_back(1 / shared.us[finish][s][i] / per_us);
      const double kept = shared.predicted[finish][s][i] / shared.us[finish][s][i];
      promises.push_back(kept < 1 ? kept : 1 / kept);
    }
    const Ratio sum = ratio_of(sums), kept = ratio_of(promises);
    if (bytes >= 1 << 20) of_sum.add(sum, bytes), promise.add(kept, bytes);
    of_single.add(single, bytes), of_others.add(others, bytes);
    std::string shares;
    for (size_t r = 0; r < rails; ++r)
      shares += fmt::format("{}{:.0f}", r ? ":" : "",
                            100.0 * static_cast<double>(shared.bytes[finish][s][r]) / static_cast<double>(bytes));
    notes.push_back(fmt::format("{:>8} {:>9} {:>26} {:>26} {:>26} {:>26}", size_text(bytes), shares, text_of(single),
                                text_of(others), text_of(sum), text_of(kept)));
  }
  fmt::print("\nEqual finish against the others, medians and quartiles of its ratios:\n");
  fmt::print("{:>8} {:>9} {:>26} {:>26} {:>26} {:>26}\n", "size", "shares %", "best single rail",
             "better of halves, bandwidth", "sum of the rails", "promise and time");
  for (const std::string& note : notes) fmt::print("{}\n", note);
  fmt::print("\n");
  bool reached = true;
  for (const Goal& goal : {of_sum, of_single, of_others, promise}) reached = goal.print() && reached;
  return reached;
}

bool report_mpi(const Arguments& arguments, const std::string& folder) {
  const std::string tune = fmt::format("{} tune openmpi --network {}/node1.network.json -o {}/tuned.conf >/dev/null",
                                       arguments.smelt, folder, folder);
  if (std::system(tune.c_str()) != 0) fail("smelt tune failed");
  std::vector<std::pair<std::string, std::string>> kinds;
  std::string all;
  for (size_t r = 0; r < arguments.rates.size(); ++r) {
    const std::string rail = Nodes::interface(static_cast<uint32_t>(r));
    kinds.emplace_back(rail, "--mca btl_tcp_if_include " + rail);
    all += (r ? "," : "") + rail;
  }
  // The component alone: beside it in its build folder lie other files.
  const std::string component = folder + "/component";
  if (!arguments.component.empty() &&
      std::system(fmt::format("mkdir '{0}' && ln -s '{1}' '{0}/'", component, arguments.component).c_str()) == 0)
    kinds.emplace_back("pml/smelt",
                       fmt::format("--mca mca_base_component_path {}:SYSTEM_DEFAULT --mca pml_smelt_enable 1 "
                                   "--mca pml_smelt_nodes 1 --mca pml_smelt_network {}/node1.network",
                                   component, folder));
  kinds.emplace_back("stock", "--mca btl_tcp_if_include " + all);
  kinds.emplace_back("smelt tune", "--mca mca_base_param_files " + folder + "/tuned.conf");
  std::vector<std::map<size_t, std::vector<double>>> times(kinds.size());
  for (uint32_t i = 0; i < arguments.mpi_runs; ++i)
    for (size_t k = 0; k < kinds.size(); ++k) {
      const std::map<size_t, double> found = run_mpi(arguments, folder, kinds[k].second);
      if (found.size() < arguments.sizes.size()) {
        std::ifstream errors(folder + "/mpi.errors");
        std::stringstream text;
        text << errors.rdbuf();
        fmt::print("\nOpen MPI did not run ({}): {}\n", kinds[k].first, text.str());
        return false;
      }
      for (const auto& [bytes, us] : found) times[k][bytes].push_back(us);
    }
  fmt::print("\nOpen MPI (ob1 over tcp; pml/smelt over our rails), Mbit/s from the sending to the answer, ");
  fmt::print("medians of {} runs of {} rounds:\n", arguments.mpi_runs, arguments.mpi_rounds);
  std::vector<std::string> names;
  for (const auto& kind : kinds) names.push_back(kind.first);
  names.emplace_back("tune/stock");
  print_row("size", names);
  Goal tuned{"smelt tune of stock, from 1 MiB", 1.6};
  Goal longest{"smelt tune of stock, the longest", 1.6};
  Goal shortest{"pml/smelt of the best rail, the shortest", 1 / 1.1};
  const size_t least = *std::min_element(arguments.sizes.begin(), arguments.sizes.end());
  for (const size_t bytes : arguments.sizes) {
    std::vector<std::string> cells;
    std::vector<double> ratios;
    for (auto& kind : times) cells.push_back(fmt::format("{:.4g}", mbits(bytes, median(kind[bytes]))));
    for (uint32_t i = 0; i < arguments.mpi_runs; ++i)
      ratios.push_back(times[kinds.size() - 2][bytes][i] / times.back()[bytes][i]);
    const Ratio ratio = ratio_of(ratios);
    cells.push_back(text_of(ratio));
    print_row(size_text(bytes), cells);
    if (bytes == least && kinds.size() > arguments.rates.size() + 2) {
      std::vector<double> of_best;
      for (uint32_t i = 0; i < arguments.mpi_runs; ++i) {
        double best = times[0][bytes][i];
        for (size_t r = 1; r < arguments.rates.size(); ++r) best = std::min(best, times[r][bytes][i]);
        of_best.push_back(best / times[arguments.rates.size()][bytes][i]);
      }
      shortest.add(ratio_of(of_best), bytes);
    }
    if (bytes >= 1 << 20) tuned.add(ratio, bytes);
    if (bytes == *std::max_element(arguments.sizes.begin(), arguments.sizes.end())) longest.add(ratio, bytes);
  }
  fmt::print("\n");
  if (kinds.size() > arguments.rates.size() + 2) shortest.print();
  const bool always = tuned.print();
  return longest.print() && always;
}

int run(const Arguments& arguments) {
  Nodes nodes(arguments.burst_kb);
  std::string why = nodes.make();
  for (size_t r = 0; why.empty() && r < arguments.rates.size(); ++r)
    why = nodes.add_rail(arguments.rates[r], r < arguments.delays.size() ? arguments.delays[r] : 0, arguments.relay,
                         arguments.tcp);
  if (!why.empty()) {
    fmt::print(stderr, "rails_compare: {}\n", why);
    return kCannot;
  }
  const ScratchFolder scratch;
  if (scratch.path().empty()) fail("no scratch folder");
  const std::string& folder = scratch.path();
  fmt::print(
      "rails of {} Mbit/s, {} KB at once{}\n", fmt::join(arguments.rates, ", "), arguments.burst_kb,
      arguments.delays.empty() ? "" : fmt::format(", farther by {} us each way", fmt::join(arguments.delays, ", ")));
  std::fflush(stdout);
  sample_nodes(nodes, arguments.seconds, folder);
  (void)!std::system((arguments.smelt + " info --rails --network " + folder + "/node1.network.json").c_str());
  std::fflush(stdout);

  std::vector<Contender> ways;
  for (uint32_t r = 0; r < nodes.rails(); ++r)
    ways.push_back({Nodes::interface(r), {.split = SMELT_RAIL_SINGLE, .single = r, .patience_ms = 0, .reserved = {}}});
  for (const auto& [name, split] :
       {std::pair{"halves", SMELT_RAIL_HALVES}, std::pair{"bandwidth", SMELT_RAIL_BANDWIDTH},
        std::pair{"finish", SMELT_RAIL_EQUAL_FINISH}})
    ways.push_back({name, {.split = static_cast<uint32_t>(split), .single = 0, .patience_ms = 0, .reserved = {}}});
  auto* shared =
      static_cast<Shared*>(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  run_own(nodes, arguments, ways, folder, shared);
  bool reached = report_own(arguments, ways, *shared);
  std::fflush(stdout);
  if (!arguments.pingpong.empty() && arguments.mpi_rounds > 0) {
    write_agent(nodes, folder);
    reached = report_mpi(arguments, folder) && reached;
  }
  if (!arguments.keep.empty())
    (void)!std::system(fmt::format("mkdir -p '{0}' && cp {1}/*.json {1}/*.conf '{0}'", arguments.keep, folder).c_str());
  return arguments.strict && !reached ? 1 : 0;
}

}  // namespace
}  // namespace smelt

int main(int argc, char** argv) {
  CLI::App app{"What unequal rails carry, by whom they are used: ours and Open MPI's, stock and tuned"};
  smelt::Arguments arguments;
  app.add_option("--rates", arguments.rates, "Mbit/s of each rail")->delimiter(',')->capture_default_str();
  app.add_option("--delays", arguments.delays, "microseconds that each rail takes longer, each way")->delimiter(',');
  app.add_option("--tcp", arguments.tcp, "TCP's congestion control, where this kernel has it; else its own")
      ->capture_default_str();
  app.add_option("--burst", arguments.burst_kb, "KB that a rail lets through at once")
      ->check(CLI::Range(4u, 1024u))
      ->capture_default_str();
  app.add_option("--sizes", arguments.sizes, "bytes of the messages")->delimiter(',');
  app.add_option("--rounds", arguments.rounds, "of our own; of short messages more")
      ->check(CLI::Range(1u, smelt::kMostRounds))
      ->capture_default_str();
  app.add_option("--mpi-rounds", arguments.mpi_rounds, "of Open MPI, in each run; 0: without")->capture_default_str();
  app.add_option("--mpi-runs", arguments.mpi_runs, "of Open MPI")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--row", arguments.row, "with --delays: messages of each way in a row, of which the last counts")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  app.add_flag("--strict", arguments.strict, "exit code 1 where something is missed by more than the spread");
  app.add_option("--keep", arguments.keep, "write the sampled profile and Open MPI's parameters into this folder");
  app.add_option("--seconds", arguments.seconds, "of sampling, for each rail")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (arguments.rates.size() > smelt::kMaxRails || arguments.sizes.size() > 64) return 2;
  try {
    return smelt::run(arguments);
  } catch (const smelt::UserError& error) {
    fmt::print(stderr, "rails_compare: {}\n", error.what());
    return 1;
  }
}
