// Messages between the participants of one machine: one endpoint each, over memory that all share.
//
// A message is asked for by context, source and tag (match.h), and travels in one of four ways:
//
//   inline       up to kInlineBytes: in the receiver's inbox (inbox.h), in a cell or in its body
//   eager        up to a limit, at most a packet: copied into a packet of the sender (packet_pool.h), which the
//                receiver reads and returns. The send is complete at once.
//   single copy  longer: the inbox has only the address; the receiver reads the sender's memory when it knows where to
//                (direct_copy.h's way), and says so in the sender's inbox
//   pieces       longer, where single copy is refused or slower, and where the sender's data do not lie in one piece:
//                the receiver says where to, and the sender's data follow in pieces (pieces.cc)
//
// All announce themselves in the inbox, so they match in the order in which they were sent. (Dang, Snir and Gropp,
// EuroMPI 2016, section 2.3, let the receiver announce itself instead, which needs equal lengths and no wildcards.)
//
// Nothing waits but wait(). A send for which there is no room in the receiver's inbox, or no packet, is put in a queue
// per receiver, and later sends go behind it; so is a receiver's answer to a sender. progress() sends it later.
// Receiving never needs room anywhere else: so two that send to each other, and do not receive yet, cannot block each
// other. A message that nobody has asked for is taken out of the inbox into memory of the receiver; and so is its
// packet, when a receiver holds its share of the sender's already. So one that is asked for comes through, however many
// lie before it that are not.
//
// Any thread may call anything at any time, but a request belongs to one thread at a time: it lives, and its buffer,
// until it is complete. A thread that calls progress() does everybody's work; one thread empties the inbox, the others
// return. One of the waiting threads polls, the others sleep.
//
// The endpoint is a door. Behind it are five parts, each with state of its own that nobody else touches:
//
//     Waiters    which thread polls for all, which ones sleep       waiters.h    calls nobody
//     Inflow     what comes: the inbox, matching, delivery          inflow.h     calls Outbox, Liveness, Store
//     Outbox     what leaves: sends, answers, what waits for room   outbox.h     calls Store
//     Liveness   which members have died                            liveness.h   calls nobody
//     Store      memory for messages that wait in this process      store.h      calls nobody
//
// What needs several of them is the endpoint's own: progress(), waiting (wait.cc), and the end of requests whose other
// side has died (abandon.cc). Members on other machines are reached by a carrier, which is no part of it (carrier.h).
#pragma once

#include <cstdint>

#include "base/object.h"
#include "message/area.h"
#include "message/counters.h"
#include "message/inflow.h"
#include "message/liveness.h"
#include "message/outbox.h"
#include "message/request.h"
#include "message/store.h"
#include "message/waiters.h"

struct smelt_carriage;

namespace smelt::message {

class Carrier;

class Endpoint : public Object {
 public:
  // `memory`: shape.bytes() that all members have mapped, zeroed; each calls this, and none sends before all have
  // (the caller's barrier). `single_copy`: may we read the others' memory? 0, -ENOMEM, -EINVAL.
  static int open(void* memory, const Shape& shape, uint16_t me, bool single_copy, Endpoint** endpoint);
  // Nobody uses it any more. Messages that were sent and not received are lost, and a request that is not complete is
  // not touched again. Where a sender has not been told for want of room that its message was received, it is told now,
  // if it makes room within a second.
  static void close(Endpoint* endpoint);

  // It must be called before the first message. Messages of more than `eager` bytes (at most a packet) are announced,
  // and received by single copy if they have at least `single_copy`.
  void set_limits(uint64_t eager, uint64_t single_copy);
  // Whether single copy or pieces is found out by trying both (way_trials.h), and set_limits() is where that begins. At
  // first set_limits() alone decides.
  void set_trials(bool on) { inflow_.set_trials(on); }
  void set_single_copy(bool allowed) { inflow_.set_single_copy(allowed); }  // as open() says
  // One thread at a time calls, and the caller sees to the order (lock_bit.h). It must be called before the first
  // message.
  void set_alone(bool alone);
  // Are there more members than CPUs for them? (At first not.)
  void set_crowded(bool crowded) { crowded_ = crowded; }
  // A waiter calls this now and then, with no lock: other communication of the program. It must be called before the
  // first message.
  void set_host(void (*progress)(void* argument), void* argument) { host_ = progress, host_argument_ = argument; }
  // Members on other machines, from the number of this machine's on. Before the first message to or from them, and
  // nobody else is within. 0, -EINVAL, or the carrier's error. Closed with the endpoint.
  int carry(const smelt_carriage& carriage, void* rails, uint32_t peers);
  // How long a sleeper sleeps before it asks whether the others live; 0: until somebody wakes it. ns
  void set_sleep(int64_t ns) { waiters_.set_sleep(ns); }

