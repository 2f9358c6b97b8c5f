// Members on other machines: the carrier of an endpoint (message/carrier.h) over rails, which bring messages between
// two processes in order (smelt/rail.h).
//
// Their messages come into the same matching table as those of this machine's members, so wildcards, probes and order
// are nobody else's matter. Between two processes travel
//
//     sender                                   receiver
//       | ---- eager: header and data ---------> |   short ones; the send is complete when they are copied
//
//       | ---- announce: it is so long --------> |   long ones, and synchronous ones: has the place in the order
//       |                                        |   it meets its receive
//       | <--- go: so much of it, for that one - |   or, where there is nothing to bring: finish
//       | ---- data: so many bytes follow -----> |
//       | ---- these bytes --------------------> |   received where they belong, or unpacked from a parcel
//       | ---- data ... -----------------------> |   until all are there
//
// Each of these is a message of the rails, and all but the bytes fit into one buffer per peer. Bytes go in parts, so
// that other messages get in between; parts are short where data have gaps on either side. A message names a request by
// the number of a slot of the process that owns it, never by an address: words from elsewhere are checked before they
// are believed.
//
// Two kinds of locks. A peer's queue has one, held for a few instructions: anybody puts sends and answers there. The
// rails have one, as they are for one thread at a time; nobody ever waits for it. A thread that has put something into
// a queue tries to get it and to launch what waits, and so does everybody's progress. Arrived messages go to the table
// under the inbox's lock (CarrierHost::take_message), which is tried, too: a thread that cannot have it leaves the
// message where it is until the next turn. So a completion that sends, or makes progress, cannot meet a lock of its own
// thread.
//
// A peer with which the rails have failed, or whose words make no sense, is gone, like a member of this machine that
// has died: requests under way to and from it end with -EPIPE, as soon as the rails have none of them in hand.
#pragma once

#include <smelt/rail.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/object.h"
#include "message/carrier.h"
#include "message/request.h"
#include "message/store.h"
#include "rails/far/far_slots.h"

namespace smelt::message {

enum class FarKind : uint32_t { kEager = 1, kAnnounce, kGo, kFinish, kData };

// The beginning of a message of the rails; the bytes of long ones have none.
struct FarHeader {
  FarKind kind;
  uint16_t context, reserved;
  int32_t tag;
  uint32_t part;     // kGo: so many bytes at a time, at most
  uint64_t length;   // of the message; kGo: as much of it is wanted; kData: bytes that follow
  uint64_t send;     // the sender's slot; kEager, kData: 0
  uint64_t receive;  // kGo, kData: the receiver's
};
static_assert(sizeof(FarHeader) == 40);

// With its header and the rails' own it is one packet there.
inline constexpr uint64_t kFarEager = 63 * 1024;
// At a time: long enough for the rails to split it well, short enough for others to get in between.
inline constexpr uint64_t kFarPart = 1024 * 1024;
// Through pack and unpack; with the words before it no more than a parcel of 64 KiB.
inline constexpr uint64_t kFarPackedPart = 63 * 1024;

// A message of ours that the rails have; a parcel.
struct FarOutgoing {
  smelt_rail_request rail;
  FarOutgoing* behind;
  Request* send;          // whose bytes it has; nullptr: nobody waits for it
  bool is_part;           // of a long one
  uint64_t bytes, taken;  // of the send's data; of the parcel
  FarHeader header;
  char* data() { return reinterpret_cast<char*>(this + 1); }
};
static_assert(sizeof(FarOutgoing) == offsetof(FarOutgoing, header) + sizeof(FarHeader));

// Bytes that are to come; a parcel.
struct FarIncoming {
  smelt_rail_request rail;
  FarIncoming* behind;
  Request* receive;
  uint64_t bytes, taken;
  char* data() { return reinterpret_cast<char*>(this + 1); }
};

struct FarPeer {
  // Anybody's, under the lock
  alignas(64) std::atomic<uintptr_t> lock;
  std::atomic<uint32_t> anything;  // waits below
  std::atomic<uint32_t> gone;
  Request *first, *last;  // sends that are not announced yet
  Message *first_reply, *last_reply;
  // Of the thread that has the rails
  alignas(64) Request* first_granted, *last_granted;  // sends whose bytes are wanted
  FarOutgoing *first_outgoing, *last_outgoing;
  uint32_t outgoing, parts;  // of them: with bytes of long ones
  FarIncoming *first_incoming, *last_incoming;
  char* buffer;  // where the next one comes to
  smelt_rail_request rail;
};

// The rails below: smelt/rail.h's functions, or a test's.
struct FarRails {
  smelt_rails* rails;
  uint32_t peers;
  int (*send)(smelt_rails* rails, smelt_rail_request* request, uint32_t peer, const void* data, size_t bytes);
  int (*receive)(smelt_rails* rails, smelt_rail_request* request, uint32_t peer, void* buffer, size_t capacity);
  int (*test)(smelt_rails* rails, smelt_rail_request* request, size_t* bytes);
  int (*look)(const smelt_rail_request* request, size_t* bytes);
  void (*close)(smelt_rails* rails);
};

class Far : public Object, public Carrier {
 public:
  // The rails' peers are connected. nullptr: `error` says why, and the rails are still the caller's.
  static Far* open(const FarRails& rails, const CarrierHost& host, int* error);

