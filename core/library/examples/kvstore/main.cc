// kvstore: a replicated key-value store under load, after Kaestle et al., "Machine-aware Atomic Broadcast Trees for
// Multicores", OSDI 2016, section 5.7. `kvstore --help` says what it takes.
#include <getopt.h>
#include <sched.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvstore/history.h"
#include "kvstore/load.h"
#include "kvstore/store.h"

namespace kvstore {
namespace {

constexpr char kUsage[] = R"(usage: kvstore [options]
A key-value store with a table per replica: sets are agreed on (1Paxos, over Smelt's trees), gets are answered by the
nearest replica alone. Clients ask one thing after the other.
  --replicas N|nodes|cpus  so many; one per NUMA node; one per CPU               (nodes, 3 where there is only one)
  --clients N              threads that ask                                      (4)
  --cpus LIST              kernel CPUs, as 0-3,8: first the replicas', then the clients'
                           (without it: replicas spread over the nodes, clients on the CPUs left; where there are
                           fewer CPUs than threads, nothing is pinned)
  --gets PERCENT           of all operations                                     (80)
  --keys N                 8 bytes each                                          (1024)
  --value-bytes N          8 .. 65536; more than 16 are agreed on in fragments   (16)
  --seconds S              of each run, a fraction is allowed                    (2)
  --operations N           of each client, instead of a time
  --tree, --sequential, --both  how the acceptor tells the replicas              (both)
  --pattern NAME           of the tree                                           (adaptive)
  --check                  record the history, and say whether it is linearizable: 1 is returned if not
  --seed N                 of the random choices                                 (1)
)";

struct Arguments {
  StoreOptions store;
  Load load;
  std::string replicas = "nodes";
  std::vector<unsigned> cpus;
  bool tree = true, sequential = true, check = false;
};

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

// "0-3,8", as the kernel writes it and people do.
std::optional<std::vector<unsigned>> cpu_list(std::string_view text) {
  std::vector<unsigned> cpus;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const size_t dash = part.find('-');
    const auto from = number<unsigned>(part.substr(0, dash));
    const auto to = dash == part.npos ? from : number<unsigned>(part.substr(dash + 1));
    if (!from || !to || *from > *to || *to >= CPU_SETSIZE) return {};
    for (unsigned cpu = *from; cpu <= *to; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<unsigned> allowed_cpus() {
  cpu_set_t set;
  std::vector<unsigned> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

// The NUMA node of each of these CPUs, by the kernel; 0 where it does not say.
std::vector<unsigned> nodes_of(const std::vector<unsigned>& cpus) {
  std::vector<unsigned> nodes(cpus.size(), 0);
  for (unsigned node = 0; node < 1024; ++node) {
    FILE* file = std::fopen(("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist").c_str(), "r");
    if (!file) continue;
    char line[4096] = "";
    if (std::fgets(line, sizeof line, file)) {
      line[std::strcspn(line, "\n")] = '\0';
      const std::vector<unsigned> members = cpu_list(line).value_or(std::vector<unsigned>{});
      for (size_t i = 0; i < cpus.size(); ++i)
        if (std::ranges::find(members, cpus[i]) != members.end()) nodes[i] = node;
    }
    std::fclose(file);
  }
  return nodes;
}

// Replicas take the CPUs node by node in turn, so that as many as there are nodes are one on each.
void place(Arguments* arguments) {
  StoreOptions& store = arguments->store;
  std::vector<unsigned> cpus = arguments->cpus;
  const std::vector<unsigned> all = allowed_cpus();
  std::vector<unsigned> nodes = nodes_of(all), distinct = nodes;
  std::ranges::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (arguments->replicas == "cpus")
    store.replicas = static_cast<unsigned>(cpus.empty() ? all.size() : cpus.size());
  else if (arguments->replicas == "nodes")
    store.replicas = distinct.size() < 2 ? 3 : static_cast<unsigned>(distinct.size());
  if (cpus.empty()) {
    std::vector<std::vector<unsigned>> of_node(distinct.size());
    for (size_t i = 0; i < all.size(); ++i)
      of_node[std::ranges::find(distinct, nodes[i]) - distinct.begin()].push_back(all[i]);
    for (size_t turn = 0; cpus.size() < all.size(); ++turn)
      for (const std::vector<unsigned>& node : of_node)
        if (turn < node.size()) cpus.push_back(node[turn]);
    if (cpus.size() < store.replicas + store.clients) return;
  }
  // Where a list was given, CPUs are taken again when it is at its end.
  for (unsigned i = 0; i < store.replicas; ++i) store.replica_cpus.push_back(cpus[i % cpus.size()]);
  for (unsigned i = 0; i < store.clients; ++i) store.client_cpus.push_back(cpus[(store.replicas + i) % cpus.size()]);
}

bool parse(int argc, char** argv, Arguments* arguments) {
  enum : int {
    kReplicas = 1000,
    kClients,
    kCpus,
    kGets,
    kKeys,
    kBytes,
    kSeconds,
    kOperations,
    kTree,
    kSequential,
    kBoth,
    kPattern,
    kCheck,
    kSeed,
    kHelp
  };
  const option options[] = {{"replicas", required_argument, nullptr, kReplicas},
                            {"clients", required_argument, nullptr, kClients},
                            {"cpus", required_argument, nullptr, kCpus},
                            {"gets", required_argument, nullptr, kGets},
                            {"keys", required_argument, nullptr, kKeys},
                            {"value-bytes", required_argument, nullptr, kBytes},
                            {"seconds", required_argument, nullptr, kSeconds},
                            {"operations", required_argument, nullptr, kOperations},
                            {"tree", no_argument, nullptr, kTree},
                            {"sequential", no_argument, nullptr, kSequential},
                            {"both", no_argument, nullptr, kBoth},
                            {"pattern", required_argument, nullptr, kPattern},
                            {"check", no_argument, nullptr, kCheck},
                            {"seed", required_argument, nullptr, kSeed},
                            {"help", no_argument, nullptr, kHelp},
                            {}};
  for (int which; (which = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
    const std::string text = optarg ? optarg : "";
    // Whole numbers between two bounds.
    const auto whole = [&](auto* to, uint64_t least, uint64_t most) {
      const auto value = number<uint64_t>(text);
      if (!value || *value < least || *value > most) {
        std::fprintf(stderr, "kvstore: '%s' is not a number from %llu to %llu\n", text.c_str(),
                     static_cast<unsigned long long>(least), static_cast<unsigned long long>(most));
        return false;
      }
      *to = static_cast<std::remove_pointer_t<decltype(to)>>(*value);
      return true;
    };
    bool fine = true;
    switch (which) {
      case kReplicas:
        arguments->replicas = text;
        if (text != "nodes" && text != "cpus") fine = whole(&arguments->store.replicas, 2, onepaxos::kMaxReplicas);
        break;
      case kClients: fine = whole(&arguments->store.clients, 1, 1024); break;
      case kGets: fine = whole(&arguments->load.gets, 0, 100); break;
      case kKeys: fine = whole(&arguments->load.keys, 1, 100'000'000); break;
      case kBytes: fine = whole(&arguments->load.value_bytes, 8, kMaxValueBytes); break;
      case kOperations:
        fine = whole(&arguments->load.operations, 1, uint64_t{1} << 40);
        arguments->load.time = {};
        break;
      case kSeed: fine = whole(&arguments->load.seed, 0, UINT64_MAX); break;
      case kSeconds: {
        const auto seconds = number<double>(text);
        if (!seconds || !(*seconds > 0 && *seconds <= 86400)) {
          std::fprintf(stderr, "kvstore: '%s' is not a number of seconds up to 86400\n", text.c_str());
          return false;
        }
        arguments->load.time = std::chrono::nanoseconds(static_cast<int64_t>(*seconds * 1e9));
        break;
      }
      case kCpus: {
        const auto cpus = cpu_list(text);
        if (!cpus || cpus->empty()) {
          std::fprintf(stderr, "kvstore: '%s' is not a list of CPUs, as 0-3,8\n", text.c_str());
          return false;
        }
        arguments->cpus = *cpus;
        break;
      }
      case kTree: arguments->sequential = false, arguments->tree = true; break;
      case kSequential: arguments->tree = false, arguments->sequential = true; break;
      case kBoth: arguments->tree = arguments->sequential = true; break;
      case kPattern: arguments->store.agreement.pattern = text; break;
      case kCheck: arguments->check = arguments->load.record = true; break;
      case kHelp: std::fputs(kUsage, stdout); std::exit(0);
      default: return false;
    }
    if (!fine) return false;
  }
  if (optind < argc) {
    std::fprintf(stderr, "kvstore: '%s'?\n", argv[optind]);
    return false;
  }
  return true;
}

// One run, one line. False: the history is wrong, or somebody was not answered.
bool measure(const Arguments& arguments, onepaxos::Broadcast broadcast) {
  StoreOptions options = arguments.store;
  options.agreement.broadcast = broadcast;
  options.keys = arguments.load.keys;
  options.value_bytes = arguments.load.value_bytes;
  Store store(options);
  store.start();
  const Loaded loaded = run(store, options, arguments.load);
  store.stop();

  const double seconds = std::chrono::duration<double>(loaded.time).count();
  const auto us = [](const Histogram& times, double part) { return static_cast<double>(times.quantile(part)) / 1e3; };
  std::printf("%-10s %8u %7u %11.0f %9.1f %9.1f %11.0f %9.1f %9.1f\n",
              broadcast == onepaxos::Broadcast::kTree ? "tree" : "sequential", store.replicas(), store.clients(),
              static_cast<double>(loaded.gets.total()) / seconds, us(loaded.gets, 0.5), us(loaded.gets, 0.99),
              static_cast<double>(loaded.sets.total()) / seconds, us(loaded.sets, 0.5), us(loaded.sets, 0.99));
  if (loaded.unanswered != 0)
    std::printf("  %llu operations were not answered\n", static_cast<unsigned long long>(loaded.unanswered));
  Served all;
  for (unsigned i = 0; i < store.replicas(); ++i) {
    const Served& one = store.server(i).served();
    all.waited += one.waited, all.excluded += one.excluded, all.returned += one.returned;
  }
  if (all.excluded != 0)
    std::printf("  replicas excluded %llu times, returned %llu, clients moved %llu\n",
                static_cast<unsigned long long>(all.excluded), static_cast<unsigned long long>(all.returned),
                static_cast<unsigned long long>(loaded.moves));
  std::fflush(stdout);
  if (!arguments.check) return loaded.unanswered == 0;
  const Verdict verdict = check_history(loaded.history);
  if (verdict.outcome == Outcome::kLinearizable)
    std::printf("  %zu operations: linearizable; %llu gets waited for a set\n", loaded.history.size(),
                static_cast<unsigned long long>(all.waited));
  else
    std::printf("  %zu operations: %s: key %llu: %s\n", loaded.history.size(),
                verdict.outcome == Outcome::kGaveUp ? "not known whether linearizable" : "NOT LINEARIZABLE",
                static_cast<unsigned long long>(verdict.key), verdict.why.c_str());
  return verdict.outcome == Outcome::kLinearizable && loaded.unanswered == 0;
}

int start(int argc, char** argv) {
  Arguments arguments;
  arguments.load.time = 2s;
  if (!parse(argc, argv, &arguments)) {
    std::fputs("kvstore --help says what there is\n", stderr);
    return 2;
  }
  place(&arguments);
  std::printf("%u replicas, %u clients%s, %u %% gets, %llu keys, values of %zu bytes\n", arguments.store.replicas,
              arguments.store.clients, arguments.store.replica_cpus.empty() ? ", not pinned" : "", arguments.load.gets,
              static_cast<unsigned long long>(arguments.load.keys), arguments.load.value_bytes);
  std::printf("%-10s %8s %7s %11s %9s %9s %11s %9s %9s\n", "broadcast", "replicas", "clients", "gets/s", "p50 us",
              "p99 us", "sets/s", "p50 us", "p99 us");
  bool fine = true;
  if (arguments.tree) fine &= measure(arguments, onepaxos::Broadcast::kTree);
  if (arguments.sequential) fine &= measure(arguments, onepaxos::Broadcast::kSequential);
  return fine ? 0 : 1;
}

}  // namespace
}  // namespace kvstore

int main(int argc, char** argv) {
  try {
    return kvstore::start(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kvstore: %s\n", error.what());
    return 2;
  }
}
