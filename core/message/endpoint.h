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
// return. Of those that wait one polls, the others sleep (waiters.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/object.h"
#include "message/area.h"
#include "message/counters.h"
#include "message/inbox.h"
#include "message/liveness.h"
#include "message/match.h"
#include "message/packet_pool.h"
#include "message/request.h"
#include "message/store.h"
#include "message/waiters.h"

struct smelt_endpoint_carrier;

namespace smelt::message {

// A message as probe() tells of it.
struct Seen {
  uint16_t sender;
  int32_t tag;
  uint64_t length;
};

class Far;

class Endpoint : public Object {
 public:
  // `memory`: shape.bytes() that all members have mapped, zeroed; each calls this, and none sends before all have
  // (the caller's barrier). `single_copy`: may we read the others' memory? 0, -ENOMEM, -EINVAL.
  static int open(void* memory, const Shape& shape, uint16_t me, bool single_copy, Endpoint** endpoint);
  // Nobody uses it any more. Messages that were sent and not received are lost, and a request that is not complete is
  // not touched again. Where a sender has not been told for want of room that its message was received, it is told now,
  // if it makes room within a second.
  static void close(Endpoint* endpoint);

  // Before the first message. Messages of more than `eager` bytes (at most a packet) are announced, and received by
  // single copy if they have at least `single_copy`.
  void set_limits(uint64_t eager, uint64_t single_copy);
  void set_single_copy(bool allowed);  // as open() says
  // One thread at a time calls, and the caller sees to the order (lock_bit.h). Before the first message.
  void set_alone(bool alone);
  // Are there more members than CPUs for them? (At first not.)
  void set_crowded(bool crowded) { crowded_ = crowded; }
  // A waiter calls this now and then, with no lock: other communication of the program. Before the first message.
  void set_host(void (*progress)(void* argument), void* argument);
  // Members on other machines, from the number of this machine's on. Before the first message to or from them, and
  // nobody else is within. 0, -EINVAL, -ENOMEM, or the carrier's error. Closed with the endpoint.
  int carry(const smelt_endpoint_carrier& carrier);
  // How long a sleeper sleeps before it asks whether the others live; 0: until somebody wakes it. ns
  void set_sleep(int64_t ns) { waiters_.set_sleep(ns); }

  // 0, or -EINVAL, and then the request is not begun. `done`: is it complete? (Then `completed` is not called.)
  // `synchronous`: it is not before the message has met its receive.
  int send(Request* request, uint16_t to, uint16_t context, int32_t tag, const void* data, uint64_t bytes,
           bool synchronous = false, bool* done = nullptr);
  // A message of at most eager_bytes() to a member of this machine, which needs no request: at once, or not at all
  // (false).
  bool send_now(uint16_t to, uint16_t context, int32_t tag, const void* data, uint64_t bytes);
  // source < 0: of anybody. any_tag: of any tag of 0 and more; `tag` is then 0.
  int receive(Request* request, int32_t source, uint16_t context, int32_t tag, bool any_tag, void* buffer,
              uint64_t capacity, bool* done = nullptr);
  // The message that `holder` has taken, which begins anew.
  void receive_held(Request* request, Request* holder, void* buffer, uint64_t capacity, bool* done = nullptr);
  // Takes back a receive that has not met its message: then it is complete, with -ECANCELED. False: it has met it.
  bool cancel(Request* receive);
  // The users of the context are through with it: its messages that have come, and that nobody has received, are lost.
  // A send that waits for its receive goes on waiting.
  void forget(uint16_t context);
  // Will no more come from there (below 0: from anybody else), because they have died, and all that they had sent has
  // been taken in? Asks the kernel for all members, unless it was asked just now.
  bool is_lost(int32_t source);
  // The message that such a receive would get now, if there is one. Makes no progress.
  bool probe(int32_t source, uint16_t context, int32_t tag, bool any_tag, Seen* seen);

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

