// One rail as libfabric gives it: an endpoint that is bound to the address of one interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace smelt {

class FabricPort {
 public:
  virtual ~FabricPort() = default;
  virtual std::string provider() const = 0;
  virtual std::string name() const = 0;  // bytes by which the peer finds it
  virtual void connect(const std::string& peer_name) = 0;

  // Messages are received in the order in which they are sent, each by the receive that was posted as the same of its
  // order. Buffers belong to the port until wait_... said so. All throw UserError when the rail fails.
  virtual void post_receive(void* buffer, size_t bytes) = 0;
  virtual void send(const void* data, size_t bytes) = 0;
  virtual void send_pieces(const void* first, const void* second, size_t bytes_each) = 0;
  virtual void wait_received() = 0;  // for the next message, in order
  virtual void wait_sent() = 0;      // until nothing that was sent is still read
  // Some providers keep the end of a message in memory of their own where the network takes no more, and go on with it
  // when they are called the next time. Whoever waits for something else calls this meanwhile.
  virtual void progress() = 0;
};

// `largest`: the longest message. `idle` is called now and then while waiting; it may throw to end that. Throws
// UserError: no libfabric here, or it has no endpoint at this address.
std::unique_ptr<FabricPort> open_fabric_port(const std::string& local_address, size_t largest,
                                             std::function<void()> idle);
std::string fabric_library();  // "libfabric 1.17"; throws UserError

}  // namespace smelt
