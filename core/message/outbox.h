// All that leaves this member: sends, receivers' answers to senders, and the sender's end of long messages in pieces.
//
// A message that finds room goes into its receiver's inbox at once. A message that finds none, or no packet, is put in
// a queue, one per receiver, and goes later, when a thread calls launch(). Sends of one receiver keep their order: a
// send that begins while others wait goes behind them. Answers need not, and go first, since somebody waits for them.
//
// A queue has a lock, held for a few instructions, or for as long as it takes to send what waits. The fast path takes
// none: it asks whether sends wait, claims a cell, writes it. Any thread may call anything.
//
// A send is in one place at a time, which its `stage` says: in the queue (kBegun), with the receiver (kAnnounced),
// among those whose pieces go (kInPieces), or complete (kEnded).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arena.h"
#include "message/area.h"
#include "message/counters.h"
#include "message/request.h"
#include "message/store.h"

namespace smelt::message {

class Carrier;

class Outbox {
 public:
  static uint64_t arena_bytes(const Shape& shape);
  bool open(Arena* arena, const Areas& areas, Store* store);  // false: no memory
  // Sends that have found no room until now are lost; they may have gone with their owners. Answers go, if there is
  // room within a second.
  void close();
  void set_alone(bool alone);  // lock_bit.h
  void set_eager(uint64_t bytes) { eager_bytes_ = bytes; }
  uint64_t eager_bytes() const { return eager_bytes_; }
  void set_far(Carrier* far, uint32_t members) { far_ = far, members_ = members; }

  // Its contract is Endpoint's.
  int send(Request* request, uint16_t to, uint16_t context, int32_t tag, const void* data, uint64_t bytes,
           bool synchronous, bool* done);
  bool send_now(uint16_t to, uint16_t context, int32_t tag, const void* data, uint64_t bytes);

  // A receiver's answer to the message's sender, one of this machine: its header. The message is free afterwards.
  void reply(Message* message);
  // One of our sends may go, in pieces: `to` has answered so.
  void grant(const Header& answer, uint16_t to);

  // Sends what found no room before. True: something went.
  bool launch() {
    // relaxed: a hint
    if (queues_waiting_.load(std::memory_order_relaxed) == 0) return false;
    return launch_waiting();
  }

  // Takes back the packets that a member which has died had of ours.
  void reclaim(uint16_t dead);
  // ... and a send to it, so that nobody else completes it. False: it is complete, or about to be. Nobody empties the
  // inbox meanwhile, where its answer may lie.
  bool take_back(Request* send);

  // How many long messages of ours has somebody yet to receive? Long: announced, and then read by its receiver or sent
  // in pieces.
  uint32_t long_under_way() const {
    // relaxed: a hint
    return long_under_way_.load(std::memory_order_relaxed);
  }
  // Has the last of them that is known of gone in pieces?
  bool sends_in_pieces() const {
    // relaxed: a hint
    return in_pieces_.load(std::memory_order_relaxed);
  }
  // A send is there, or its last piece is on its way, or its receiver has died.
  void finished(const Request& send, bool in_pieces) {
    if (!is_long(send.length)) return;
    add(long_under_way_, ~0u, alone_);
    // relaxed: a hint
    in_pieces_.store(in_pieces, std::memory_order_relaxed);
  }

  uint64_t deferred() const { return value_of(deferred_); }  // sends that have had to wait for room

 private:
  // Sends and answers that wait for room in one member's inbox.
  struct Queue {
    alignas(64) std::atomic<uintptr_t> lock;
    std::atomic<uint32_t> sends_wait;  // a send that begins now goes behind them
    std::atomic<uint32_t> anything;    // waits here
    Inbox inbox;                       // the member's
    Request *first, *last;             // sends that are not announced yet
    Message *first_reply, *last_reply;
    Request *first_granted, *last_granted;  // sends that go in pieces
  };
  enum class Announced { kNoRoom, kUnderWay, kComplete };

  Announced announce(Request* request);
  void ask_ahead(const Inbox& inbox, uint64_t position, uint64_t bytes) const;
  bool put(uint16_t to, const Header& header);
  void note(Queue* queue);
  bool launch_waiting();
  bool launch_pieces(Queue* queue, uint16_t to, Request** completed, Request** last);  // pieces.cc
  uint64_t part_of(uint64_t length) const;
  bool is_long(uint64_t bytes) const { return bytes > kInlineBytes && bytes > eager_bytes_; }

  Areas areas_;
  uint32_t members_ = 0;  // with those on other machines
  bool alone_ = false;
  uint64_t eager_bytes_ = 0;  // messages of more are announced
  Queue* queues_ = nullptr;   // [members of this machine]
  Store* store_ = nullptr;
  Carrier* far_ = nullptr;
  PacketPool pool_;   // of our own area, for eager messages
  PiecePool pieces_;  // ... for messages in pieces
  alignas(64) std::atomic<uint64_t> deferred_{0};
  std::atomic<uint32_t> long_under_way_{0};  // announced, and not yet there
  std::atomic<bool> in_pieces_{false};
  alignas(64) std::atomic<uint32_t> queues_waiting_{0};  // in which anything waits
};

}  // namespace smelt::message
