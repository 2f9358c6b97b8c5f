// To members on other machines: waiting sends are launched, sends that the carrier took over are retired. And peers
// that are gone.
#include "message/far.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/object.h"
#include "message/lock_bit.h"

namespace smelt::message {

namespace {

constexpr uint32_t kFirstSlots = 256;
constexpr uint32_t kMostOutgoing = 64;  // sends of a peer that are with the carrier, which it may join into packets
constexpr uint32_t kMostParts = 4;      // of them: of long messages
constexpr uint64_t kBufferBytes = 64 * 1024;
static_assert(sizeof(FarHeader) + kFarEager <= kBufferBytes);

uint64_t name_of(uint32_t slot, uint32_t life) { return uint64_t{life} << 32 | slot; }

}  // namespace

int Endpoint::carry(const smelt_endpoint_carrier& carrier) {
  if (far_ || carrier.peers == 0 || carrier.peers > SMELT_RAIL_PEERS || members_ + carrier.peers > UINT16_MAX ||
      !carrier.rails || !carrier.send || !carrier.receive || !carrier.test || !carrier.look || !carrier.close)
    return -EINVAL;
  int error = 0;
  Far* far = Far::open(this, carrier, &error);
  if (!far) return error;
  members_ += carrier.peers;
  far_ = far;
  liveness_.set_far(far, members_);
  return 0;
}

Far* Far::open(Endpoint* of, const smelt_endpoint_carrier& carrier, int* error) {
  Far* far = make_object<Far>(carrier.peers * sizeof(FarPeer) + alignof(FarPeer));
  *error = -ENOMEM;
  if (!far) return nullptr;
  far->of = of, far->carrier = carrier;
  far->peers = far->arena.make<FarPeer>(carrier.peers);
  far->buffers = static_cast<char*>(os::map_pages(carrier.peers * kBufferBytes));
  bool good = far->peers && far->buffers && far->has_free_slot();
  for (uint32_t i = 0; good && i < carrier.peers; ++i) {
    FarPeer& peer = far->peers[i];
    peer.buffer = far->buffers + i * kBufferBytes;
    *error = carrier.receive(carrier.rails, &peer.rail, i, peer.buffer, kBufferBytes);
    good = *error == 0;
  }
  if (good) return far;
  far->carrier.close = nullptr;  // the rails are the host's
  far->close();
  return nullptr;
}

// Sends that nobody has launched are lost, and their owners may have gone. False: there is something to be told still.
bool Far::forget_all(FarPeer* peer) {
  peer->first = nullptr, peer->first_granted = nullptr;
  for (FarOutgoing* out = peer->first_outgoing; out; out = out->behind) out->send = nullptr;
  for (Message *reply = peer->first_reply, *next; reply; reply = next) {
    next = reply->behind;
    if (reply->header.kind != Kind::kGo) continue;
    remove_from(&peer->first_reply, &peer->last_reply, reply);
    of->store_.free_message(reply);
  }
  return !peer->first_reply && !peer->first_outgoing;
}

// The messages given to the carrier go, and the peers' waiting senders are told that their messages were received, if
// the peers take that within a second.
void Far::close() {
  constexpr int64_t kPatience = 1'000'000'000;  // ns
  const int64_t began = os::now_ns();
  for (uint32_t i = 0; i < slot_count; ++i) slots[i].request = nullptr;  // for fail(), should a peer go just now
  for (bool idle = !carrier.close; !idle && os::now_ns() - began < kPatience;) {
    carrier.test(carrier.rails, &peers[0].rail, nullptr);
    idle = true;
    for (uint32_t i = 0; i < carrier.peers; ++i) {
      FarPeer& peer = peers[i];
      if (forget_all(&peer)) continue;
      retire(&peer);
      launch(&peer, nullptr, nullptr);
      idle = false;
    }
  }
  if (carrier.close) carrier.close(carrier.rails);
  if (buffers) os::unmap_pages(buffers, carrier.peers * kBufferBytes);
  if (slots) os::unmap_pages(slots, slot_count * sizeof(FarSlot));
  free_object(this);
}

// --- who is meant ---

bool Far::has_free_slot() {
  if (free_slot != 0) return true;
  const uint32_t count = slot_count == 0 ? kFirstSlots : 2 * slot_count;
  auto* more = static_cast<FarSlot*>(os::map_pages(count * sizeof(FarSlot)));
  if (!more) return false;
  if (slots) {
    std::memcpy(more, slots, slot_count * sizeof(FarSlot));
    os::unmap_pages(slots, slot_count * sizeof(FarSlot));
  }
  for (uint32_t i = slot_count; i < count; ++i) {
    more[i].life = 1;  // so no name is 0
    more[i].next_free = free_slot;
    free_slot = i + 1;
  }
  slots = more, slot_count = count;
  return true;
}

uint64_t Far::new_slot(Request* request, uint32_t peer) {
  const uint32_t at = free_slot - 1;
  FarSlot& slot = slots[at];
  free_slot = slot.next_free;
  ++slots_taken;
  slot.request = request, slot.peer = peer;
  return name_of(at, slot.life);
}

void Far::free_slot_named(uint64_t name) {
  const auto at = static_cast<uint32_t>(name);
  FarSlot& slot = slots[at];
  slot.request = nullptr;
  if (++slot.life == 0) slot.life = 1;
  slot.next_free = free_slot;
  free_slot = at + 1;
  --slots_taken;
}

FarSlot* Far::slot_of(uint64_t name, uint32_t peer, bool is_send) const {
  const auto at = static_cast<uint32_t>(name);
  if (at >= slot_count) return nullptr;
  FarSlot& slot = slots[at];
  return slot.request && name_of(at, slot.life) == name && slot.peer == peer && slot.request->is_send == is_send
             ? &slot
             : nullptr;
}

// --- what waits ---

// Behind the others of its kind; all that wait are launched, unless another thread has the carrier. False: the peer is
// gone.
template <typename Waiting>
bool Far::put(FarPeer* peer, Waiting** first, Waiting** last, Waiting* one, Request* own, bool* own_done) {
  uintptr_t rest;
  // Before it is in the queue: then nobody else can complete it, and give it to the next one, before we look.
  const bool is_ours = try_lock(busy, &rest);
  lock(peer->lock);
  // relaxed: under the lock
  const bool gone = peer->gone.load(std::memory_order_relaxed) != 0;
  if (!gone) {
    push_back(first, last, one);
    // relaxed: a hint
    peer->anything.store(1, std::memory_order_relaxed);
  }
  unlock(peer->lock, 0);
  wake();
  if (!gone && is_ours) launch(peer, own, own_done);
  if (is_ours) unlock(busy, 0);
  return !gone;
}

int Far::send(Request* request, bool* done) {
  FarPeer& peer = peer_of(request->peer);
  if (done) *done = false;
  return put(&peer, &peer.first, &peer.last, request, request, done) ? 0 : -EPIPE;
}

bool Far::reply(Message* message) {
  FarPeer& peer = peer_of(message->sender);
  if (put<Message>(&peer, &peer.first_reply, &peer.last_reply, message, nullptr, nullptr)) return true;
  of->store_.free_message(message);
  return false;
}

FarOutgoing* Far::new_outgoing(uint64_t bytes) {
  const uint64_t taken = sizeof(FarOutgoing) + bytes;
  auto* out = static_cast<FarOutgoing*>(of->store_.new_parcel(taken));
  if (!out) return nullptr;
  out->send = nullptr, out->is_part = false;
  out->taken = taken;
  return out;
}

// The carrier's from now on, unless it has failed.
bool Far::hand_over(FarPeer* peer, FarOutgoing* out, const void* data, uint64_t bytes) {
  const int error = carrier.send(carrier.rails, &out->rail, number_of(*peer), data, bytes);
  if (error != 0 || (!out->is_part && carrier.look(&out->rail, nullptr) == 1)) {
    of->store_.free_parcel(out, out->taken);
    return error == 0;
  }
  push_back(&peer->first_outgoing, &peer->last_outgoing, out);
  ++peer->outgoing;
  if (out->is_part) ++peer->parts;
  return true;
}

// A send of our own caller, `own`, is not told that it is complete: that is returned.
bool Far::launch(FarPeer* peer, Request* own, bool* own_done) {
  bool any = false;
  for (bool more = true; more && !peer->gone.load(std::memory_order_relaxed); any |= more) {  // relaxed: we set it
    more = false;
    // relaxed: a hint; a thread that has just put something there, and not got the carrier, leaves it to the next turn
    if (peer->outgoing < kMostOutgoing && peer->anything.load(std::memory_order_relaxed) != 0) {
      lock(peer->lock);
      Message* reply = peer->first_reply;
      Request* send = peer->first;
      if (!reply && !send) peer->anything.store(0, std::memory_order_relaxed);  // relaxed: under the lock
      unlock(peer->lock, 0);
      // They stay the first: others only put something behind them.
      if (reply)
        more = launch_reply(peer, reply);
      else if (send)
        more = launch_send(peer, send, own, own_done);
    }
    if (peer->first_granted && peer->parts < kMostParts) more |= launch_part(peer);
  }
  return any;
}

bool Far::launch_send(FarPeer* peer, Request* send, Request* own, bool* own_done) {
  const bool is_eager = !send->synchronous && send->length <= kFarEager;
  if (!is_eager && !has_free_slot()) return false;
  FarOutgoing* out = new_outgoing(is_eager ? send->length : 0);
  if (!out) return false;
  out->header = {is_eager ? FarKind::kEager : FarKind::kAnnounce, send->context, 0, send->tag, 0, send->length, 0, 0};
  if (is_eager) {
    fetch(send, 0, out->data(), send->length);
  } else {
    out->header.send = send->slot = new_slot(send, number_of(*peer));
    // relaxed: only the holder of the carrier looks
    send->stage.store(Request::kAnnounced, std::memory_order_relaxed);
  }
  lock(peer->lock);
  peer->first = send->behind;
  unlock(peer->lock, 0);
  const bool handed_over = hand_over(peer, out, &out->header, sizeof out->header + (is_eager ? send->length : 0));
  if (is_eager && send == own) {
    if (own_done) *own_done = true;
    end(send);
  } else if (is_eager) {
    finish(send, of->alone_);
  }
  if (!handed_over) fail(peer);
  return true;
}

bool Far::launch_reply(FarPeer* peer, Message* message) {
  const Header& header = message->header;
  Request* receive = header.kind == Kind::kGo ? message->receive : nullptr;
  if (receive && !has_free_slot()) return false;
  FarOutgoing* out = new_outgoing(0);
  if (!out) return false;
  out->header = {receive ? FarKind::kGo : FarKind::kFinish, 0, 0, 0, 0, header.length, header.answer, 0};
  if (receive) {
    out->header.part = receive->unpack ? kFarPackedPart : kFarPart;
    out->header.receive = receive->slot = new_slot(receive, number_of(*peer));
  }
  lock(peer->lock);
  peer->first_reply = message->behind;
  unlock(peer->lock, 0);
  of->store_.free_message(message);
  if (!hand_over(peer, out, &out->header, sizeof out->header)) fail(peer);
  return true;
}

// The next bytes of the send whose turn it is, behind the word that says whose they are.
bool Far::launch_part(FarPeer* peer) {
  Request* send = peer->first_granted;
  const uint64_t bytes = std::min<uint64_t>(send->wanted - send->moved, send->part);
  FarOutgoing *word = new_outgoing(0), *part = word ? new_outgoing(send->data ? 0 : bytes) : nullptr;
  if (!part) {
    if (word) of->store_.free_parcel(word, word->taken);
    return false;
  }
  word->header = {FarKind::kData, 0, 0, 0, 0, bytes, 0, send->other};
  part->send = send, part->bytes = bytes, part->is_part = true;
  const char* data = send->data ? static_cast<const char*>(send->data) + send->moved : part->data();
  if (!send->data) fetch(send, send->moved, part->data(), bytes);
  send->moved += bytes;
  peer->first_granted = send->behind;
  if (send->moved < send->wanted) push_back(&peer->first_granted, &peer->last_granted, send);
  if (!hand_over(peer, word, &word->header, sizeof word->header)) {
    of->store_.free_parcel(part, part->taken);
    fail(peer);
  } else if (!hand_over(peer, part, data, bytes)) {
    fail(peer);
  }
  return true;
}

// Ends the sends that the carrier is through with.
bool Far::retire(FarPeer* peer) {
  bool any = false, failed = false;
  for (FarOutgoing *out = peer->first_outgoing, *next; out; out = next) {
    next = out->behind;
    const int result = carrier.look(&out->rail, nullptr);
    if (result == 0) continue;
    any = true;
    failed |= result < 0;
    remove_from(&peer->first_outgoing, &peer->last_outgoing, out);
    --peer->outgoing;
    if (out->is_part) --peer->parts;
    Request* send = out->send;
    const uint64_t bytes = out->bytes;
    of->store_.free_parcel(out, out->taken);
    if (!send) continue;
    // relaxed: we set it
    if (peer->gone.load(std::memory_order_relaxed) != 0) {
      end_if_not_carried(peer, send);
    } else if (result > 0 && (send->arrived += bytes) == send->wanted) {
      free_slot_named(send->slot);
      finish(send, of->alone_);
    }
  }
  if (failed) fail(peer);
  return any;
}

// --- the end of a peer ---

void Far::fail(FarPeer* peer) {
  lock(peer->lock);
  // relaxed: under the lock
  const bool was_gone = peer->gone.exchange(1, std::memory_order_relaxed) != 0;
  Request* send = peer->first;
  Message* reply = peer->first_reply;
  peer->first = nullptr, peer->first_reply = nullptr;
  unlock(peer->lock, 0);
  if (was_gone) return;
  of->liveness_.note_gone();
  const auto end_it = [this](Request* request) {
    request->error = -EPIPE;
    finish(request, of->alone_);
  };
  peer->first_granted = nullptr;
  while (send) {
    Request* next = send->behind;
    end_it(send);
    send = next;
  }
  while (reply) {
    Message* next = reply->behind;
    Request* receive = reply->header.kind == Kind::kGo ? reply->receive : nullptr;
    of->store_.free_message(reply);
    if (receive) end_it(receive);
    reply = next;
  }
  for (uint32_t i = 0; i < slot_count; ++i) {
    Request* request = slots[i].request;
    if (request && slots[i].peer == number_of(*peer)) end_if_not_carried(peer, request);
  }
}

// A peer whose words make no sense may send and take bytes all the same: those that the carrier has in hand are read
// from and written to the program's memory, which is the program's own again only when the carrier is through.
bool Far::is_carried(const FarPeer& peer, const Request* request) const {
  for (const FarOutgoing* out = peer.first_outgoing; out && request->is_send && request->data; out = out->behind)
    if (out->send == request && carrier.look(&out->rail, nullptr) == 0) return true;
  for (const FarIncoming* in = peer.first_incoming; in && !request->is_send && !request->unpack; in = in->behind)
    if (in->receive == request && carrier.look(&in->rail, nullptr) == 0) return true;
  return false;
}

// Of a peer that is gone.
void Far::end_if_not_carried(FarPeer* peer, Request* request) {
  if (is_carried(*peer, request)) return;  // retire() and drop_bytes() come back to it
  for (FarOutgoing* out = peer->first_outgoing; out; out = out->behind)
    if (out->send == request) out->send = nullptr;
  for (FarIncoming* in = peer->first_incoming; in; in = in->behind)
    if (in->receive == request) in->receive = nullptr;
  free_slot_named(request->slot);
  request->error = -EPIPE;
  finish(request, of->alone_);
}

// Bytes that were to come from a peer that is gone.
bool Far::drop_bytes(FarPeer* peer) {
  bool any = false;
  for (FarIncoming* in = peer->first_incoming, *next; in; in = next) {
    next = in->behind;
    if (carrier.look(&in->rail, nullptr) == 0) continue;
    any = true;
    remove_from(&peer->first_incoming, &peer->last_incoming, in);
    Request* receive = in->receive;
    of->store_.free_parcel(in, in->taken);
    if (receive) end_if_not_carried(peer, receive);
  }
  return any;
}

bool Far::progress(bool at_leisure, bool near) {
  constexpr uint32_t kTurns = 8;
  constexpr int64_t kPause = 20'000;  // ns
  // It takes the kernel, microseconds. A thread looks less often that is busy with this machine's members, or with
  // other things while nothing has come for long. relaxed, all: a pace
  if (!at_leisure && (near || !is_awake())) {
    const uint32_t now_turn = turn.load(std::memory_order_relaxed) + 1;
    turn.store(now_turn, std::memory_order_relaxed);
    if (now_turn % kTurns != 0) return false;
    const int64_t now = os::now_ns();
    if (now - looked.load(std::memory_order_relaxed) < kPause) return false;
    looked.store(now, std::memory_order_relaxed);
  }
  uintptr_t rest;
  if (!try_lock(busy, &rest)) return false;
  bool any = false;
  carrier.test(carrier.rails, &peers[0].rail, nullptr);
  for (uint32_t i = 0; i < carrier.peers; ++i) {
    FarPeer& peer = peers[i];
    if (peer.first_outgoing) any |= retire(&peer);
    if (peer.gone.load(std::memory_order_relaxed) != 0) {  // relaxed: we set it
      if (peer.first_incoming) any |= drop_bytes(&peer);
      continue;
    }
    any |= take_arrivals(&peer);
    any |= launch(&peer, nullptr, nullptr);
  }
  const bool is_busy = any || slots_taken != 0;
  unlock(busy, 0);
  // relaxed, both: a pace
  idle.store(is_busy ? 0 : std::min(idle.load(std::memory_order_relaxed), kAwake) + 1, std::memory_order_relaxed);
  return any;
}

}  // namespace smelt::message