  // 0, or -EINVAL, and then the request is not begun. `done`: is it complete? (Then `completed` is not called.)
  // `synchronous`: it is not before the message has met its receive.
  int send(Request* request, uint16_t to, uint16_t context, int32_t tag, const void* data, uint64_t bytes,
           bool synchronous = false, bool* done = nullptr) {
    return outbox_.send(request, to, context, tag, data, bytes, synchronous, done);
  }
  // A message of at most eager_bytes() to a member of this machine, which needs no request: at once, or not at all
  // (false).
  bool send_now(uint16_t to, uint16_t context, int32_t tag, const void* data, uint64_t bytes) {
    return outbox_.send_now(to, context, tag, data, bytes);
  }
  // source < 0: of anybody. any_tag: of any tag of 0 and more; `tag` is then 0.
  int receive(Request* request, int32_t source, uint16_t context, int32_t tag, bool any_tag, void* buffer,
              uint64_t capacity, bool* done = nullptr) {
    return inflow_.receive(request, source, context, tag, any_tag, buffer, capacity, done);
  }
  // The message that `holder` has taken, which begins anew.
  void receive_held(Request* request, Request* holder, void* buffer, uint64_t capacity, bool* done = nullptr) {
    inflow_.receive_held(request, holder, buffer, capacity, done);
  }
  // Takes back a receive that has not met its message: then it is complete, with -ECANCELED. False: it has met it.
  bool cancel(Request* receive);
  // The users of the context are through with it: its messages that have come, and that nobody has received, are lost.
  // A send that waits for its receive goes on waiting.
  void forget(uint16_t context);
  // Will no more come from there (below 0: from anybody else), because they have died, and all that they had sent has
  // been taken in? Asks the kernel for all members, unless it was asked just now.
  bool is_lost(int32_t source);
  // The message that such a receive would get now, if there is one. Makes no progress.
  bool probe(int32_t source, uint16_t context, int32_t tag, bool any_tag, Seen* seen) {
    return inflow_.probe(source, context, tag, any_tag, seen);
  }

  // Is it complete? Makes no progress.
  bool test(const Request* request) const { return request->is_complete(); }
  // Empties the inbox, up to `wanted` messages that were waited for (from 1 on); sends what waited for room. True:
  // something was done, and there may be more.
  bool progress(uint32_t wanted = 1);
  // Makes progress until it is complete; its error. Notices when the other has died, or, where the message may come
  // from anybody, all others.
  int wait(Request* request);
  // Until at least `needed` of them are complete (at most `count`, which are all different). Returns how many are.
  uint32_t wait_for(Request* const* requests, uint32_t count, uint32_t needed);

  const MatchTable& table() const { return inflow_.table(); }
  uint64_t eager_bytes() const { return outbox_.eager_bytes(); }
  Counters counters() const;
  // Long messages under way: of ours, and to us in pieces.
  uint32_t long_under_way() const { return outbox_.long_under_way(); }
  uint32_t awaited_in_pieces() const { return inflow_.awaited_in_pieces(); }

 private:
  // wait.cc
  void wait_on(Waiter* waiter, Request* const* requests, uint32_t count);
  template <typename Lacking>
  void poll_while(const Lacking& lacking, Request* const* requests, uint32_t count);
  bool should_make_room();
  uint32_t rounds() const;
  // abandon.cc
  void look_for_dead(Request* const* requests, uint32_t count);
  void abandon(Request* request);
  void abandon_send(Request* send);

  Areas areas_;
  uint32_t members_ = 0;  // with those on other machines
  bool alone_ = false, crowded_ = false;
  Carrier* far_ = nullptr;  // nullptr: all members are on this machine
  void (*host_)(void*) = nullptr;
  void* host_argument_ = nullptr;
  Store store_;
  Liveness liveness_;
  Outbox outbox_;
  Inflow inflow_;
  Waiters waiters_;
};

}  // namespace smelt::message
