// From members on other machines: arrived messages, and their meaning.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "message/far.h"
#include "message/lock_bit.h"

namespace smelt::message {

namespace {

constexpr int kAtATime = 16;  // messages of a peer, before others get a chance

}  // namespace

// A message that was announced has met its receive. True: that is complete.
bool Far::receive(Request* request, Message* message) {
  describe(request, message->header, message->sender);
  Header& header = message->header;
  header.length = std::min(header.length, request->capacity);
  const bool is_complete = header.length == 0;
  header.kind = is_complete ? Kind::kFinish : Kind::kGo;
  request->moved = request->arrived = 0;
  request->wanted = header.length;
  message->receive = request;
  // release: its waiter leaves it to us from now on (abandon)
  if (!is_complete) request->stage.store(Request::kInPieces, std::memory_order_release);
  if (reply(message) || is_complete) return is_complete;
  request->error = -EPIPE;
  return true;
}

// Its next message may come. False: the peer is gone.
bool Far::await(FarPeer* peer) {
  if (carrier.receive(carrier.rails, &peer->rail, number_of(*peer), peer->buffer, sizeof(FarHeader) + kFarEager) == 0)
    return true;
  fail(peer);
  return false;
}

bool Far::take_arrivals(FarPeer* peer) {
  bool any = take_bytes(peer);
  for (int i = 0; i < kAtATime && peer->gone.load(std::memory_order_relaxed) == 0; ++i) {  // relaxed: we set it
    size_t bytes = 0;
    const int result = carrier.look(&peer->rail, &bytes);
    if (result == 0) break;
    FarHeader header{};
    if (result > 0 && bytes >= sizeof header) std::memcpy(&header, peer->buffer, sizeof header);
    const Taken taken = result < 0 ? Taken::kNever : take(peer, header, bytes);
    if (taken == Taken::kLater) break;
    any = true;
    if (taken == Taken::kNever)
      fail(peer);
    else if (await(peer))
      take_bytes(peer);  // which may be there already
  }
  return any;
}

Far::Taken Far::take(FarPeer* peer, const FarHeader& header, uint64_t bytes) {
  const uint64_t data = header.kind == FarKind::kEager ? header.length : 0;
  if (data > kFarEager || bytes != sizeof header + data) return Taken::kNever;
  switch (header.kind) {
    case FarKind::kEager:
    case FarKind::kAnnounce: return take_message(peer, header);
    case FarKind::kGo:
    case FarKind::kFinish: return take_answer(peer, header);
    case FarKind::kData: return take_data(peer, header);
  }
  return Taken::kNever;
}

// Into the table, as endpoint.cc does with the inbox's messages, and in one row with them.
Far::Taken Far::take_message(FarPeer* peer, const FarHeader& header) {
  const bool is_eager = header.kind == FarKind::kEager;
  uintptr_t rest;
  if (!try_lock(of->draining_, &rest)) return Taken::kLater;
  Message*& spare = of->spare_;
  if (!spare) spare = of->store_.new_message();
  Message* const message = spare;
  if (!message) {
    unlock(of->draining_, 0);
    return Taken::kLater;
  }
  const auto sender = static_cast<uint16_t>(of->areas_.shape.members + number_of(*peer));
  const uint64_t key = match_key(header.context, sender, header.tag);
  message->header = {key, header.length, is_eager ? Kind::kInline : Kind::kLong, 0, 0, header.send};
  message->sender = sender;
  message->node.key = key;
  message->node.number = ++of->arrivals_;
  MatchNode* met = nullptr;
  const char* const data = peer->buffer + sizeof header;
  if (is_eager) {
    message->header.answer = 0;
    met = of->table_.arrive(&message->node, false);
    auto* const receive = reinterpret_cast<Request*>(met);
    if (met && !receive->holds) {  // copied once
      unlock(of->draining_, 0);
      count(eager);
      receive->error = header.length > receive->capacity ? -EMSGSIZE : 0;
      receive->peer = sender, receive->tag = header.tag, receive->length = header.length;
      place(receive, 0, data, std::min(header.length, receive->capacity));
      finish(receive, of->alone_);
      return Taken::kYes;
    }
    if (header.length <= kInCellBytes) {
      std::memcpy(message->bytes, data, header.length);
    } else if (void* kept = of->store_.new_parcel(header.length)) {
      std::memcpy(kept, data, header.length);
      message->header.kind = Kind::kKept;
      message->header.address = reinterpret_cast<uintptr_t>(kept);
    } else if (!met) {
      unlock(of->draining_, 0);
      return Taken::kLater;
    } else {  // the machine has no memory, and its holders cannot give it back
      unlock(of->draining_, 0);
      receive->error = -ENOMEM;
      finish(receive, of->alone_);
      return Taken::kYes;
    }
  }
  count(is_eager ? eager : announced);
  Message *first = nullptr, *last = nullptr;
  of->take_in(message, met, &first, &last);
  unlock(of->draining_, 0);
  if (!first) return Taken::kYes;
  Request* const receive = first->receive;
  if (of->deliver_long(receive, first)) finish(receive, of->alone_);
  return Taken::kYes;
}

// Of one of our sends: its bytes are wanted, or it is received.
Far::Taken Far::take_answer(FarPeer* peer, const FarHeader& header) {
  FarSlot* slot = slot_of(header.send, number_of(*peer), true);
  Request* send = slot ? slot->request : nullptr;
  // relaxed: ours
  if (!send || send->stage.load(std::memory_order_relaxed) != Request::kAnnounced) return Taken::kNever;
  if (header.kind == FarKind::kFinish) {
    free_slot_named(header.send);
    finish(send, of->alone_);
    return Taken::kYes;
  }
  if (header.length == 0 || header.length > send->length || header.part == 0) return Taken::kNever;
  send->stage.store(Request::kInPieces, std::memory_order_relaxed);
  send->moved = send->arrived = 0;
  send->wanted = header.length;
  send->other = header.receive;
  send->part = static_cast<uint32_t>(std::min<uint64_t>(header.part, send->data ? kFarPart : kFarPackedPart));
  push_back(&peer->first_granted, &peer->last_granted, send);
  return Taken::kYes;
}

// So many bytes of one of our receives come next.
Far::Taken Far::take_data(FarPeer* peer, const FarHeader& header) {
  FarSlot* slot = slot_of(header.receive, number_of(*peer), false);
  Request* receive = slot ? slot->request : nullptr;
  const uint64_t bytes = header.length;
  if (!receive || bytes == 0 || bytes > receive->wanted - receive->moved || (receive->unpack && bytes > kFarPackedPart))
    return Taken::kNever;
  const uint64_t taken = sizeof(FarIncoming) + (receive->unpack ? bytes : 0);
  auto* in = static_cast<FarIncoming*>(of->store_.new_parcel(taken));
  if (!in) return Taken::kLater;
  in->receive = receive, in->bytes = bytes, in->taken = taken;
  char* to = receive->unpack ? in->data() : static_cast<char*>(receive->buffer) + receive->moved;
  if (carrier.receive(carrier.rails, &in->rail, number_of(*peer), to, bytes) != 0) {
    of->store_.free_parcel(in, taken);
    return Taken::kNever;
  }
  receive->moved += bytes;
  push_back(&peer->first_incoming, &peer->last_incoming, in);
  return Taken::kYes;
}

// In the order in which they were sent, as unpacking needs.
bool Far::take_bytes(FarPeer* peer) {
  bool any = false;
  while (FarIncoming* in = peer->first_incoming) {
    size_t bytes = 0;
    const int result = carrier.look(&in->rail, &bytes);
    if (result == 0) break;
    any = true;
    if (result < 0 || bytes != in->bytes) {
      fail(peer);
      break;
    }
    peer->first_incoming = in->behind;
    Request* receive = in->receive;
    if (receive->unpack) place(receive, receive->arrived, in->data(), bytes);
    receive->arrived += bytes;
    of->store_.free_parcel(in, in->taken);
    if (receive->arrived != receive->wanted) continue;
    free_slot_named(receive->slot);
    finish(receive, of->alone_);
  }
  return any;
}

}  // namespace smelt::message
