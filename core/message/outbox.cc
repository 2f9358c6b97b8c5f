// Sending (outbox.h): how a message is announced in its receiver's inbox, and what happens where there is no room.
#include "message/outbox.h"

#include <cerrno>
#include <cstring>

#include "base/os/os.h"
#include "message/carrier.h"
#include "message/data.h"
#include "message/lock_bit.h"

namespace smelt::message {

// --- opening and closing ---

uint64_t Outbox::arena_bytes(const Shape& shape) {
  return shape.members * sizeof(Queue) + alignof(Queue) + (shape.packets + shape.pieces) * sizeof(uint16_t);
}

bool Outbox::open(Arena* arena, const Areas& areas, Store* store) {
  const Shape& shape = areas.shape;
  queues_ = arena->make<Queue>(shape.members);
  auto* holders = arena->make<std::atomic<uint16_t>>(shape.packets + shape.pieces);
  if (!queues_ || !holders) return false;
  areas_ = areas;
  members_ = shape.members;
  store_ = store;
  for (uint16_t to = 0; to < shape.members; ++to) queues_[to].inbox = areas.of(to).inbox;
  const Area own = areas.of(areas.me);
  pool_.write_full(own.returns, shape.packets, holders);
  pieces_.write_full(own.piece_returns, shape.pieces, holders + shape.packets);
  return true;
}

void Outbox::close() {
  constexpr int64_t kTimeout = 1'000'000'000;  // ns
  const int64_t began = os::now_ns();
  for (uint16_t to = 0; to < areas_.shape.members; ++to) {
    Queue& queue = queues_[to];
    queue.first = queue.first_granted = nullptr;
    note(&queue);
  }
  // relaxed: nobody else uses it
  while (queues_waiting_.load(std::memory_order_relaxed) != 0 && os::now_ns() - began < kTimeout)
    if (!launch()) os::yield_cpu();
}

void Outbox::set_alone(bool alone) {
  alone_ = alone;
  pool_.set_alone(alone);
  pieces_.set_alone(alone);
}

// --- into an inbox ---

namespace {

constexpr uint64_t kCellLine = 64;
constexpr uint64_t kBeforeData = kCellBytes - kCellPayload + kShortHeaderBytes;  // in a cell
constexpr uint64_t kInFirstLine = kCellLine - kBeforeData;                       // of the data
constexpr uint64_t kAskedAhead = 3 * kCellLine - kBeforeData;                    // shorter ones: ask_ahead()

// The data into the cell, behind the header. Those of the lines behind the first one come before those in it, where the
// lines have been asked for ahead. Then the last stores to the line that the reader polls follow one another, the word
// among them. (96 bytes between two processes, Emerald Rapids: 230 ns a way in place of 272, two messages each way 387
// in place of 555. With lines that have yet to come it is the other way round: 192 bytes 398 in place of 359.)
inline void copy_into_cell(char* to, const void* data, uint64_t bytes) {
  if (bytes <= kInFirstLine || bytes >= kAskedAhead) return copy(to, data, bytes);
  std::memcpy(to + kInFirstLine, static_cast<const char*>(data) + kInFirstLine, bytes - kInFirstLine);
  std::atomic_signal_fence(std::memory_order_release);  // only the compiler must keep the order
  std::memcpy(to, data, kInFirstLine);
}

}  // namespace

// A cell without a message. False: there is no room.
bool Outbox::put(uint16_t to, const Header& header) {
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
Outbox::Announced Outbox::announce(Request* request) {
  const uint64_t self = reinterpret_cast<uintptr_t>(request);
  const bool is_inline = request->length <= kInlineBytes, waits = is_long(request->length);
  const bool is_eager = !is_inline && !waits;
  if (is_eager && request->packet == kNoPacket) {
    request->packet = pool_.take();
    if (request->packet == kNoPacket) return Announced::kNoRoom;
    fetch(request, 0, areas_.packet(areas_.me, request->packet), request->length);
  }
  uint64_t position = 0;
  const Inbox& inbox = queues_[request->peer].inbox;
  InboxCell* cell = inbox.claim(areas_.me, &position);
  if (!cell) return Announced::kNoRoom;
  auto* const header = new (cell->payload) Header;
  header->key = match_key(request->context, areas_.me, request->tag);
  header->length = request->length;
  const bool answered = request->synchronous || waits;
  header->kind = waits      ? HeaderKind::kLong
                 : is_eager ? HeaderKind::kEager
                 : answered ? HeaderKind::kInline
                            : HeaderKind::kShort;
  header->which = is_eager ? request->packet : 0;
  header->address = waits ? reinterpret_cast<uint64_t>(request->data) : 0;
  header->answer = answered ? self : 0;
  char* const data =
      header->kind == HeaderKind::kShort ? cell->payload + kShortHeaderBytes : cell->payload + sizeof *header;
  if (is_inline)
    fetch(request, 0, request->length <= kInCellBytes ? data : inbox.body_to_write(position, request->length),
          request->length);
  if (is_eager) pool_.hand_to(request->packet, request->peer);
  request->packet = kNoPacket;
  // relaxed: the thread with the answer has it from the receiver, which has it from the cell
  request->stage.store(answered ? Request::kAnnounced : Request::kEnded, std::memory_order_relaxed);
  if (waits) add(long_under_way_, 1, alone_);
  inbox.publish(cell, position, areas_.me);
  return answered ? Announced::kUnderWay : Announced::kComplete;
}

// A message is away. The lines of the next cell, if that is ours and its message as long, are asked for meanwhile: the
// receiver has them from their last time. (Two that send each other 8 bytes at the same time, far: 230 in place of 280;
// 128 bytes: 290 in place of 510.)
//
// The first line of a cell whose message has more is not asked for, because its reader would have it back while the
// sender waits for those behind it. And nothing for messages of four lines or a body: a processor whose thread reads
// three lines to their end fetches those behind, so asking takes longer than not (200 bytes there and back, far: 410 in
// place of 300).
void Outbox::ask_ahead(const Inbox& inbox, uint64_t position, uint64_t bytes) const {
  const uint64_t in_cell = kBeforeData + bytes;
  if (bytes >= kAskedAhead || !inbox.is_in_row(position, areas_.me)) return;
  const char* const cell = reinterpret_cast<const char*>(inbox.cell_at(position + 1));
  if (in_cell <= kCellLine) prefetch_to_write(cell);
  for (uint64_t at = kCellLine; at < in_cell; at += kCellLine) prefetch_to_write(cell + at);
}

// --- sending ---

bool Outbox::send_now(uint16_t to, uint16_t context, int32_t tag, const void* data, uint64_t bytes) {
  if (to >= areas_.shape.members || bytes > eager_bytes_) return false;
  const Queue& queue = queues_[to];
  // relaxed: this thread sees all that it has queued or heard of
  if (queue.sends_wait.load(std::memory_order_relaxed) != 0) return false;
  const bool is_inline = bytes <= kInlineBytes;
  uint32_t packet = 0;
  if (!is_inline) {
    packet = pool_.take();
    if (packet == kNoPacket) return false;
    copy_piece(areas_.packet(areas_.me, packet), data, bytes);
  }
  uint64_t position = 0;
  InboxCell* cell = queue.inbox.claim(areas_.me, &position);
  if (!cell) {
    if (!is_inline) pool_.give_back(packet);
    return false;
  }
  if (!is_inline) pool_.hand_to(packet, to);
  char* const in_cell = cell->payload + kShortHeaderBytes;
  new (cell->payload) Header{
      match_key(context, areas_.me, tag), bytes, is_inline ? HeaderKind::kShort : HeaderKind::kEager, packet, 0, 0};
  if (is_inline && bytes > kInCellBytes)
    std::memcpy(queue.inbox.body_to_write(position, bytes), data, bytes);
  else if (is_inline && bytes != 0)
    copy_into_cell(in_cell, data, bytes);
  queue.inbox.publish(cell, position, areas_.me);
  ask_ahead(queue.inbox, position, bytes);
  return true;
}

int Outbox::send(Request* request, uint16_t to, uint16_t context, int32_t tag, const void* data, uint64_t bytes,
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

void Outbox::reply(Message* message) {
  const uint16_t to = message->sender;
  if (put(to, message->header)) {
    store_->free_message(message);
    return;
  }
  Queue& queue = queues_[to];
  lock(queue.lock, alone_);
  push_back(&queue.first_reply, &queue.last_reply, message);
  note(&queue);
  unlock(queue.lock, 0);
}

// --- what waits for room ---

// It is called under the queue's lock, when the queue has changed.
void Outbox::note(Queue* queue) {
  const bool is_waiting = queue->first || queue->first_reply || queue->first_granted;
  // relaxed, all: hints to threads that have not queued anything themselves
  const bool was_waiting = queue->anything.load(std::memory_order_relaxed) != 0;
  queue->sends_wait.store(queue->first != nullptr, std::memory_order_relaxed);
  queue->anything.store(is_waiting, std::memory_order_relaxed);
  if (is_waiting != was_waiting) add(queues_waiting_, is_waiting ? 1 : ~0u, alone_);
}

// A send leaves its queue when it has been announced, not before: otherwise one that begins just then would overtake
// it.
bool Outbox::launch_waiting() {
  bool any = false;
  for (uint16_t to = 0; to < areas_.shape.members; ++to) {
    Queue& queue = queues_[to];
    uintptr_t rest;
    // relaxed: a hint
    if (queue.anything.load(std::memory_order_relaxed) == 0 || !try_lock(queue.lock, &rest, alone_)) continue;
    Request *completed = nullptr, *last_completed = nullptr;
    while (Message* message = queue.first_reply) {
      if (!put(to, message->header)) break;
      queue.first_reply = message->behind;
      store_->free_message(message);
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
    // This comes only now, because the function that is called may send.
    while (Request* send = completed) {
      completed = send->behind;
      finish(send, alone_);
    }
  }
  return any;
}

// --- members that have died ---

void Outbox::reclaim(uint16_t dead) {
  lock(queues_[dead].lock, alone_);  // no piece is on its way there
  pool_.reclaim(dead);
  pieces_.reclaim(dead);
  unlock(queues_[dead].lock, 0);
}

bool Outbox::take_back(Request* send) {
  Queue& queue = queues_[send->peer];
  lock(queue.lock, alone_);
  // relaxed: under the locks
  const auto stage = send->stage.load(std::memory_order_relaxed);
  const bool is_ours = !send->is_complete() && stage != Request::kEnded;
  if (is_ours) {
    remove_from(&queue.first, &queue.last, send);
    remove_from(&queue.first_granted, &queue.last_granted, send);
    note(&queue);
    if (stage != Request::kBegun) finished(*send, stage == Request::kInPieces);
    if (send->packet != kNoPacket && stage == Request::kInPieces) pieces_.give_back(send->packet);
    if (send->packet != kNoPacket && stage != Request::kInPieces) pool_.give_back(send->packet);
    send->stage.store(Request::kEnded, std::memory_order_relaxed);
  }
  unlock(queue.lock, 0);
  return is_ours;
}

}  // namespace smelt::message
