// One rail as libfabric gives it: an endpoint bound to the address of one interface, its completion queue and its
// address vector. libfabric is opened when the first port is: nothing else of a program needs it, and loading it loads
// the libraries of every kind of network there is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smelt::rail_ofi {

struct Event {
  void* context;   // of the send or receive that is complete
  uint32_t bytes;  // received
  int error;       // 0, or a positive errno: it failed
};

class Port {
 public:
  // `address`: IPv4, in text. By the provider that was sampled, by another where that is not there.
  // 0; -ENOSYS: no libfabric here; -ENODEV: it has no endpoint at this address; -ENOMEM.
  int open(const char* address, const char* sampled);
  void close();
  bool is_open() const { return endpoint_ != nullptr; }

  int name(void* text, size_t* bytes) const;                        // by which peers find it; 0 or a negative errno
  int insert(const void* peer_name, size_t bytes, uint64_t* peer);  // 0, -EINVAL: that is no name

  // The buffer is the port's until an event has the context. 0; -EAGAIN: later; else the peer cannot be reached now.
  int send(const void* data, size_t bytes, uint64_t peer, void* context);
  int receive(void* buffer, size_t bytes, void* context);
  uint32_t poll(Event* events, uint32_t room);  // how many there are, at most `room`

  // The clock by which packets come and are missed, in ns. The tests' ports have one that goes by looks, so that a busy
  // machine is not taken for a slow rail.
  static int64_t now();

 private:
  int find(const char* address, const char* sampled);
  int find_at(const char* address, const char* provider);

  // libfabric's
  struct fi_info* info_ = nullptr;
  struct fid_fabric* fabric_ = nullptr;
  struct fid_domain* domain_ = nullptr;
  struct fid_cq* queue_ = nullptr;
  struct fid_av* addresses_ = nullptr;
  struct fid_ep* endpoint_ = nullptr;
};

}  // namespace smelt::rail_ofi
