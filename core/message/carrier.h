// Members on other machines, as the endpoint sees them: what it asks of their carrier, and what the carrier asks of it.
//
// The carrier is a house's (rails/far). Its library is opened by the host, and may have a copy of the runtime of its
// own, of which nothing was set up. So neither side calls a function of the other's by its name: the endpoint calls
// Carrier::Calls, the carrier calls CarrierHost. Both know the same Request and Message, so both must be of the same
// build of Smelt, which Endpoint::carry() asks for by the version.
#pragma once

#include <smelt/endpoint.h>

#include <atomic>
#include <cstdint>

namespace smelt::message {

class Endpoint;
struct Header;
struct Message;
struct Request;

// Any thread may call any of it. The carrier never waits for a lock of the endpoint's.
struct CarrierHost {
  Endpoint* endpoint;
  uint16_t near;  // members of this machine; peer i is member near + i

  // Memory as Store has it
  void* (*new_parcel)(Endpoint* endpoint, uint64_t bytes);
  void (*free_parcel)(Endpoint* endpoint, void* parcel, uint64_t bytes);
  void (*free_message)(Endpoint* endpoint, Message* message);
  // A message has come: kInline with its data, or kLong, announced, whose `answer` is the carrier's. False: not now, it
  // stays with the carrier.
  bool (*take_message)(Endpoint* endpoint, uint16_t sender, const Header& header, const void* data);
  void (*fetch)(Request* send, uint64_t at, void* to, uint64_t bytes);  // of the send's data
  void (*finish)(Endpoint* endpoint, Request* request);                 // it is complete
  void (*note_gone)(Endpoint* endpoint);  // a member is gone, which is_gone() says from now on
};

class Carrier {
 public:
  // The words of the carrier's library.
  struct Calls {
    int (*send)(Carrier* carrier, Request* request, bool* done);
    bool (*receive)(Carrier* carrier, Request* request, Message* message);
    bool (*progress)(Carrier* carrier, bool at_leisure, bool near);
    bool (*is_gone)(const Carrier* carrier, uint16_t member);
    void (*close)(Carrier* carrier);
  };

  // As Outbox::send() says, to a member of another machine. 0, -EPIPE.
  int send(Request* request, bool* done) { return calls_->send(this, request, done); }
  // A message that was announced has met its receive. True: that is complete.
  bool receive(Request* request, Message* message) { return calls_->receive(this, request, message); }
  // Takes in arrived messages and launches waiting ones. True: something was done. `at_leisure`: the caller has nothing
  // else to do; `near`: there was something of this machine's.
  bool progress(bool at_leisure, bool near) { return calls_->progress(this, at_leisure, near); }
  bool is_gone(uint16_t member) const { return calls_->is_gone(this, member); }
  // The messages given to the carrier go, and waiting senders are told that their messages were received, if the peers
  // take that within a second.
  void close() { calls_->close(this); }

  void wake() {
    // relaxed: a pace
    if (idle_.load(std::memory_order_relaxed) != 0) idle_.store(0, std::memory_order_relaxed);
  }
  // relaxed: a pace
  bool is_awake() const { return idle_.load(std::memory_order_relaxed) < kAwake; }

 protected:
  static constexpr uint32_t kAwake = 1000;  // looks in vain, until it is looked less often

  const Calls* calls_ = nullptr;
  alignas(64) std::atomic<uint32_t> idle_{0};  // looks in vain
};

}  // namespace smelt::message

// What smelt_endpoint_carrier.carriage is. `rails`: connected to so many peers. nullptr: `error` says why, and the
// rails are still the host's.
struct smelt_carriage {
  smelt::message::Carrier* (*open)(void* rails, uint32_t peers, const smelt::message::CarrierHost& host, int* error);
};
