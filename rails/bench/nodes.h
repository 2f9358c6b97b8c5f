// Two pretended nodes of this one machine: network namespaces with pairs of interfaces between them, limited in rate by
// tbf, and some of them far away (delay_relay). For the bench and for the tests; needs root.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace smelt {

class Nodes {
 public:
  // tbf lets so many KB through at once, after which it holds to its rate. With few, its timer must not be late: 64 KB
  // are what a busy machine needs, with 8 KB an idle one pretends networks that are slow from the first packet on.
  explicit Nodes(uint32_t burst_kb = 64);
  ~Nodes();  // ends the relays, removes everything
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  // "" or why not: not root, no namespaces, no veth, no tbf.
  std::string make();
  // A rail of so many Mbit/s, 0: as many as it can; its ends are called rail<i>, 10.89.<i>.1 and 10.89.<i>.2. Frames
  // take `delay_us` longer each way; that needs `relay`, the program delay_relay. `tcp`: TCP's congestion control
  // there; "", or one that the kernel has not: this machine's.
  std::string add_rail(uint32_t mbits, uint32_t delay_us = 0, const std::string& relay = "",
                       const std::string& tcp = "");

  bool limit(uint32_t rail, uint32_t mbits);                    // both directions, from now on
  bool set(uint32_t rail, int node, const std::string& state);  // "up", "down"
  // The calling thread; ends the process where it cannot. Nodes 1 and 2 have half of the CPUs each, as far as there are
  // two: on the same one, the kernel's turns are timed.
  void enter(int node) const;
  // Those CPUs, as taskset takes them; "": all.
  static std::string cpus_of(int node);
  std::string name(int node) const;  // of the namespace, as ip netns knows it
  uint32_t rails() const { return rails_; }
  static std::string interface(uint32_t rail) { return "rail" + std::to_string(rail); }
  static std::string address(uint32_t rail, int node);

 private:
  std::string tbf(uint32_t mbits) const;
  bool add_relay(uint32_t rail, uint32_t delay_us, const std::string& relay);

  pid_t owner_ = 0;
  uint32_t burst_kb_;
  bool made_ = false;
  uint32_t rails_ = 0;
  std::vector<pid_t> relays_;
  std::vector<int> alive_;
};

// A folder under /tmp, gone with this object in the process that made it.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }  // "": it could not be made

 private:
  const pid_t owner_;
  std::string path_ = "/tmp/smelt-rails.XXXXXX";
};

}  // namespace smelt
