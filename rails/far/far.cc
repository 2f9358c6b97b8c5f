// To members on other machines (far.h): sends and answers wait, and are launched; sends that the rails are through
// with are retired.
#include "rails/far/far.h"

#include <algorithm>
#include <cerrno>

#include "message/data.h"
#include "message/lock_bit.h"

namespace smelt::message {

namespace {

constexpr uint32_t kMostOutgoing = 64;  // sends of a peer that are with the rails, which may join them into packets
constexpr uint32_t kMostParts = 4;      // of them: of long messages
constexpr uint64_t kBufferBytes = 64 * 1024;
static_assert(sizeof(FarHeader) + kFarEager <= kBufferBytes);

}  // namespace

const Carrier::Calls Far::kCalls = {
    [](Carrier* far, Request* request, bool* done) { return static_cast<Far*>(far)->send(request, done); },
    [](Carrier* far, Request* request, Message* message) { return static_cast<Far*>(far)->receive(request, message); },
    [](Carrier* far, bool at_leisure, bool near) { return static_cast<Far*>(far)->progress(at_leisure, near); },
    [](const Carrier* far, uint16_t member) { return static_cast<const Far*>(far)->is_gone(member); },
    [](Carrier* far) { static_cast<Far*>(far)->close(); }};

Far* Far::open(const FarRails& rails, const CarrierHost& host, int* error) {
  *error = -EINVAL;
  if (rails.peers == 0 || rails.peers > SMELT_RAIL_PEERS) return nullptr;
  Far* far = make_object<Far>(rails.peers * sizeof(FarPeer) + alignof(FarPeer));
  *error = -ENOMEM;
  if (!far) return nullptr;
  far->calls_ = &kCalls, far->host_ = host, far->rails_ = rails;
  far->peers_ = far->arena.make<FarPeer>(rails.peers);
  far->buffers_ = static_cast<char*>(os::map_pages(rails.peers * kBufferBytes));
  bool good = far->peers_ && far->buffers_ && far->slots_.has_free();
  for (uint32_t i = 0; good && i < rails.peers; ++i) {
    FarPeer& peer = far->peers_[i];
    peer.buffer = far->buffers_ + i * kBufferBytes;
    *error = rails.receive(rails.rails, &peer.rail, i, peer.buffer, kBufferBytes);
    good = *error == 0;
  }
  if (good) return far;
  far->rails_.close = nullptr;  // the rails are the host's
  far->close();
  return nullptr;
}

void Far::close() {
  constexpr int64_t kPatience = 1'000'000'000;  // ns
  const int64_t began = os::now_ns();
  slots_.forget_all();  // for fail(), should a peer go just now
  for (bool idle = !rails_.close; !idle && os::now_ns() - began < kPatience;) {
    rails_.test(rails_.rails, &peers_[0].rail, nullptr);
    idle = true;
    for (uint32_t i = 0; i < rails_.peers; ++i) {
      FarPeer& peer = peers_[i];
      if (forget_all(&peer)) continue;
      retire(&peer);
      launch(&peer, nullptr, nullptr);
      idle = false;
    }
  }
  if (rails_.close) rails_.close(rails_.rails);
  if (buffers_) os::unmap_pages(buffers_, rails_.peers * kBufferBytes);
  slots_.close();
  free_object(this);
}

// --- what waits ---

// Behind the others of its kind; all that wait are launched, unless another thread has the rails. False: the peer is
// gone.
template <typename Waiting>
bool Far::put(FarPeer* peer, Waiting** first, Waiting** last, Waiting* one, Request* own, bool* own_done) {
  uintptr_t rest;
  // Before it is in the queue: then nobody else can complete it, and give it to the next one, before we look.
  const bool is_ours = try_lock(busy_, &rest);
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
  if (is_ours) unlock(busy_, 0);
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
  free_message(message);
  return false;
}

FarOutgoing* Far::new_outgoing(uint64_t bytes) {
  const uint64_t taken = sizeof(FarOutgoing) + bytes;
  auto* out = static_cast<FarOutgoing*>(new_parcel(taken));
  if (!out) return nullptr;
  out->send = nullptr, out->is_part = false;
  out->taken = taken;
  return out;
}

// The rails' from now on, unless they have failed.
bool Far::hand_over(FarPeer* peer, FarOutgoing* out, const void* data, uint64_t bytes) {
  const int error = rails_.send(rails_.rails, &out->rail, number_of(*peer), data, bytes);
  if (error != 0 || (!out->is_part && rails_.look(&out->rail, nullptr) == 1)) {
    free_parcel(out, out->taken);
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
    // relaxed: a hint; a thread that has just put something there, and not got the rails, leaves it to the next turn
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
  if (!is_eager && !slots_.has_free()) return false;
  FarOutgoing* out = new_outgoing(is_eager ? send->length : 0);
  if (!out) return false;
  out->header = {is_eager ? FarKind::kEager : FarKind::kAnnounce, send->context, 0, send->tag, 0, send->length, 0, 0};
  if (is_eager) {
    host_.fetch(send, 0, out->data(), send->length);
  } else {
    out->header.send = send->slot = slots_.name(send, number_of(*peer));
    // relaxed: only the holder of the rails looks
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
    finish(send);
  }
  if (!handed_over) fail(peer);
  return true;
}

bool Far::launch_reply(FarPeer* peer, Message* message) {
  const Header& header = message->header;
  Request* receive = header.kind == HeaderKind::kGo ? message->receive : nullptr;
  if (receive && !slots_.has_free()) return false;
  FarOutgoing* out = new_outgoing(0);
  if (!out) return false;
  out->header = {receive ? FarKind::kGo : FarKind::kFinish, 0, 0, 0, 0, header.length, header.answer, 0};
  if (receive) {
    out->header.part = receive->unpack ? kFarPackedPart : kFarPart;
    out->header.receive = receive->slot = slots_.name(receive, number_of(*peer));
  }
  lock(peer->lock);
  peer->first_reply = message->behind;
  unlock(peer->lock, 0);
  free_message(message);
  if (!hand_over(peer, out, &out->header, sizeof out->header)) fail(peer);
  return true;
}

// The next bytes of the send whose turn it is, behind the word that says whose they are.
bool Far::launch_part(FarPeer* peer) {
  Request* send = peer->first_granted;
  const uint64_t bytes = std::min<uint64_t>(send->wanted - send->moved, send->part);
  FarOutgoing *word = new_outgoing(0), *part = word ? new_outgoing(send->data ? 0 : bytes) : nullptr;
  if (!part) {
    if (word) free_parcel(word, word->taken);
    return false;
  }
  word->header = {FarKind::kData, 0, 0, 0, 0, bytes, 0, send->other};
  part->send = send, part->bytes = bytes, part->is_part = true;
  const char* data = send->data ? static_cast<const char*>(send->data) + send->moved : part->data();
  if (!send->data) host_.fetch(send, send->moved, part->data(), bytes);
  send->moved += bytes;
  peer->first_granted = send->behind;
  if (send->moved < send->wanted) push_back(&peer->first_granted, &peer->last_granted, send);
  if (!hand_over(peer, word, &word->header, sizeof word->header)) {
    free_parcel(part, part->taken);
    fail(peer);
  } else if (!hand_over(peer, part, data, bytes)) {
    fail(peer);
  }
  return true;
}

// Ends the sends that the rails are through with.
bool Far::retire(FarPeer* peer) {
  bool any = false, failed = false;
  for (FarOutgoing *out = peer->first_outgoing, *next; out; out = next) {
    next = out->behind;
    const int result = rails_.look(&out->rail, nullptr);
    if (result == 0) continue;
    any = true;
    failed |= result < 0;
    remove_from(&peer->first_outgoing, &peer->last_outgoing, out);
    --peer->outgoing;
    if (out->is_part) --peer->parts;
    Request* send = out->send;
    const uint64_t bytes = out->bytes;
    free_parcel(out, out->taken);
    if (!send) continue;
    // relaxed: we set it
    if (peer->gone.load(std::memory_order_relaxed) != 0) {
      end_if_not_carried(peer, send);
    } else if (result > 0 && (send->arrived += bytes) == send->wanted) {
      slots_.free(send->slot);
      finish(send);
    }
  }
  if (failed) fail(peer);
  return any;
}

// --- progress ---

bool Far::progress(bool at_leisure, bool near) {
  constexpr uint32_t kTurns = 8;
  constexpr int64_t kPause = 20'000;  // ns
  // It takes the kernel, microseconds. A thread looks less often that is busy with this machine's members, or with
  // other things while nothing has come for long. relaxed, all: a pace
  if (!at_leisure && (near || !is_awake())) {
    const uint32_t now_turn = turn_.load(std::memory_order_relaxed) + 1;
    turn_.store(now_turn, std::memory_order_relaxed);
    if (now_turn % kTurns != 0) return false;
    const int64_t now = os::now_ns();
    if (now - looked_.load(std::memory_order_relaxed) < kPause) return false;
    looked_.store(now, std::memory_order_relaxed);
  }
  uintptr_t rest;
  if (!try_lock(busy_, &rest)) return false;
  bool any = false;
  rails_.test(rails_.rails, &peers_[0].rail, nullptr);
  for (uint32_t i = 0; i < rails_.peers; ++i) {
    FarPeer& peer = peers_[i];
    if (peer.first_outgoing) any |= retire(&peer);
    if (peer.gone.load(std::memory_order_relaxed) != 0) {  // relaxed: we set it
      if (peer.first_incoming) any |= drop_bytes(&peer);
      continue;
    }
    any |= take_arrivals(&peer);
    any |= launch(&peer, nullptr, nullptr);
  }
  const bool is_busy = any || !slots_.is_empty();
  unlock(busy_, 0);
  // relaxed, both: a pace
  idle_.store(is_busy ? 0 : std::min(idle_.load(std::memory_order_relaxed), kAwake) + 1, std::memory_order_relaxed);
  return any;
}

}  // namespace smelt::message
