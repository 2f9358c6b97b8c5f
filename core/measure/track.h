// Threads on their CPUs that run barriers as they are told: finalists are timed on them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "schedule/schedule.h"

namespace smelt {

class Track {
 public:
  // One barrier for each schedule, all of n participants; they must live until run() is through for the first time.
  // Throws UserError: out of memory.
  explicit Track(const std::vector<const Schedule*>& schedules);
  ~Track();
  Track(const Track&) = delete;
  Track& operator=(const Track&) = delete;

  // Starts a thread on each CPU (kernel numbers, n >= 2 of them), runs `conductor` on the first, and returns when it is
  // done. Only the conductor may call the functions below. Throws UserError when a CPU may not be used.
  void run(const std::vector<uint32_t>& cpus, const std::function<void()>& conductor);

  // ns per episode, on the first CPU's clock; warm-up episodes do not count.
  double lap(uint32_t barrier, uint32_t episodes);
  // The same with the threads arriving apart: before each episode each stays away for a time of its own, 0 .. most_ns,
  // drawn by `sequence` (skew.h). ns per episode beyond its longest delay.
  double skewed_lap(uint32_t barrier, uint32_t episodes, double most_ns, uint32_t sequence);
  double hop();  // one way between the first two participants: 64 round trips, halved

 private:
  struct Lanes;
  struct Order;
  void create_barriers();
  void give(Order order);
  void await_done();
  void serve(uint32_t me, uint64_t number);
  uint64_t time_lap(Order order);
  void drive(uint32_t me, const Order& order);

  uint32_t n_ = 0;
  std::vector<const Schedule*> schedules_;  // of barriers that are not made yet
  std::vector<void*> memory_;               // of the barriers
  std::vector<uint64_t> bytes_;
  std::vector<uint64_t> episode_;  // last one of each barrier, as the conductor counts
  Lanes* lanes_ = nullptr;
  uint64_t orders_ = 0;
  uint64_t trips_ = 0;
};

}  // namespace smelt
