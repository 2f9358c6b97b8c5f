// Receives (inflow.h): they ask the matching table for a message that has come before them, or wait there for theirs.
#include <cerrno>

#include "message/carrier.h"
#include "message/data.h"
#include "message/inflow.h"

namespace smelt::message {

namespace {

MatchNode pattern_of(int32_t source, uint16_t context, int32_t tag, bool any_tag) {
  MatchNode pattern;
  pattern.mask = (source < 0 ? kAnySource : kExact) & (any_tag ? kAnyTag : kExact);
  pattern.key = match_key(context, source < 0 ? 0 : static_cast<uint16_t>(source), any_tag ? 0 : tag);
  return pattern;
}

void begin(Request* request, void* buffer, uint64_t capacity) {
  request->is_send = false;
  request->error = 0;
  request->buffer = buffer;
  request->capacity = capacity;
  // relaxed, both: the table's locks carry it to its finder
  request->stage.store(Request::kBegun, std::memory_order_relaxed);
  request->state.store(Request::kPending, std::memory_order_relaxed);
}

}  // namespace

int Inflow::receive(Request* request, int32_t source, uint16_t context, int32_t tag, bool any_tag, void* buffer,
                    uint64_t capacity, bool* done) {
  if (source >= static_cast<int32_t>(areas_.shape.members)) {
    if (source >= static_cast<int32_t>(members_)) return -EINVAL;
    far_->wake();
  }
  begin(request, buffer, capacity);
  const MatchNode pattern = pattern_of(source, context, tag, any_tag);
  request->node.key = pattern.key;
  request->node.mask = pattern.mask;
  MatchMessage* message = table_.post(&request->node);
  const bool is_complete = message && met(request, reinterpret_cast<Message*>(message));
  if (done) *done = is_complete;
  return 0;
}

// With a message that had come before it. True: it is complete.
bool Inflow::met(Request* receive, Message* message) {
  add(asked_for_, 1, alone_);
  if (receive->holds) {
    receive->held = message;
    describe(receive, message->header, message->sender);
  } else if (message->header.kind == HeaderKind::kLong) {
    if (!deliver_long(receive, message)) return false;
  } else if (!deliver(receive, message)) {
    store_->free_message(message);
  }
  end(receive);
  return true;
}

void Inflow::receive_held(Request* request, Request* holder, void* buffer, uint64_t capacity, bool* done) {
  Message* message = holder->held;
  begin(request, buffer, capacity);
  request->holds = false;
  // The peer that it waits for, should that die.
  request->node.key = message->header.key;
  request->node.mask = kExact;
  bool is_complete = true;
  if (message->header.kind == HeaderKind::kLong)
    is_complete = deliver_long(request, message);
  else if (!deliver(request, message))
    store_->free_message(message);
  if (is_complete) end(request);
  if (done) *done = is_complete;
}

bool Inflow::probe(int32_t source, uint16_t context, int32_t tag, bool any_tag, Seen* seen) {
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

void Inflow::forget(uint16_t context) {
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
    if (message->header.kind != HeaderKind::kLong) deliver(&nobody, message);
    store_->free_message(message);
  }
}

}  // namespace smelt::message
