// All that comes to this member: its inbox is emptied, messages meet their receives, and the receives get their data.
//
//     inbox's cell ---> the matching table ---> a receive waits there:  it gets the data, and is complete
//                                         \---> none does:  the message waits in memory of ours (store.h)
//
// One thread at a time empties the inbox, under the lock `draining_`; the others have better things to do, and return.
// So messages go to the table in the order in which they came. Messages of members on other machines come in under the
// same lock (take_far). A message whose data are still with its sender is delivered after the lock is released: reading
// takes long, and is each thread's own work.
//
// Nothing here waits for room anywhere, but for memory: a cell that cannot be taken in for want of that stays where it
// is. A packet may lie with a message that nobody has asked for, up to our share of its sender's packets; from then on
// such messages are moved out of theirs.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arena.h"
#include "message/area.h"
#include "message/counters.h"
#include "message/inbox.h"
#include "message/lock_bit.h"
#include "message/match.h"
#include "message/request.h"
#include "message/store.h"
#include "message/way_trials.h"

namespace smelt::message {

class Carrier;
class Liveness;
class Outbox;

// A message as probe() tells of it.
struct Seen {
  uint16_t sender;
  int32_t tag;
  uint64_t length;
};

class Inflow {
 public:
  static uint64_t arena_bytes(const Shape& shape) {
    return shape.members * sizeof(std::atomic<uint32_t>) + WayTrials::arena_bytes(shape.members);
  }
  bool open(Arena* arena, const Areas& areas, Store* store, Outbox* outbox,
            const Liveness* liveness);  // false: no memory
  void close() { table_.destroy(); }
  void set_alone(bool alone);                                                // lock_bit.h
  void set_single_copy_from(uint64_t bytes) { single_copy_bytes_ = bytes; }  // shorter ones come in pieces
  void set_single_copy(bool allowed) {
    // relaxed: it may as well be refused
    single_copy_.store(allowed, std::memory_order_relaxed);
  }
  void set_trials(bool on) { trials_.set_on(on); }  // the limit above is only where both ways have yet to be tried
  void set_far(Carrier* far, uint32_t members) { far_ = far, members_ = members; }

  // Its contract is Endpoint's (receive.cc).
  int receive(Request* request, int32_t source, uint16_t context, int32_t tag, bool any_tag, void* buffer,
              uint64_t capacity, bool* done);
  void receive_held(Request* request, Request* holder, void* buffer, uint64_t capacity, bool* done);
  bool probe(int32_t source, uint16_t context, int32_t tag, bool any_tag, Seen* seen);
  // A receive that has not met its message does not any more. False: it has met it.
  bool withdraw(Request* receive) { return table_.cancel(&receive->node); }
  // The messages of a context that have been taken in are lost.
  void forget(uint16_t context);

  // Takes messages in, up to `wanted` that somebody has waited for (from 1 on). True: something was done.
  bool drain_some(uint32_t wanted) {
    uintptr_t rest;
    return try_lock(draining_, &rest, alone_) && drain_locked(wanted);
  }
  // Takes in all that was there. False: one stays where it is, or is still being written.
  bool drain_all();
  // A message from another machine: kInline with its data, or kLong, announced. False: not now.
  bool take_far(uint16_t sender, const Header& header, const void* data);
  // A member has died, so a claimed cell may never be written: from now on Liveness is asked about those.
  void expect_the_dead() {
    // relaxed: a hint
    expects_dead_.store(true, std::memory_order_relaxed);
  }

  // Nobody empties the inbox as long as it lives.
  class Still {
   public:
    explicit Still(Inflow* inflow) : inflow_(inflow) { lock(inflow_->draining_, inflow_->alone_); }
    ~Still() { unlock(inflow_->draining_, 0); }
    Still(const Still&) = delete;
    Still& operator=(const Still&) = delete;

   private:
    Inflow* inflow_;
  };

  // How many messages' pieces have yet to come?
  uint32_t awaited_in_pieces() const {
    // relaxed: a hint
    return awaited_.load(std::memory_order_relaxed);
  }
  // A receive in pieces will not be completed: its sender has died.
  void lost_pieces() { add(awaited_, ~0u, alone_); }
  const MatchTable& table() const { return table_; }
  void tell(Counters* counters) const;  // what it has counted

 private:
  // inflow.cc
  enum class Taken { kNot, kUnasked, kAwaited };  // kNot: for want of memory, it stays where it is
  enum class Claim { kNobodys, kOfOneAlive, kOfOneDead };
  bool drain_locked(uint32_t wanted);  // under the lock, which it releases
  Taken take_cell(const InboxCell& cell, uint16_t from, Message** first, Message** last);
  Taken take_inline(const Header& header, const char* bytes, bool is_in_body, uint16_t from, Message** first,
                    Message** last);
  Taken take_eager(const InboxCell& cell, uint16_t from, Message** first, Message** last);
  Taken take_long(const InboxCell& cell, uint16_t from, Message** first, Message** last);
  Taken take_word(const InboxCell& cell, uint16_t from);
  bool has_spare();  // a message for the next one. False: no memory
  Message* name_spare(const void* header, uint16_t from);
  Taken take_in(Message* message, MatchNode* met, Message** first, Message** last);
  void left_unexpected();
  Claim pass_claimed();
  bool keep(Message* message);
  bool has_room(uint64_t bytes);
  // deliver.cc
  bool met(Request* receive, Message* message);
  bool deliver(Request* receive, Message* message);
  bool deliver_long(Request* receive, Message* message);
  void deliver_list(Message* first);
  bool is_tried(const Request& receive, const Message& message) const;
  bool may_read(const Request& receive, const Message& message, uint64_t bytes, bool tries);
  int read_whole(Request* receive, const Message& message, uint64_t bytes);
  // pieces.cc
  void ask_for_pieces(Request* receive, Message* message, uint64_t bytes);
  void take_piece(const Header& header, uint16_t sender);

  Areas areas_;
  uint32_t members_ = 0;  // with those on other machines
  uint32_t share_ = 0;    // of a sender's packets that we hold at most
  int32_t process_ = 0;   // ours
  bool alone_ = false;
  std::atomic<bool> single_copy_{false}, expects_dead_{false};
  uint64_t single_copy_bytes_ = 0;  // messages of so many are read where they are, if that is allowed
  WayTrials trials_;
  Store* store_ = nullptr;
  Outbox* outbox_ = nullptr;
  const Liveness* liveness_ = nullptr;
  Carrier* far_ = nullptr;
  std::atomic<uint32_t>* held_ = nullptr;  // [members of this machine] packets, with messages nobody has asked for
  MatchTable table_;

  alignas(64) std::atomic<uintptr_t> draining_{0};  // the lock of the lines that follow
  InboxReader reader_;
  uint64_t arrivals_ = 0;       // the number of the last message that has come
  Message* spare_ = nullptr;    // for the next one
  void* spare_room_ = nullptr;  // for a body that nobody has asked for, of so many bytes
  uint64_t spare_bytes_ = 0;
  uint64_t pieces_ended_ = 0;  // ticks: when a message had its last piece
  // Counters; the lock's holder writes them
  std::atomic<uint64_t> inline_{0}, eager_{0}, unexpected_{0}, longest_{0}, far_eager_{0}, far_announced_{0};
  // Counters of all threads
  alignas(64) std::atomic<uint64_t> asked_for_{0};  // of the unexpected: received since
  alignas(64) std::atomic<uint64_t> single_copies_{0}, in_pieces_{0};
  std::atomic<uint32_t> awaited_{0};
};

}  // namespace smelt::message
