#include "rails/bench/nodes.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "bench/allowed_cpus.h"

namespace smelt {
namespace {

bool shell(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

// None: all.
std::vector<uint32_t> half_of(int node) {
  const std::vector<uint32_t> cpus = allowed_cpus();
  if (node == 0 || cpus.size() < 2 || cpus.back() >= CPU_SETSIZE) return {};
  const auto middle = cpus.begin() + static_cast<ptrdiff_t>(cpus.size() / 2);
  return node == 1 ? std::vector<uint32_t>(cpus.begin(), middle) : std::vector<uint32_t>(middle, cpus.end());
}

}  // namespace

Nodes::Nodes(uint32_t burst_kb) : owner_(::getpid()), burst_kb_(burst_kb) {}

Nodes::~Nodes() {
  if (::getpid() != owner_) return;  // a forked node
  for (const int fd : alive_) ::close(fd);
  for (const pid_t pid : relays_) ::kill(pid, SIGKILL), ::waitpid(pid, nullptr, 0);
  if (made_)
    for (const int node : {0, 1, 2}) shell("ip netns del " + name(node));
}

std::string Nodes::name(int node) const { return "smelt-" + std::to_string(owner_) + "-" + std::to_string(node); }

std::string Nodes::address(uint32_t rail, int node) {
  return "10.89." + std::to_string(rail) + "." + std::to_string(node);
}

std::string Nodes::tbf(uint32_t mbits) const {
  return " root tbf rate " + std::to_string(mbits) + "mbit burst " + std::to_string(burst_kb_) + "kb limit 2mb";
}

std::string Nodes::make() {
  if (::geteuid() != 0) return "only root makes network namespaces";
  for (const int node : {0, 1, 2}) {
    if (!shell("ip netns add " + name(node))) return "no network namespaces can be made here";
    made_ = true;
    shell("ip -n " + name(node) + " link set lo up");
  }
  return "";
}

std::string Nodes::add_rail(uint32_t mbits, uint32_t delay_us, const std::string& relay, const std::string& tcp) {
  const uint32_t i = rails_;
  bool up = delay_us > 0 ? add_relay(i, delay_us, relay)
                         : shell("ip -n " + name(1) + " link add " + interface(i) + " type veth peer name " +
                                 interface(i) + " netns " + name(2));
  for (const int node : {1, 2})
    up = up && shell("ip -n " + name(node) + " addr add " + address(i, node) + "/24 dev " + interface(i)) &&
         set(i, node, "up");
  if (!up) return "no veth interfaces can be made here";
  for (const int node : {1, 2})
    if (!tcp.empty())
      shell("ip -n " + name(node) + " route change " + address(i, 0) + "/24 dev " + interface(i) +
            " proto kernel scope link src " + address(i, node) + " congctl " + tcp);
  for (const int node : {1, 2})
    if (mbits > 0 && !shell("tc -n " + name(node) + " qdisc add dev " + interface(i) + tbf(mbits)))
      return "this kernel has no tbf: nothing can be slowed";
  ++rails_;
  return "";
}

bool Nodes::add_relay(uint32_t i, uint32_t delay_us, const std::string& relay) {
  const std::string ends[] = {std::string(1, 'a').append(interface(i)), std::string(1, 'b').append(interface(i))};
  for (const int node : {1, 2})
    if (!shell("ip -n " + name(node) + " link add " + interface(i) + " type veth peer name " + ends[node - 1] +
               " netns " + name(0)) ||
        !shell("ip -n " + name(0) + " link set " + ends[node - 1] + " up"))
      return false;
  int ready[2], alive[2];
  if (::pipe2(ready, O_CLOEXEC) != 0 || ::pipe2(alive, O_CLOEXEC) != 0) return false;
  const pid_t pid = ::fork();
  if (pid == 0) {
    enter(0);
    ::dup2(alive[0], 0), ::dup2(ready[1], 1);
    const std::string delay = std::to_string(delay_us);
    ::execl(relay.c_str(), "delay_relay", ends[0].c_str(), ends[1].c_str(), delay.c_str(), nullptr);
    ::_exit(1);
  }
  relays_.push_back(pid), alive_.push_back(alive[1]);
  ::close(alive[0]), ::close(ready[1]);
  char byte;
  const bool listens = ::read(ready[0], &byte, 1) == 1;
  ::close(ready[0]);
  return listens;
}

bool Nodes::limit(uint32_t rail, uint32_t mbits) {
  bool done = true;
  for (const int node : {1, 2})
    done = done && shell("tc -n " + name(node) + " qdisc change dev " + interface(rail) + tbf(mbits));
  return done;
}

bool Nodes::set(uint32_t rail, int node, const std::string& state) {
  return shell("ip -n " + name(node) + " link set " + interface(rail) + " " + state);
}

ScratchFolder::ScratchFolder() : owner_(::getpid()) {
  if (!::mkdtemp(path_.data())) path_.clear();
}

ScratchFolder::~ScratchFolder() {
  if (::getpid() == owner_ && !path_.empty()) shell("rm -rf '" + path_ + "'");
}

void Nodes::enter(int node) const {
  const int fd = ::open(("/run/netns/" + name(node)).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || ::setns(fd, CLONE_NEWNET) != 0) ::_exit(2);
  ::close(fd);
  cpu_set_t own;
  CPU_ZERO(&own);
  for (const uint32_t cpu : half_of(node)) CPU_SET(cpu, &own);
  if (CPU_COUNT(&own) > 0) (void)::sched_setaffinity(0, sizeof own, &own);  // where not, it measures as well as it can
}

std::string Nodes::cpus_of(int node) {
  std::string list;
  for (const uint32_t cpu : half_of(node)) list += (list.empty() ? "" : ",") + std::to_string(cpu);
  return list;
}

}  // namespace smelt
