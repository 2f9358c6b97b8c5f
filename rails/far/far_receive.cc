// From members on other machines (far.h): arrived messages, and their meaning.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "message/data.h"
#include "message/inflow.h"
#include "rails/far/far.h"

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
  header.kind = is_complete ? HeaderKind::kFinish : HeaderKind::kGo;
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
  if (rails_.receive(rails_.rails, &peer->rail, number_of(*peer), peer->buffer, sizeof(FarHeader) + kFarEager) == 0)
    return true;
  fail(peer);
  return false;
}

bool Far::take_arrivals(FarPeer* peer) {
  bool any = take_bytes(peer);
  for (int i = 0; i < kAtATime && peer->gone.load(std::memory_order_relaxed) == 0; ++i) {  // relaxed: we set it
    size_t bytes = 0;
    const int result = rails_.look(&peer->rail, &bytes);
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

// Into the table, in one row with this machine's messages.
Far::Taken Far::take_message(FarPeer* peer, const FarHeader& header) {
  const bool is_eager = header.kind == FarKind::kEager;
  const auto sender = static_cast<uint16_t>(host_.near + number_of(*peer));
  const Header as_near{match_key(header.context, sender, header.tag),
                       header.length,
                       is_eager ? HeaderKind::kInline : HeaderKind::kLong,
                       0,
                       0,
                       is_eager ? 0 : header.send};
  return host_.take_message(host_.endpoint, sender, as_near, peer->buffer + sizeof header) ? Taken::kYes
                                                                                           : Taken::kLater;
}

// Of one of our sends: its bytes are wanted, or it is received.
Far::Taken Far::take_answer(FarPeer* peer, const FarHeader& header) {
  Request* const send = slots_.find(header.send, number_of(*peer), true);
  // relaxed: ours
  if (!send || send->stage.load(std::memory_order_relaxed) != Request::kAnnounced) return Taken::kNever;
  if (header.kind == FarKind::kFinish) {
    slots_.free(header.send);
    finish(send);
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
  Request* const receive = slots_.find(header.receive, number_of(*peer), false);
  const uint64_t bytes = header.length;
  if (!receive || bytes == 0 || bytes > receive->wanted - receive->moved || (receive->unpack && bytes > kFarPackedPart))
    return Taken::kNever;
  const uint64_t taken = sizeof(FarIncoming) + (receive->unpack ? bytes : 0);
  auto* in = static_cast<FarIncoming*>(new_parcel(taken));
  if (!in) return Taken::kLater;
  in->receive = receive, in->bytes = bytes, in->taken = taken;
  char* to = receive->unpack ? in->data() : static_cast<char*>(receive->buffer) + receive->moved;
  if (rails_.receive(rails_.rails, &in->rail, number_of(*peer), to, bytes) != 0) {
    free_parcel(in, taken);
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
    const int result = rails_.look(&in->rail, &bytes);
    if (result == 0) break;
    any = true;
    if (result < 0 || bytes != in->bytes) {
      fail(peer);
      break;
    }
    peer->first_incoming = in->behind;
    Request* receive = in->receive;
    if (receive->unpack) receive->unpack(receive, receive->arrived, in->data(), bytes);
    receive->arrived += bytes;
    free_parcel(in, in->taken);
    if (receive->arrived != receive->wanted) continue;
    slots_.free(receive->slot);
    finish(receive);
  }
  return any;
}

}  // namespace smelt::message