  // As Carrier says
  void close();
  int send(Request* request, bool* done);
  bool receive(Request* request, Message* message);
  bool progress(bool at_leisure, bool near);
  bool is_gone(uint16_t member) const {
    // relaxed: once and for all
    return peers_[member - host_.near].gone.load(std::memory_order_relaxed) != 0;
  }

 private:
  static const Calls kCalls;

  void* new_parcel(uint64_t bytes) { return host_.new_parcel(host_.endpoint, bytes); }
  void free_parcel(void* parcel, uint64_t bytes) { host_.free_parcel(host_.endpoint, parcel, bytes); }
  void free_message(Message* message) { host_.free_message(host_.endpoint, message); }
  void finish(Request* request) { host_.finish(host_.endpoint, request); }

  FarPeer& peer_of(uint16_t member) const { return peers_[member - host_.near]; }
  uint32_t number_of(const FarPeer& peer) const { return static_cast<uint32_t>(&peer - peers_); }
  template <typename Waiting>
  bool put(FarPeer* peer, Waiting** first, Waiting** last, Waiting* one, Request* own, bool* own_done);
  // Answers a message to its sender, by its header; the message is free afterwards. False: the sender is gone.
  bool reply(Message* message);
  FarOutgoing* new_outgoing(uint64_t bytes);
  bool hand_over(FarPeer* peer, FarOutgoing* outgoing, const void* data, uint64_t bytes);
  bool launch(FarPeer* peer, Request* own, bool* own_done);
  bool launch_send(FarPeer* peer, Request* send, Request* own, bool* own_done);
  bool launch_reply(FarPeer* peer, Message* message);
  bool launch_part(FarPeer* peer);
  bool retire(FarPeer* peer);
  // far_gone.cc
  void fail(FarPeer* peer);
  bool is_carried(const FarPeer& peer, const Request* request) const;
  void end_if_not_carried(FarPeer* peer, Request* request);
  bool drop_bytes(FarPeer* peer);
  bool forget_all(FarPeer* peer);
  // far_receive.cc. A taken message is done with; else not now, or never (-EPROTO)
  enum class Taken { kYes, kLater, kNever };
  bool await(FarPeer* peer);
  bool take_arrivals(FarPeer* peer);
  bool take_bytes(FarPeer* peer);
  Taken take(FarPeer* peer, const FarHeader& header, uint64_t bytes);
  Taken take_message(FarPeer* peer, const FarHeader& header);
  Taken take_answer(FarPeer* peer, const FarHeader& header);
  Taken take_data(FarPeer* peer, const FarHeader& header);

  CarrierHost host_{};
  FarRails rails_{};
  FarPeer* peers_ = nullptr;
  char* buffers_ = nullptr;                     // one for each peer, for the next message from it
  alignas(64) std::atomic<uintptr_t> busy_{0};  // the lock of the rails, and of everything here but the queues
  FarSlots slots_;                              // of requests that the peers know by name
  // How often it is worth to look, beside idle_
  alignas(64) std::atomic<uint32_t> turn_{0};  // looks that were left out
  std::atomic<int64_t> looked_{0};             // ns: the last one
};

}  // namespace smelt::message
