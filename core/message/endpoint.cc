// Opening and closing, and progress: the inbox is emptied, sends that wait for room are sent.
#include "message/endpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/os/process.h"
#include "message/endpoint_internal.h"
#include "message/far.h"
#include "message/lock_bit.h"
#include "message/match_internal.h"

namespace smelt::message {

namespace {

constexpr int kBatch = 128;  // cells that are emptied before others get a chance

}  // namespace

int Endpoint::open(void* memory, const Shape& shape, uint16_t me, bool single_copy, Endpoint** endpoint) {
  if (me >= shape.members || shape.cells < 2 || (shape.cells & (shape.cells - 1)) || shape.packet_bytes % 64 ||
      shape.packet_bytes > Store::kMostParcel || shape.pieces == 0 || shape.piece_bytes == 0 || shape.piece_bytes % 64)
    return -EINVAL;
  const Areas areas(memory, shape, me);
  auto* made = make_object<Endpoint>(shape.members * (sizeof(Queue) + 5) +
                                     (shape.packets + shape.pieces) * sizeof(uint16_t) + 256);
  if (!made) return -ENOMEM;
  made->queues_ = made->arena.make<Queue>(shape.members);
  made->held_ = made->arena.make<std::atomic<uint32_t>>(shape.members);
  auto* holders = made->arena.make<std::atomic<uint16_t>>(shape.packets + shape.pieces);
  if (!made->queues_ || !made->held_ || !holders || !made->liveness_.open(&made->arena, areas) ||
      made->table_.create() != 0) {
    free_object(made);
    return -ENOMEM;
  }
  made->areas_ = areas;
  made->members_ = shape.members;
  // Half of a sender's packets lie with messages that nobody has asked for, at most.
  made->share_ = shape.packets / (2 * std::max<uint32_t>(shape.members - 1, 1));
  made->set_limits(shape.packet_bytes, 0);
  // relaxed: every other user of the endpoint has been given it
  made->single_copy_.store(single_copy, std::memory_order_relaxed);
  made->process_ = os::process_id();
  const Area own = made->areas_.of(me);
  own.member->process = made->process_;
  own.member->started = os::process_start(made->process_);
  own.member->cpu.store(0, std::memory_order_relaxed);
  own.inbox.write_empty();
  made->reader_.inbox = own.inbox;
  for (uint16_t to = 0; to < shape.members; ++to) made->queues_[to].inbox = made->areas_.of(to).inbox;
  made->pool_.write_full(own.returns, shape.packets, holders);
  made->pieces_.write_full(own.piece_returns, shape.pieces, holders + shape.packets, true);
  *endpoint = made;
  return 0;
}

void Endpoint::close(Endpoint* endpoint) {
  if (!endpoint) return;
  constexpr int64_t kPatience = 1'000'000'000;  // ns
  const int64_t began = os::now_ns();
  // Sends that have found no room until now are lost; they may have gone with their owners.
  for (uint16_t to = 0; to < endpoint->areas_.shape.members; ++to) {
    Queue& queue = endpoint->queues_[to];
    queue.first = queue.first_granted = nullptr;
    endpoint->note(&queue);
  }
  // relaxed: nobody else uses it
  while (endpoint->queues_waiting_.load(std::memory_order_relaxed) != 0 && os::now_ns() - began < kPatience)
    if (!endpoint->launch()) os::yield_cpu();
  if (endpoint->far_) endpoint->far_->close();  // which has memory of ours
  endpoint->store_.close();
  endpoint->table_.destroy();
  free_object(endpoint);
}

void Endpoint::set_limits(uint64_t eager, uint64_t single_copy) {
  eager_bytes_ = std::min<uint64_t>(eager, areas_.shape.packet_bytes);
  single_copy_bytes_ = single_copy;
}

void Endpoint::set_single_copy(bool allowed) { single_copy_.store(allowed, std::memory_order_relaxed); }

void Endpoint::set_alone(bool alone) {
  alone_ = alone;
  store_.set_alone(alone);
  table_.set_alone(alone);
  pool_.set_alone(alone);
  pieces_.set_alone(alone);
}

void Endpoint::set_host(void (*progress)(void*), void* argument) {
  host_ = progress;
  host_argument_ = argument;
}

Counters Endpoint::counters() const {
  return {.received_inline = value_of(inline_),
          .received_eager = value_of(eager_),
          .received_single_copy = value_of(single_copies_),
          .received_pieces = value_of(in_pieces_),
          .unexpected = value_of(unexpected_),
          .longest_unexpected = value_of(longest_),
          .wildcards = table_.wildcards(),
          .switches = table_.switches(),
          .deferred = value_of(deferred_),
          .sleeps = waiters_.sleeps(),
          .far_eager = far_ ? value_of(far_->eager) : 0,
          .far_announced = far_ ? value_of(far_->announced) : 0};
}

// --- memory for a message that nobody has asked for ---

// Out of its packet, so that the sender has that again. False: no memory.
bool Endpoint::keep(Message* message) {
  Header& header = message->header;
  void* own = store_.new_parcel(header.length);
  if (!own) return false;
  const Area theirs = areas_.of(message->sender);
  copy_piece(own, theirs.packets + uint64_t{header.which} * areas_.shape.packet_bytes, header.length);
  theirs.returns.give_back(header.which);
  header.kind = Kind::kKept;
  header.address = reinterpret_cast<uintptr_t>(own);
  return true;
}

// For a message that nobody may have asked for. False: no memory.
bool Endpoint::has_room(uint64_t bytes) {
  if (spare_room_ && !Store::is_same_size(spare_bytes_, bytes)) {
    store_.free_parcel(spare_room_, spare_bytes_);
    spare_room_ = nullptr;
  }
  if (!spare_room_) spare_room_ = store_.new_parcel(bytes);
  spare_bytes_ = bytes;
  return spare_room_ != nullptr;
}

// --- progress ---

// The spare message waits in the table.
void Endpoint::left_unexpected() {
  spare_ = nullptr;
  count(unexpected_);
  // relaxed, all: somebody may have received it already, which is why the difference has a sign
  const uint64_t all = unexpected_.load(std::memory_order_relaxed);
  const auto waiting = static_cast<int64_t>(all - asked_for_.load(std::memory_order_relaxed));
  if (waiting > static_cast<int64_t>(longest_.load(std::memory_order_relaxed)))
    longest_.store(static_cast<uint64_t>(waiting), std::memory_order_relaxed);
}

// A message that has come, and the receive that it has met already, if so. A message to be read by single copy goes to
// the list: reading takes long, and is each thread's own work, without the inbox's lock. False: nobody has asked for
// it.
bool Endpoint::take_in(Message* message, MatchNode* met, Message** first, Message** last) {
  const Kind kind = message->header.kind;
  // relaxed: a share, and no more. Before anybody can find it: the finder gives the packet back.
  if (kind == Kind::kEager) add(held_[message->sender], 1, alone_);
  if (!met) met = table_.arrive(&message->node);
  if (!met) {
    left_unexpected();
    return false;
  }
  auto* receive = reinterpret_cast<Request*>(met);
  if (receive->holds) {
    spare_ = nullptr;
    receive->held = message;
    describe(receive, message->header, message->sender);
    finish(receive, alone_);
  } else if (kind == Kind::kLong) {
    message->receive = receive;
    push_back(first, last, message);
    spare_ = nullptr;
  } else {
    if (message->header.answer) spare_ = nullptr;
    deliver(receive, message);
    finish(receive, alone_);
  }
  return true;
}

// The next cell of the inbox. A message to be read by single copy goes to the list (take_in()).
[[gnu::always_inline]] inline Endpoint::Taken Endpoint::take_cell(const InboxCell& cell, uint16_t from, Message** first,
                                                                  Message** last) {
  Header header;
  std::memcpy(&header, cell.payload, sizeof header);
  if (header.kind == Kind::kFinish) {
    reader_.pass();
    finish(reinterpret_cast<Request*>(header.answer), alone_);
    return Taken::kAwaited;
  }
  if (header.kind == Kind::kGo) {
    reader_.pass();
    grant(header, from);
    return Taken::kAwaited;
  }
  if (header.kind == Kind::kPiece) {
    reader_.pass();
    take_piece(header, from);
    return Taken::kAwaited;
  }
  if (!spare_ && !(spare_ = store_.new_message())) return Taken::kNot;
  const char* bytes = cell.payload + sizeof header;
  if (header.kind == Kind::kShort) {
    bytes = cell.payload + kShortHeaderBytes;
    header.kind = Kind::kInline;
    header.address = header.answer = 0;
  }
  const bool is_in_body = header.kind == Kind::kInline && header.length > kInCellBytes;
  if (is_in_body && !has_room(header.length)) return Taken::kNot;
  if (is_in_body) bytes = reader_.inbox.body_at(reader_.head);
  const auto make = [&] {
    spare_->header = header;
    spare_->sender = from;
    spare_->node.key = header.key;
    spare_->node.number = ++arrivals_;
    if (is_in_body) {
      std::memcpy(spare_room_, bytes, header.length);
      spare_->header.kind = Kind::kKept;
      spare_->header.address = reinterpret_cast<uintptr_t>(spare_room_);
    } else if (header.kind == Kind::kInline) {
      copy(spare_->bytes, bytes, header.length);
    }
    return &spare_->node;
  };
  MatchNode* met = nullptr;
  if (header.kind == Kind::kInline) {
    // Where a receive waits the data are copied once.
    met = table_.arrive(header.key, make);
    count(inline_);
    auto* const receive = reinterpret_cast<Request*>(met);
    if (met && !receive->holds && header.answer == 0) {
      describe(receive, header, from);
      place(receive, 0, bytes, std::min(header.length, receive->capacity));
      reader_.pass();
      finish(receive, alone_);
      return Taken::kAwaited;
    }
    if (!met) {
      if (is_in_body) spare_room_ = nullptr;  // it has gone with the message
      reader_.pass();
      left_unexpected();
      return Taken::kUnasked;
    }
  }
  make();
  if (is_in_body) spare_room_ = nullptr;
  // We have our share of its packets: it may have this one only for as long as it takes to copy it. relaxed: see
  // take_in()
  if (header.kind == Kind::kEager && held_[from].load(std::memory_order_relaxed) >= share_ &&
      !(met = table_.arrive(&spare_->node, false)) && !keep(spare_))
    return Taken::kNot;
  if (header.kind == Kind::kEager) count(eager_);
  reader_.pass();
  return take_in(spare_, met, first, last) ? Taken::kAwaited : Taken::kUnasked;
}

// The next cell is empty. If the participant that has claimed it has died, the cell is passed.
Endpoint::Claim Endpoint::pass_claimed() {
  const int32_t by = reader_.claimed_by();
  if (by < 0) return Claim::kNobodys;
  if (!liveness_.is_gone(static_cast<uint16_t>(by))) return Claim::kOfOneAlive;
  reader_.pass_dead(by);
  return Claim::kOfOneDead;
}

void Endpoint::deliver_list(Message* first) {
  while (Message* const message = first) {
    first = message->behind;
    Request* const receive = message->receive;
    if (deliver_long(receive, message)) finish(receive, alone_);
  }
}

// One thread at a time; the others have better things to do.
//
// It ends with the last of the `wanted` cells that somebody has waited for, and does not look at the next one, whose
// line is often on its way to the sender just then: where two exchange messages at the same time. The caller's next
// stores, its answer, would wait until that look was over, since stores become visible behind all loads before them.
// (Two that send and receive 8 bytes at the same time, with the look and without: far 429, 294 ns; near 102, 71.)
bool Endpoint::drain_some(uint32_t wanted) {
  uintptr_t rest;
  if (!try_lock(draining_, &rest, alone_)) return false;
  Message *first = nullptr, *last = nullptr;
  bool any = false;
  for (int left = kBatch; left > 0; --left) {
    int32_t from;
    const InboxCell* const cell = reader_.peek(&from);
    if (!cell) {
      // Only a waiter that has waited for long asks whether somebody has died (look_for_dead), and that is soon enough.
      // relaxed: a hint
      if (!expects_dead_.load(std::memory_order_relaxed) || pass_claimed() != Claim::kOfOneDead) break;
      continue;
    }
    // Where more are lacking the next one is asked for while this one is taken in. (Four each way at the same time,
    // far: 573 ns in place of 832, near: 256 in place of 308.)
    if (wanted > 1) prefetch(reader_.inbox.cell_at(reader_.head + 1));
    const Taken taken = take_cell(*cell, static_cast<uint16_t>(from), &first, &last);
    if (taken == Taken::kNot) break;
    any = true;
    if (taken == Taken::kAwaited && --wanted == 0) break;
  }
  unlock(draining_, 0);
  deliver_list(first);
  return any;
}

bool Endpoint::drain_all() {
  lock(draining_, alone_);
  Message *first = nullptr, *last = nullptr;
  bool all = true, more = true;  // all: unless one stays where it is, or is still being written
  for (uint32_t left = areas_.shape.cells; more && left > 0; --left) {
    int32_t from;
    if (const InboxCell* const cell = reader_.peek(&from)) {
      more = all = take_cell(*cell, static_cast<uint16_t>(from), &first, &last) != Taken::kNot;
    } else {
      const Claim claim = pass_claimed();
      more = claim == Claim::kOfOneDead;
      all = claim != Claim::kOfOneAlive;
    }
  }
  unlock(draining_, 0);
  deliver_list(first);
  return all;
}

// Under the queue's lock, when it has changed.
void Endpoint::note(Queue* queue) {
  const bool is_waiting = queue->first || queue->first_reply || queue->first_granted;
  // relaxed, all: hints to threads that have not queued anything themselves
  const bool was_waiting = queue->anything.load(std::memory_order_relaxed) != 0;
  queue->sends_wait.store(queue->first != nullptr, std::memory_order_relaxed);
  queue->anything.store(is_waiting, std::memory_order_relaxed);
  if (is_waiting != was_waiting) add(queues_waiting_, is_waiting ? 1 : ~0u, alone_);
}

// Sends what found no room before. A send leaves its queue when it has been announced, not before: otherwise one that
// begins just then would overtake it.
bool Endpoint::launch() {
  bool any = false;
  // relaxed: a hint
  if (queues_waiting_.load(std::memory_order_relaxed) == 0) return false;
  for (uint16_t to = 0; to < areas_.shape.members; ++to) {
    Queue& queue = queues_[to];
    uintptr_t rest;
    // relaxed: a hint
    if (queue.anything.load(std::memory_order_relaxed) == 0 || !try_lock(queue.lock, &rest, alone_)) continue;
    Request *completed = nullptr, *last_completed = nullptr;
    while (Message* message = queue.first_reply) {
      if (!put(to, message->header)) break;
      queue.first_reply = message->behind;
      store_.free_message(message);
      any = true;
    }
    while (Request* send = queue.first) {
      Request* next = send->behind;  // announced, it may be its owner's again
      const Announced how = announce(send);
      if (how == Announced::kNoRoom) break;
      queue.first = next;
      if (how == Announced::kComplete) push_back(&completed, &last_completed, send);
      any = true;
    }
    if (queue.first_granted) any |= launch_pieces(&queue, to, &completed, &last_completed);
    note(&queue);
    unlock(queue.lock, 0);
    // Only now: the function that is called may send.
    while (Request* send = completed) {
      completed = send->behind;
      finish(send, alone_);
    }
  }
  return any;
}

bool Endpoint::progress(uint32_t wanted) {
  const bool received = drain_some(wanted), any = launch() || received;
  return (far_ && far_->progress(false, any)) || any;
}

}  // namespace smelt::message