  const MatchTable& table() const { return table_; }
  uint64_t eager_bytes() const { return eager_bytes_; }
  Counters counters() const;

 private:
  friend class Far;
  struct Queue;  // sends and replies that wait for room in one member's inbox
  enum class Announced { kNoRoom, kUnderWay, kComplete };
  Announced announce(Request* request);
  void ask_ahead(const Inbox& inbox, uint64_t position, uint64_t bytes) const;
  static void begin_receive(Request* request, void* buffer, uint64_t capacity);
  bool met(Request* receive, Message* message);
  void note(Queue* queue);
  enum class Taken { kNot, kUnasked, kAwaited };  // kNot: for want of memory, it stays where it is
  Taken take_cell(const InboxCell& cell, uint16_t from, Message** first, Message** last);
  enum class Claim { kNobodys, kOfOneAlive, kOfOneDead };
  Claim pass_claimed();
  void deliver_list(Message* first);
  bool drain_some(uint32_t wanted);  // true: something was done
  bool drain_all();                  // true: all that was there has been seen
  bool launch();
  bool launch_pieces(Queue* queue, uint16_t to, Request** completed, Request** last);
  void left_unexpected();
  bool take_in(Message* message, MatchNode* met, Message** first, Message** last);
  bool deliver(Request* receive, Message* message);
  bool deliver_long(Request* receive, Message* message);
  int read_whole(Request* receive, const Message& message, uint64_t bytes);
  void ask_for_pieces(Request* receive, Message* message, uint64_t bytes);
  uint64_t part_of(uint64_t length) const;
  void grant(const Header& header, uint16_t to);
  void take_piece(const Header& header, uint16_t sender);
  void reply(Message* message);
  bool put(uint16_t to, const Header& header);
  bool keep(Message* message);
  bool has_room(uint64_t bytes);
  void look_for_dead(Request* const* requests, uint32_t count);
  void abandon(Request* request);
  void abandon_send(Request* send);
  void wait_on(Waiter* waiter, Request* const* requests, uint32_t count);
  template <typename Lacking>
  void poll_while(const Lacking& lacking, Request* const* requests, uint32_t count);
  bool should_make_room();
  uint32_t rounds() const;

  Areas areas_;
  bool alone_ = false, crowded_ = false;
  uint32_t members_ = 0;  // with those on other machines
  Far* far_ = nullptr;
  uint32_t share_ = 0;   // of a sender's packets that we hold at most
  int32_t process_ = 0;  // ours
  uint64_t eager_bytes_ = 0, single_copy_bytes_ = 0;
  void (*host_)(void*) = nullptr;
  void* host_argument_ = nullptr;
  std::atomic<bool> single_copy_{false};
  std::atomic<bool> expects_dead_{false};  // a cell may have been claimed by a member that has died since
  MatchTable table_;
  PacketPool pool_, pieces_;
  Queue* queues_ = nullptr;                // [members]
  std::atomic<uint32_t>* held_ = nullptr;  // [members] packets, with messages that nobody has asked for
  alignas(64) std::atomic<uintptr_t> draining_{0};
  InboxReader reader_;
  uint64_t arrivals_ = 0;
  Message* spare_ = nullptr;
  void* spare_room_ = nullptr;  // for a body that nobody has asked for, of so many bytes
  uint64_t spare_bytes_ = 0;
  std::atomic<uint64_t> inline_{0}, eager_{0}, unexpected_{0}, longest_{0};  // Counters; the drainer's to write
  alignas(64) std::atomic<uint64_t> asked_for_{0};                           // of the unexpected: received since
  alignas(64) std::atomic<uint64_t> single_copies_{0}, in_pieces_{0}, deferred_{0};
  alignas(64) std::atomic<uint32_t> queues_waiting_{0};
  Store store_;
  Liveness liveness_;
  Waiters waiters_;
};

}  // namespace smelt::message
