// The other side of a sampling, started by whom can start programs on that node: ssh, or what a cluster has instead.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace smelt {

class StartedPeer {
 public:
  // Runs `agent HOST smelt network listen ...` (`agent` in words, as ssh -p 2222) and waits until that listens. Throws
  // UserError: it could not be run, or ended, or said nothing for so long.
  StartedPeer(const std::string& agent, const std::string& host, double seconds);
  ~StartedPeer();  // it is asked to end where it has not
  StartedPeer(const StartedPeer&) = delete;
  StartedPeer& operator=(const StartedPeer&) = delete;

  uint16_t port() const { return port_; }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  uint16_t port_ = 0;
};

}  // namespace smelt
