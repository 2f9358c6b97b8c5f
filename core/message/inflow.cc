// Emptying the inbox (inflow.h): a cell's message goes to the matching table, and to its receive where one waits.
#include "message/inflow.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/os/process.h"
#include "message/data.h"
#include "message/liveness.h"
#include "message/match_internal.h"
#include "message/outbox.h"

namespace smelt::message {

namespace {

constexpr int kBatch = 128;  // cells that are emptied before others get a chance

}  // namespace

bool Inflow::open(Arena* arena, const Areas& areas, Store* store, Outbox* outbox, const Liveness* liveness) {
  const Shape& shape = areas.shape;
  held_ = arena->make<std::atomic<uint32_t>>(shape.members);
  if (!held_ || !trials_.open(arena, shape.members) || table_.create() != 0) return false;
  areas_ = areas;
  members_ = shape.members;
  // Half of a sender's packets lie with messages that nobody has asked for, at most.
  share_ = shape.packets / (2 * std::max<uint32_t>(shape.members - 1, 1));
  process_ = os::process_id();
  store_ = store;
  outbox_ = outbox;
  liveness_ = liveness;
  reader_.inbox = areas.of(areas.me).inbox;
  reader_.inbox.write_empty();
  return true;
}

void Inflow::set_alone(bool alone) {
  alone_ = alone;
  table_.set_alone(alone);
}

void Inflow::tell(Counters* counters) const {
  counters->received_inline = value_of(inline_);
  counters->received_eager = value_of(eager_);
  counters->received_single_copy = value_of(single_copies_);
  counters->received_pieces = value_of(in_pieces_);
  counters->unexpected = value_of(unexpected_);
  counters->longest_unexpected = value_of(longest_);
  counters->wildcards = table_.wildcards();
  counters->switches = table_.switches();
  counters->far_eager = value_of(far_eager_);
  counters->far_announced = value_of(far_announced_);
}

// --- memory for a message that nobody has asked for ---

// Out of its packet, so that the sender has that again. False: no memory.
bool Inflow::keep(Message* message) {
  Header& header = message->header;
  void* own = store_->new_parcel(header.length);
  if (!own) return false;
  copy_piece(own, areas_.packet(message->sender, header.which), header.length);
  areas_.of(message->sender).returns.give_back(header.which);
  header.kind = HeaderKind::kKept;
  header.address = reinterpret_cast<uintptr_t>(own);
  return true;
}

// Is there room for a message that nobody may have asked for? False: no memory.
bool Inflow::has_room(uint64_t bytes) {
  if (spare_room_ && !Store::is_same_size(spare_bytes_, bytes)) {
    store_->free_parcel(spare_room_, spare_bytes_);
    spare_room_ = nullptr;
  }
  if (!spare_room_) spare_room_ = store_->new_parcel(bytes);
  spare_bytes_ = bytes;
  return spare_room_ != nullptr;
}

// The spare message waits in the table.
void Inflow::left_unexpected() {
  spare_ = nullptr;
  count(unexpected_);
  // relaxed, all: somebody may have received it already, which is why the difference has a sign
  const uint64_t all = unexpected_.load(std::memory_order_relaxed);
  const auto waiting = static_cast<int64_t>(all - asked_for_.load(std::memory_order_relaxed));
  if (waiting > static_cast<int64_t>(longest_.load(std::memory_order_relaxed)))
    longest_.store(static_cast<uint64_t>(waiting), std::memory_order_relaxed);
}

// --- taking in ---

// A message that has come, and the receive that it has met already, if so. A message to be read by single copy goes to
// the list: reading takes long, and is each thread's own work, without the inbox's lock.
Inflow::Taken Inflow::take_in(Message* message, MatchNode* met, Message** first, Message** last) {
  const HeaderKind kind = message->header.kind;
  // relaxed: a share, and no more. This must happen before anybody can find it: the finder gives the packet back.
  if (kind == HeaderKind::kEager) add(held_[message->sender], 1, alone_);
  if (!met) met = table_.arrive(&message->node);
  if (!met) {
    left_unexpected();
    return Taken::kUnasked;
  }
  auto* receive = reinterpret_cast<Request*>(met);
  if (receive->holds) {
    spare_ = nullptr;
    receive->held = message;
    describe(receive, message->header, message->sender);
    finish(receive, alone_);
  } else if (kind == HeaderKind::kLong) {
    message->receive = receive;
    push_back(first, last, message);
    spare_ = nullptr;
  } else {
    if (message->header.answer) spare_ = nullptr;
    deliver(receive, message);
    finish(receive, alone_);
  }
  return Taken::kAwaited;
}

bool Inflow::has_spare() { return spare_ || (spare_ = store_->new_message()); }

// The spare message gets its name. It is numbered as it comes.
[[gnu::always_inline]] inline Message* Inflow::name_spare(const void* header, uint16_t from) {
  std::memcpy(&spare_->header, header, sizeof spare_->header);
  spare_->sender = from;
  spare_->node.key = spare_->header.key;
  spare_->node.number = ++arrivals_;
  return spare_;
}

// A message whose data came along: `bytes`, in the cell or in its body.
[[gnu::always_inline]] inline Inflow::Taken Inflow::take_inline(const Header& header, const char* bytes,
                                                                bool is_in_body, uint16_t from, Message** first,
                                                                Message** last) {
  const auto make = [&] {
    name_spare(&header, from);
    if (is_in_body) {
      std::memcpy(spare_room_, bytes, header.length);
      spare_->header.kind = HeaderKind::kKept;
      spare_->header.address = reinterpret_cast<uintptr_t>(spare_room_);
    } else {
      copy(spare_->bytes, bytes, header.length);
    }
    return &spare_->node;
  };
  // Where a receive waits the data are copied once.
  MatchNode* const met = table_.arrive(header.key, make);
  count(inline_);
  auto* const receive = reinterpret_cast<Request*>(met);
  if (met && !receive->holds && header.answer == 0) {
    describe(receive, header, from);
    place(receive, 0, bytes, std::min(header.length, receive->capacity));
    reader_.pass();
    finish(receive, alone_);
    return Taken::kAwaited;
  }
  if (met) make();
  if (is_in_body) spare_room_ = nullptr;  // it has gone with the message
  reader_.pass();
  if (met) return take_in(spare_, met, first, last);
  left_unexpected();
  return Taken::kUnasked;
}

// A message whose data lie in a packet. If we have our share of its sender's packets, it may have this one only for as
// long as it takes to copy it.
Inflow::Taken Inflow::take_eager(const InboxCell& cell, uint16_t from, Message** first, Message** last) {
  if (!has_spare()) return Taken::kNot;
  name_spare(cell.payload, from);
  MatchNode* met = nullptr;
  // relaxed: see take_in()
  if (held_[from].load(std::memory_order_relaxed) >= share_ && !(met = table_.arrive(&spare_->node, false)) &&
      !keep(spare_))
    return Taken::kNot;
  count(eager_);
  reader_.pass();
  return take_in(spare_, met, first, last);
}

// A message that is announced.
Inflow::Taken Inflow::take_long(const InboxCell& cell, uint16_t from, Message** first, Message** last) {
  if (!has_spare()) return Taken::kNot;
  name_spare(cell.payload, from);
  reader_.pass();
  return take_in(spare_, nullptr, first, last);
}

// A word of another member about a message that is under way.
Inflow::Taken Inflow::take_word(const InboxCell& cell, uint16_t from) {
  Header header;
  std::memcpy(&header, cell.payload, sizeof header);
  reader_.pass();
  if (header.kind == HeaderKind::kFinish) {
    auto* const send = reinterpret_cast<Request*>(header.answer);
    outbox_->finished(*send, false);
    finish(send, alone_);
  } else if (header.kind == HeaderKind::kGo) {
    outbox_->grant(header, from);
  } else {
    take_piece(header, from);
  }
  return Taken::kAwaited;
}

// The next cell of the inbox, by the kind of its message. A message to be read by single copy goes to the list
// (take_in()).
//
// The header is read whole, and at once. If only a short one's part is read first, an exchange of two messages of 8
// bytes each way takes 430 ns in place of 355 between far CPUs; between near ones it takes as long.
[[gnu::always_inline]] inline Inflow::Taken Inflow::take_cell(const InboxCell& cell, uint16_t from, Message** first,
                                                              Message** last) {
  Header header;
  std::memcpy(static_cast<void*>(&header), cell.payload, sizeof header);
  const char* bytes = cell.payload + sizeof header;
  if (header.kind != HeaderKind::kInline) {
    if (header.kind == HeaderKind::kEager) return take_eager(cell, from, first, last);
    if (header.kind == HeaderKind::kLong) return take_long(cell, from, first, last);
    if (header.kind != HeaderKind::kShort) return take_word(cell, from);
    bytes = cell.payload + kShortHeaderBytes;
    header.address = header.answer = 0;
  }
  header.kind = HeaderKind::kInline;
  if (!has_spare()) return Taken::kNot;
  const bool is_in_body = header.length > kInCellBytes;
  if (is_in_body && !has_room(header.length)) return Taken::kNot;
  if (is_in_body) bytes = reader_.inbox.body_at(reader_.head);
  return take_inline(header, bytes, is_in_body, from, first, last);
}

// The next cell is empty. If the participant that has claimed it has died, the cell is passed.
Inflow::Claim Inflow::pass_claimed() {
  const int32_t by = reader_.claimed_by();
  if (by < 0) return Claim::kNobodys;
  if (!liveness_->is_gone(static_cast<uint16_t>(by))) return Claim::kOfOneAlive;
  reader_.pass_dead(by);
  return Claim::kOfOneDead;
}

// --- emptying the inbox ---

// It ends with the last of the `wanted` cells that somebody has waited for, and does not look at the next one, whose
// line is often on its way to the sender just then: where two exchange messages at the same time. The caller's next
// stores, its answer, would wait until that look was over, since stores become visible behind all loads before them.
// (Two that send and receive 8 bytes at the same time, with the look and without: far 429, 294 ns; near 102, 71.)
bool Inflow::drain_locked(uint32_t wanted) {
  Message *first = nullptr, *last = nullptr;
  bool any = false;
  for (int left = kBatch; left > 0; --left) {
    int32_t from;
    const InboxCell* const cell = reader_.peek(&from);
    if (!cell) {
      // Only a waiter that has waited for long asks whether somebody has died (Endpoint::look_for_dead), and that is
      // soon enough. relaxed: a hint
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
  if (first) deliver_list(first);
  return any;
}

bool Inflow::drain_all() {
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

// --- from other machines ---

// As take_cell() does with the inbox's messages, and in one row with them. The carrier's thread never waits for the
// inbox's lock: it may be a completion's, within it.
bool Inflow::take_far(uint16_t sender, const Header& header, const void* data) {
  const bool is_eager = header.kind == HeaderKind::kInline;
  uintptr_t rest;
  if (!try_lock(draining_, &rest)) return false;
  if (!has_spare()) {
    unlock(draining_, 0);
    return false;
  }
  Message* const message = name_spare(&header, sender);
  MatchNode* met = nullptr;
  if (is_eager) {
    met = table_.arrive(&message->node, false);
    auto* const receive = reinterpret_cast<Request*>(met);
    if (met && !receive->holds) {  // copied once
      count(far_eager_);
      unlock(draining_, 0);
      describe(receive, header, sender);
      place(receive, 0, data, std::min(header.length, receive->capacity));
      finish(receive, alone_);
      return true;
    }
    if (header.length <= kInCellBytes) {
      std::memcpy(message->bytes, data, header.length);
    } else if (void* kept = store_->new_parcel(header.length)) {
      std::memcpy(kept, data, header.length);
      message->header.kind = HeaderKind::kKept;
      message->header.address = reinterpret_cast<uintptr_t>(kept);
    } else if (!met) {
      unlock(draining_, 0);
      return false;
    } else {  // the machine has no memory, and its holders cannot give it back
      unlock(draining_, 0);
      receive->error = -ENOMEM;
      finish(receive, alone_);
      return true;
    }
  }
  count(is_eager ? far_eager_ : far_announced_);
  Message *first = nullptr, *last = nullptr;
  take_in(message, met, &first, &last);
  unlock(draining_, 0);
  deliver_list(first);
  return true;
}

}  // namespace smelt::message
