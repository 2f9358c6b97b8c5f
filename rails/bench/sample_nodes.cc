#include "rails/bench/sample_nodes.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <vector>

#include "profile/text/error.h"
#include "rails/network/profile.h"
#include "rails/network/sampling.h"

namespace smelt {
namespace {

constexpr uint16_t kPort = 17312;
constexpr double kConnectSeconds = 20;

}  // namespace

void with_server(const Nodes& nodes, const std::string& served, const std::function<void(Control&)>& client) {
  int ready[2];
  if (::pipe(ready) != 0) throw UserError("no pipe");
  std::vector<pid_t> pids;
  for (const int node : {2, 1}) {
    std::fflush(stdout);
    const pid_t pid = ::fork();
    if (pid == 0) {
      int code = 1;
      nodes.enter(node);
      try {
        if (node == 2) {
          const Listener listener("0.0.0.0", kPort);
          (void)!::write(ready[1], "x", 1);
          Control control(listener.accept());
          const std::optional<NetworkProfile> profile = serve_sampling(control);
          if (profile) write_network_profile(*profile, served);
        } else {
          char byte;
          (void)!::read(ready[0], &byte, 1);
          Control control(connect_to(Nodes::address(0, 2), kPort, kConnectSeconds));
          client(control);
        }
        code = 0;
      } catch (const UserError& error) {
        fmt::print(stderr, "node {}: {}\n", node, error.what());
      }
      std::fflush(stdout);
      ::_exit(code);
    }
    pids.push_back(pid);
  }
  bool failed = false;
  for (const pid_t pid : pids) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    failed = failed || status != 0;
  }
  ::close(ready[0]), ::close(ready[1]);
  if (failed) throw UserError("the rails could not be sampled");
}

void sample_nodes(const Nodes& nodes, double seconds, const std::string& folder) {
  with_server(nodes, folder + "/node2.network.json", [&](Control& control) {
    SamplingOptions options;
    options.seconds = seconds;
    write_network_profile(sample_networks(control, options), folder + "/node1.network.json");
  });
}

}  // namespace smelt
