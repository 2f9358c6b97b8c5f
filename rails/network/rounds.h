// Both ends of a ping-pong over a rail, for each way in which rails send messages; one end takes the times.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "rails/network/fabric.h"
#include "rails/rail/rail.h"

namespace smelt {

// Each message is received where the receive was posted before the sender could know: nothing comes unexpectedly but
// where the way itself leaves it so.
class Rounds {
 public:
  explicit Rounds(std::unique_ptr<FabricPort> port);

  // Before the first round: the memory for the other's first message.
  void prepare(RailMethod method, size_t bytes);
  // While the next step is agreed on: the peer may not have all of the last message yet.
  std::function<void()> meanwhile() {
    return [this] { port_->progress(); };
  }
  // The one that measures: times of one way, in µs. The first round warms up.
  std::vector<double> measure(RailMethod method, size_t bytes, uint32_t rounds);
  void answer(RailMethod method, size_t bytes, uint32_t rounds);

 private:
  void send(RailMethod method, size_t bytes);
  void ask_and_send(size_t bytes, bool more);
  void receive(RailMethod method, size_t bytes);
  void expect_packets(RailMethod method, size_t bytes);
  size_t packet_at(size_t offset) const;
  void post_packet();

  std::vector<char> data_, here_, there_, note_, noted_;
  size_t each_ = 0, expected_ = 0, posted_ = 0;  // bytes: of a message, of all, for which receives are posted
  const std::unique_ptr<FabricPort> port_;       // closed first: until then it may write into the buffers
};

}  // namespace smelt
