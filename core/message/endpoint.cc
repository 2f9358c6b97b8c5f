// Opening and closing, and progress: the inbox is emptied, what waits for room is sent.
#include "message/endpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/os/process.h"
#include "message/endpoint_internal.h"
#include "message/lock_bit.h"

namespace smelt::message {

namespace {

constexpr uint64_t kPageBytes = 4096, kChunkBytes = 256 * 1024;
constexpr int kBatch = 128;  // cells that are emptied before others get a chance

uint64_t pages(uint64_t bytes) { return (bytes + kPageBytes - 1) & ~(kPageBytes - 1); }

}  // namespace

uint64_t Shape::area_bytes() const {
  return pages(Endpoint::Area::packets_at(*this) + uint64_t{packets} * packet_bytes);
}
uint64_t Shape::bytes() const { return members * area_bytes(); }

Endpoint::Area Endpoint::area(uint16_t member) const { return Area(memory_ + member * shape_.area_bytes(), shape_); }

int Endpoint::open(void* memory, const Shape& shape, uint16_t me, bool single_copy, Endpoint** endpoint) {
  if (me >= shape.members || shape.cells < 2 || (shape.cells & (shape.cells - 1)) || shape.packet_bytes % 64)
    return -EINVAL;
  auto* made = make_object<Endpoint>(shape.members * (sizeof(Queue) + 1) + 256);
  if (!made) return -ENOMEM;
  made->queues_ = made->arena.make<Queue>(shape.members);
  made->gone_ = made->arena.make<std::atomic<uint8_t>>(shape.members);
  if (!made->queues_ || !made->gone_ || made->table_.create() != 0) {
    free_object(made);
    return -ENOMEM;
  }
  made->memory_ = static_cast<char*>(memory);
  made->shape_ = shape;
  made->me_ = me;
  made->single_copy_ = single_copy;
  made->process_ = os::process_id();
  const Area own = made->area(me);
  own.member->process = made->process_;
  own.member->started = os::process_start(made->process_);
  own.inbox.write_empty();
  made->reader_.inbox = own.inbox;
  made->pool_.write_full(own.returns, shape.packets);
  *endpoint = made;
  return 0;
}

void Endpoint::close(Endpoint* endpoint) {
  if (!endpoint) return;
  for (Chunk *chunk = endpoint->chunks_, *next; chunk; chunk = next) {
    next = chunk->next;
    os::unmap_pages(chunk, kChunkBytes);
  }
  endpoint->table_.destroy();
  free_object(endpoint);
}

uint64_t Endpoint::deferred() const { return deferred_.load(std::memory_order_relaxed); }

// Memory for a message that may have to wait; nullptr: the machine has none.
Message* Endpoint::new_message() {
  lock(messages_lock_);
  if (!messages_) {
    if (auto* chunk = static_cast<Chunk*>(os::map_pages(kChunkBytes))) {
      chunk->next = chunks_;
      chunks_ = chunk;
      auto* first = reinterpret_cast<Message*>(reinterpret_cast<char*>(chunk) + 64);
      for (uint64_t i = 0; i < (kChunkBytes - 64) / sizeof(Message); ++i) {
        auto* message = new (first + i) Message;
        message->free = messages_;
        messages_ = message;
      }
    }
  }
  Message* message = messages_;
  if (message) messages_ = message->free;
  unlock(messages_lock_, 0);
  return message;
}

void Endpoint::free_message(Message* message) {
  lock(messages_lock_);
  message->free = messages_;
  messages_ = message;
  unlock(messages_lock_, 0);
}

// Out of its packet, so that the sender has that again. False: no memory.
bool Endpoint::keep(Message* message, uint16_t sender) {
  void* own = os::map_pages(shape_.packet_bytes);
  if (!own) return false;
  const Area theirs = area(sender);
  Header& header = message->header;
  std::memcpy(own, theirs.packets + uint64_t{header.which} * shape_.packet_bytes, header.length);
  theirs.returns.give_back(header.which);
  header.kind = Kind::kKept;
  header.address = reinterpret_cast<uintptr_t>(own);
  return true;
}

// One thread at a time; the others have better things to do, unless they must know that all has been seen
// (`patiently`).
bool Endpoint::drain(bool patiently) {
  uintptr_t rest;
  if (patiently)
    lock(draining_);
  else if (!try_lock(draining_, &rest))
    return false;
  bool any = false;
  for (int i = 0; patiently || i < kBatch; ++i) {
    int32_t sender, claimed_by;
    const InboxCell* cell = reader_.peek(&sender, &claimed_by);
    if (!cell) {
      // Only who waits for long asks whether somebody has died (is_gone), and that is soon enough. relaxed: a hint
      if (claimed_by < 0 || !gone_[claimed_by].load(std::memory_order_relaxed)) break;
      reader_.pass_dead(claimed_by);
      continue;
    }
    Message* message = new_message();
    if (!message) break;  // it stays where it is
    std::memcpy(&message->header, cell->payload, sizeof(Header));
    if (message->header.kind == Kind::kInline)
      std::memcpy(message->bytes, cell->payload + sizeof(Header), message->header.length);
    if (message->header.kind == Kind::kEager && !single_copy_ && !keep(message, static_cast<uint16_t>(sender))) {
      free_message(message);
      break;
    }
    reader_.pass();
    message->sender = static_cast<uint16_t>(sender);
    message->node.key = message->header.key;
    message->node.number = ++arrivals_;
    if (MatchNode* met = table_.arrive(&message->node)) {
      auto* receive = reinterpret_cast<Request*>(met);
      const auto completed = receive->completed;  // delivered, it is its owner's again who asks
      deliver(receive, message);
      if (completed) completed(receive);
    }
    any = true;
  }
  unlock(draining_, 0);
  return any;
}

// The queues of sends that found no room. A send leaves its queue when it has been announced, not before: otherwise one
// that begins just then would overtake it.
bool Endpoint::launch() {
  bool any = false;
  for (uint16_t to = 0; to < shape_.members; ++to) {
    Queue& queue = queues_[to];
    uintptr_t rest;
    // relaxed: a hint
    if (queue.waiting.load(std::memory_order_relaxed) == 0 || !try_lock(queue.lock, &rest)) continue;
    while (queue.first) {
      Request* next = queue.first->behind;  // announced, it is its owner's again
      if (!announce(queue.first)) break;
      queue.first = next;
      any = true;
    }
    if (!queue.first) queue.waiting.store(0, std::memory_order_relaxed);
    unlock(queue.lock, 0);
  }
  return any;
}

bool Endpoint::progress() {
  const bool received = drain(false);
  return launch() || received;
}

}  // namespace smelt::message
