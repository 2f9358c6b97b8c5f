// onepaxos: throughput and response time of 1Paxos by the number of replicas, with the acceptor's broadcast over a
// Smelt tree and sequentially (the paper's figures 12b and 12c).
#include <getopt.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "load.h"

namespace {

using onepaxos::Broadcast;

void usage(FILE* to) {
  std::fputs(
      "usage: onepaxos [option...]\n"
      "  --replicas N[,N...]  groups of so many, 2 to 64 (default 3)\n"
      "  --clients N          threads that submit commands (default 1; the paper: 4)\n"
      "  --outstanding N      commands that each has under way, 1 to 64 (default 8)\n"
      "  --seconds S          of a run (default 1; the paper: 20)\n"
      "  --commands N         a run ends when each client has had so many answers, instead\n"
      "  --tree, --sequential, --both   the acceptor's broadcast (default --both, in turns)\n"
      "  --pattern NAME       the tree (default adaptive, the paper's)\n"
      "  --rounds N           runs of each kind; their median is printed (default 3)\n"
      "  --cpus N[,N...]      of the replicas, then of the clients; all threads share them where they are fewer\n"
      "                       (default: the allowed ones if there are enough, else threads are not pinned)\n"
      "  --patience-ms N      who says nothing for so long is suspected (default 1000)\n",
      to);
}

// Numbers with commas between; empty: it is no such list.
std::vector<unsigned> numbers(const char* text) {
  std::vector<unsigned> result;
  for (;;) {
    char* end;
    const unsigned long value = std::strtoul(text, &end, 10);
    if (end == text || *text == '-' || value > 1u << 20 || (*end != ',' && *end != '\0')) return {};
    result.push_back(static_cast<unsigned>(value));
    if (*end == '\0') return result;
    text = end + 1;
  }
}

std::vector<unsigned> allowed_cpus() {
  std::vector<unsigned> result;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return result;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) result.push_back(cpu);
  return result;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Series {
  std::vector<double> per_second, median_us, p99_us;
  uint64_t configurations = 0;
};

void run(onepaxos::Load load, const std::vector<Broadcast>& kinds, unsigned rounds) {
  std::vector<Series> series(kinds.size());
  for (unsigned round = 0; round < rounds; ++round) {
    for (size_t k = 0; k < kinds.size(); ++k) {
      load.options.broadcast = kinds[k];
      const onepaxos::Figures figures = onepaxos::measure(load);
      series[k].per_second.push_back(figures.per_second);
      series[k].median_us.push_back(figures.median_us);
      series[k].p99_us.push_back(figures.p99_us);
      series[k].configurations += figures.configurations;
    }
  }
  for (size_t k = 0; k < kinds.size(); ++k) {
    const Series& s = series[k];
    std::printf("%8u  %-10s  %12.0f  %10.2f  %10.2f  %6llu\n", load.replicas,
                kinds[k] == Broadcast::kTree ? "tree" : "sequential", median(s.per_second), median(s.median_us),
                median(s.p99_us), static_cast<unsigned long long>(s.configurations));
  }
  if (kinds.size() == 2)
    std::printf("%8u  tree / sequential: throughput %.2f, response time %.2f\n", load.replicas,
                median(series[0].per_second) / median(series[1].per_second),
                median(series[0].median_us) / median(series[1].median_us));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  onepaxos::Load load;
  load.options.patience = std::chrono::seconds(1);
  std::vector<unsigned> replicas = {3}, cpus;
  std::vector<Broadcast> kinds = {Broadcast::kTree, Broadcast::kSequential};
  unsigned rounds = 3;
  const option options[] = {{"replicas", required_argument, nullptr, 'r'},
                            {"clients", required_argument, nullptr, 'c'},
                            {"outstanding", required_argument, nullptr, 'o'},
                            {"seconds", required_argument, nullptr, 's'},
                            {"commands", required_argument, nullptr, 'n'},
                            {"tree", no_argument, nullptr, 't'},
                            {"sequential", no_argument, nullptr, 'q'},
                            {"both", no_argument, nullptr, 'b'},
                            {"pattern", required_argument, nullptr, 'p'},
                            {"rounds", required_argument, nullptr, 'R'},
                            {"cpus", required_argument, nullptr, 'C'},
                            {"patience-ms", required_argument, nullptr, 'P'},
                            {"help", no_argument, nullptr, 'h'},
                            {nullptr, 0, nullptr, 0}};
  bool wrong = false;
  const auto number = [&](unsigned least, unsigned most) {
    const std::vector<unsigned> list = numbers(optarg);
    wrong |= list.size() != 1 || list[0] < least || list[0] > most;
    return wrong ? least : list[0];
  };
  for (int c; !wrong && (c = getopt_long(argc, argv, "h", options, nullptr)) != -1;) {
    switch (c) {
      case 'r': replicas = numbers(optarg), wrong = replicas.empty(); break;
      case 'c': load.clients = number(1, 1024); break;
      case 'o': load.outstanding = number(1, onepaxos::kOutstanding); break;
      case 's': load.seconds = std::atof(optarg), wrong = !(load.seconds > 0); break;
      case 'n': load.commands = number(1, 1u << 20); break;
      case 't': kinds = {Broadcast::kTree}; break;
      case 'q': kinds = {Broadcast::kSequential}; break;
      case 'b': kinds = {Broadcast::kTree, Broadcast::kSequential}; break;
      case 'p': load.options.pattern = optarg; break;
      case 'R': rounds = number(1, 1000); break;
      case 'C': cpus = numbers(optarg), wrong = cpus.empty(); break;
      case 'P': load.options.patience = std::chrono::milliseconds(number(1, 1u << 20)); break;
      case 'h': usage(stdout); return 0;
      default: wrong = true;
    }
  }
  if (wrong || optind != argc) {
    usage(stderr);
    return 2;
  }
  try {
    std::printf("%8s  %-10s  %12s  %10s  %10s  %6s\n", "replicas", "broadcast", "commands/s", "median us", "p99 us",
                "changes");
    for (const unsigned n : replicas) {
      load.replicas = n;
      load.cpus = cpus;
      const std::vector<unsigned> allowed = allowed_cpus();
      if (cpus.empty() && allowed.size() >= n + load.clients) load.cpus = allowed;
      run(load, kinds, rounds);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "onepaxos: %s\n", error.what());
    return 1;
  }
}
