// Sending and receiving: the announcement of a message, and the protocol once a message and a receive have met.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/os/os.h"
#include "base/os/shared_memory.h"
#include "message/endpoint.h"
#include "message/endpoint_internal.h"
#include "message/far.h"
#include "message/lock_bit.h"

namespace smelt::message {

namespace {

MatchNode pattern_of(int32_t source, uint16_t context, int32_t tag, bool any_tag) {
  MatchNode pattern;
  pattern.mask = (source < 0 ? kAnySource : kExact) & (any_tag ? kAnyTag : kExact);
  pattern.key = match_key(context, source < 0 ? 0 : static_cast<uint16_t>(source), any_tag ? 0 : tag);
  return pattern;
}

}  // namespace

// --- sending ---

// A cell without a message. False: there is no room.
bool Endpoint::put(uint16_t to, const Header& header) {
  uint64_t position = 0;
  const Inbox& inbox = queues_[to].inbox;
  InboxCell* cell = inbox.claim(areas_.me, &position);
  if (!cell) return false;
  std::memcpy(cell->payload, &header, sizeof header);
  inbox.publish(cell, position, areas_.me);
  return true;
}

// Into the receiver's inbox with it. kUnderWay: it may be complete, and gone, already; kComplete: finish() is the
// caller's.
Endpoint::Announced Endpoint::announce(Request* request) {
  const uint64_t self = reinterpret_cast<uintptr_t>(request);
  const bool is_inline = request->length <= kInlineBytes, is_eager = !is_inline && request->length <= eager_bytes_;
  if (is_eager && request->packet == kNoPacket) {
    request->packet = pool_.take();
    if (request->packet == kNoPacket) return Announced::kNoRoom;
    fetch(request, 0, areas_.of(areas_.me).packets + uint64_t{request->packet} * areas_.shape.packet_bytes,
          request->length);
  }
  uint64_t position = 0;
  const Inbox& inbox = queues_[request->peer].inbox;
  InboxCell* cell = inbox.claim(areas_.me, &position);
  if (!cell) return Announced::kNoRoom;
  auto* const header = new (cell->payload) Header;
  header->key = match_key(request->context, areas_.me, request->tag);
  header->length = request->length;
  const bool answered = request->synchronous || (!is_inline && !is_eager);
  header->kind = is_eager ? Kind::kEager : !is_inline ? Kind::kLong : answered ? Kind::kInline : Kind::kShort;
  header->which = is_eager ? request->packet : 0;
  header->address = header->kind == Kind::kLong ? reinterpret_cast<uint64_t>(request->data) : 0;
  header->answer = answered ? self : 0;
  char* const data = header->kind == Kind::kShort ? cell->payload + kShortHeaderBytes : cell->payload + sizeof *header;
  if (is_inline)
    fetch(request, 0, request->length <= kInCellBytes ? data : inbox.body_to_write(position, request->length),
          request->length);
  if (is_eager) pool_.hand_to(request->packet, request->peer);
  request->packet = kNoPacket;
  // relaxed: the thread with the answer has it from the receiver, which has it from the cell
  request->stage.store(answered ? Request::kAnnounced : Request::kEnded, std::memory_order_relaxed);
  inbox.publish(cell, position, areas_.me);
  return answered ? Announced::kUnderWay : Announced::kComplete;
}

// A message is away. The lines of the next cell, if that is ours and its message as long, are asked for meanwhile: the
// receiver has them from their last time. (Two that send each other 8 bytes at the same time, far: 230 in place of 280;
// 128 bytes: 290 in place of 510.)
//
// Not the first line of a cell whose message has more: its reader would have it back while the sender waits for those
// behind it. And nothing for messages of four lines or a body: a processor whose thread reads three lines to their end
// fetches those behind, so asking takes longer than not (200 bytes there and back, far: 410 in place of 300).
void Endpoint::ask_ahead(const Inbox& inbox, uint64_t position, uint64_t bytes) const {
  constexpr uint64_t kLine = 64;
  const uint64_t in_cell = kCellBytes - kCellPayload + kShortHeaderBytes + bytes;
  if (in_cell >= 3 * kLine || !inbox.is_in_row(position, areas_.me)) return;
  const char* const cell = reinterpret_cast<const char*>(inbox.cell_at(position + 1));
  if (in_cell <= kLine) prefetch_to_write(cell);
  for (uint64_t at = kLine; at < in_cell; at += kLine) prefetch_to_write(cell + at);
}

bool Endpoint::send_now(uint16_t to, uint16_t context, int32_t tag, const void* data, uint64_t bytes) {
  if (to >= areas_.shape.members || bytes > eager_bytes_) return false;
  const Queue& queue = queues_[to];
  // relaxed: this thread sees all that it has queued or heard of
  if (queue.sends_wait.load(std::memory_order_relaxed) != 0) return false;
  const bool is_inline = bytes <= kInlineBytes;
  uint32_t packet = 0;
  if (!is_inline) {
    packet = pool_.take();
    if (packet == kNoPacket) return false;
    copy_piece(areas_.of(areas_.me).packets + uint64_t{packet} * areas_.shape.packet_bytes, data, bytes);
  }
  uint64_t position = 0;
  InboxCell* cell = queue.inbox.claim(areas_.me, &position);
  if (!cell) {
    if (!is_inline) pool_.give_back(packet);
    return false;
  }
  if (!is_inline) pool_.hand_to(packet, to);
  char* const in_cell = cell->payload + kShortHeaderBytes;
  char* const room = bytes <= kInCellBytes || !is_inline ? in_cell : queue.inbox.body_to_write(position, bytes);
  new (cell->payload)
      Header{match_key(context, areas_.me, tag), bytes, is_inline ? Kind::kShort : Kind::kEager, packet, 0, 0};
  if (is_inline && bytes != 0) copy(room, data, bytes);
  queue.inbox.publish(cell, position, areas_.me);
  ask_ahead(queue.inbox, position, bytes);
  return true;
}

int Endpoint::send(Request* request, uint16_t to, uint16_t context, int32_t tag, const void* data, uint64_t bytes,
                   bool synchronous, bool* done) {
  if (to >= members_ || (!data && bytes != 0 && !request->pack)) return -EINVAL;
  request->is_send = true;
  request->synchronous = synchronous;
  request->error = 0;
  request->peer = to;
  request->context = context;
  request->tag = tag;
  request->data = data;
  request->length = bytes;
  request->packet = kNoPacket;
  // relaxed, both: nobody else knows of it
  request->stage.store(Request::kBegun, std::memory_order_relaxed);
  request->state.store(Request::kPending, std::memory_order_relaxed);
  if (to >= areas_.shape.members) return far_->send(request, done);
  Queue& queue = queues_[to];
  // relaxed: this thread sees all that it has queued or heard of
  const Announced how = queue.sends_wait.load(std::memory_order_relaxed) == 0 ? announce(request) : Announced::kNoRoom;
  if (done) *done = how == Announced::kComplete;
  if (how == Announced::kComplete) end(request);
  if (how != Announced::kNoRoom) return 0;
  lock(queue.lock, alone_);
  push_back(&queue.first, &queue.last, request);
  note(&queue);
  unlock(queue.lock, 0);
  add(deferred_, 1, alone_);
  return 0;
}

// A receiver's answer to the message's sender: its header. The message is free afterwards.
void Endpoint::reply(Message* message) {
  const uint16_t to = message->sender;
  if (put(to, message->header)) {
    store_.free_message(message);
    return;
  }
  Queue& queue = queues_[to];
  lock(queue.lock, alone_);
  push_back(&queue.first_reply, &queue.last_reply, message);
  note(&queue);
  unlock(queue.lock, 0);
}

// --- receiving ---

void Endpoint::begin_receive(Request* request, void* buffer, uint64_t capacity) {
  request->is_send = false;
  request->error = 0;
  request->buffer = buffer;
  request->capacity = capacity;
  // relaxed, both: the table's locks carry it to its finder
  request->stage.store(Request::kBegun, std::memory_order_relaxed);
  request->state.store(Request::kPending, std::memory_order_relaxed);
}

int Endpoint::receive(Request* request, int32_t source, uint16_t context, int32_t tag, bool any_tag, void* buffer,
                      uint64_t capacity, bool* done) {
  if (source >= static_cast<int32_t>(areas_.shape.members)) {
    if (source >= static_cast<int32_t>(members_)) return -EINVAL;
    far_->wake();
  }
  begin_receive(request, buffer, capacity);
  const MatchNode pattern = pattern_of(source, context, tag, any_tag);
  request->node.key = pattern.key;
  request->node.mask = pattern.mask;
  MatchMessage* message = table_.post(&request->node);
  const bool is_complete = message && met(request, reinterpret_cast<Message*>(message));
  if (done) *done = is_complete;
  return 0;
}

// With a message that had come before it. True: it is complete.
bool Endpoint::met(Request* receive, Message* message) {
  add(asked_for_, 1, alone_);
  if (receive->holds) {
    receive->held = message;
    describe(receive, message->header, message->sender);
  } else if (message->header.kind == Kind::kLong) {
    if (!deliver_long(receive, message)) return false;
  } else if (!deliver(receive, message)) {
    store_.free_message(message);
  }
  end(receive);
  return true;
}

void Endpoint::receive_held(Request* request, Request* holder, void* buffer, uint64_t capacity, bool* done) {
  Message* message = holder->held;
  begin_receive(request, buffer, capacity);
  request->holds = false;
  // The peer that it waits for, should that die.
  request->node.key = message->header.key;
  request->node.mask = kExact;
  bool is_complete = true;
  if (message->header.kind == Kind::kLong)
    is_complete = deliver_long(request, message);
  else if (!deliver(request, message))
    store_.free_message(message);
  if (is_complete) end(request);
  if (done) *done = is_complete;
}

bool Endpoint::probe(int32_t source, uint16_t context, int32_t tag, bool any_tag, Seen* seen) {
  if (source >= static_cast<int32_t>(members_)) return false;
  const MatchNode pattern = pattern_of(source, context, tag, any_tag);
  return table_.probe(
      pattern.key, pattern.mask,
      [](const MatchNode* node, void* to) {
        const Message& message = *reinterpret_cast<const Message*>(node);
        *static_cast<Seen*>(to) = {message.sender, tag_of(message.header), message.header.length};
      },
      seen);
}

bool Endpoint::cancel(Request* receive) {
  if (receive->is_send || test(receive) || !table_.cancel(&receive->node)) return false;
  receive->error = -ECANCELED;
  finish(receive, alone_, true);  // another thread may wait for it
  return true;
}

void Endpoint::forget(uint16_t context) {
  for (uint32_t i = 0; i < areas_.shape.cells && progress(); ++i) {
  }
  // Most have nothing of anybody's. Under the lock all that has come has been counted; where somebody has it, perhaps
  // we ourselves further up, we look.
  uintptr_t rest;
  const bool is_alone = try_lock(draining_, &rest, alone_);
  // relaxed, both: all that has come was counted under the lock, and is not received any more
  const uint64_t asked_for = asked_for_.load(std::memory_order_relaxed);
  const bool any = !is_alone || unexpected_.load(std::memory_order_relaxed) != asked_for;
  if (is_alone) unlock(draining_, 0);
  if (!any) return;
  Request nobody;  // has no room
  for (MatchMessage *node = table_.take_messages(context), *after; node; node = after) {
    after = node->after;
    auto* message = reinterpret_cast<Message*>(node);
    add(asked_for_, 1, alone_);
    message->header.answer = 0;
    if (message->header.kind != Kind::kLong) deliver(&nobody, message);
    store_.free_message(message);
  }
}

// They have met: nobody else knows of either any more. True: the message is gone with an answer to its sender; else it
// is the caller's.
bool Endpoint::deliver(Request* receive, Message* message) {
  const Header& header = message->header;
  const uint64_t bytes = std::min(header.length, receive->capacity);
  describe(receive, message->header, message->sender);
  if (header.kind == Kind::kInline) {
    place(receive, 0, message->bytes, bytes);
  } else if (header.kind == Kind::kEager) {
    const Area theirs = areas_.of(message->sender);
    place(receive, 0, theirs.packets + uint64_t{header.which} * areas_.shape.packet_bytes, bytes);
    theirs.returns.give_back(header.which);
    // relaxed: see take_in()
    add(held_[message->sender], ~0u, alone_);
  } else {
    void* kept = reinterpret_cast<void*>(header.address);
    place(receive, 0, kept, bytes);
    store_.free_parcel(kept, header.length);
  }
  if (header.answer == 0) return false;
  message->header.kind = Kind::kFinish;
  reply(message);
  return true;
}

// The same of one whose data are with the sender. The message is ours. True: the receive has them; false: they come.
bool Endpoint::deliver_long(Request* receive, Message* message) {
  if (message->sender >= areas_.shape.members) return far_->receive(receive, message);
  Header& header = message->header;
  const uint64_t bytes = std::min(header.length, receive->capacity);
  describe(receive, message->header, message->sender);
  const int refused = read_whole(receive, *message, bytes);
  if (refused && refused != -ESRCH) {
    ask_for_pieces(receive, message, bytes);
    return false;
  }
  if (refused) receive->error = -EPIPE;
  add(single_copies_, 1, alone_);
  header.kind = Kind::kFinish;
  reply(message);
  return true;
}

// Single copy. 0; -ESRCH: the sender has died; another: it cannot be done so.
int Endpoint::read_whole(Request* receive, const Message& message, uint64_t bytes) {
  if (bytes == 0) return 0;
  const Header& header = message.header;
  // relaxed: it may as well be refused again
  const bool may = single_copy_.load(std::memory_order_relaxed) && header.length >= single_copy_bytes_;
  if (header.address == 0 || (!may && message.sender != areas_.me)) return -ENOTSUP;
  const int32_t process = areas_.line_of(message.sender).process;
  if (process == process_) {
    place(receive, 0, reinterpret_cast<const void*>(header.address), bytes);
    return 0;
  }
  if (!receive->unpack) {
    const int refused = os::read_process(process, receive->buffer, header.address, bytes);
    // Not now, so never: a program may forbid it itself at any time.
    if (refused == -EPERM || refused == -ENOSYS) single_copy_.store(false, std::memory_order_relaxed);
    return refused;
  }
  constexpr uint64_t kAtATime = 16 * 1024;
  void* parcel = store_.new_parcel(kAtATime);
  if (!parcel) return -ENOMEM;
  int refused = 0;
  uint64_t at = 0;
  for (uint64_t part; at < bytes && refused == 0; at += part) {
    part = std::min(bytes - at, kAtATime);
    refused = os::read_process(process, parcel, header.address + at, part);
    if (refused) break;
    place(receive, at, parcel, part);
  }
  store_.free_parcel(parcel, kAtATime);
  if (refused && at != 0) receive->error = -EIO, refused = 0;  // nobody can take back unpacked bytes
  return refused;
}

}  // namespace smelt::message
