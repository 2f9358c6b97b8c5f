// Broadcasts over shared lines as Open MPI's component xhc does them, with what was tried to make them cheaper: what
// they take by the model. For tables that others measured (broadcast_table.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
#include "model/cost_model.h"
#include "schedule/schedule.h"

namespace smelt {

// What a table calls "flat", "dual", "opt4,8K,wait", ...; broadcast_simulation.cc has their meaning.
struct BroadcastConfiguration {
  bool per_socket = false;    // flags, and buffers of short messages
  bool far_first = false;     // the other socket's flag is written before the root's own
  uint64_t buffered = 512;    // messages of up to so many bytes go through the buffer
  bool written_back = false;  // longer ones
  bool ordered = false, strict = false;
  bool ordered_if_long = false;
  uint64_t chunk = 16 << 10;
};

// False: nothing is known of it.
bool parse_configuration(const std::string& text, BroadcastConfiguration* out);

// Participants who are ranks 0, 1, ..., the first `near` on one socket and the others on the other one. Rank 0 is the
// root. Throws UserError.
class BroadcastSimulation {
 public:
  BroadcastSimulation(const Costs& machine, std::span<const uint16_t> members, uint32_t near);

  // The mean over the ranks of their own times, from when each has left a barrier. Beside what is simulated the root
  // takes `call` ns, and `shown` more where others read its own memory.
  double mean(const BroadcastConfiguration& configuration, uint64_t bytes, double call, double shown);

 private:
  struct Reading;
  double hop(uint32_t r) const { return costs_.hop[r]; }
  double ready(uint32_t r) const { return costs_.ready_read[r]; }
  double crossing() const;
  double pace(uint32_t r) const;
  double crossed_pace(uint64_t lines, bool far_first) const;
  void read_message(const Reading& reading, std::vector<double>& done) const;
  void acknowledge(std::vector<double>& done) const;
  Schedule flags(bool per_socket);
  std::vector<double> times(const Schedule& schedule, std::vector<double> begin);

  const uint32_t n_, near_;  // near: on the root's socket
  MappedArena arena_;
  Costs costs_;
  std::vector<double> left_;
};

}  // namespace smelt
