// The end of a peer on another machine (far.h): it has failed, or is closed, and requests under way to and from it end
// as soon as the rails have none of their bytes in hand.
#include <cerrno>

#include "message/liveness.h"
#include "message/lock_bit.h"
#include "rails/far/far.h"

namespace smelt::message {

void Far::fail(FarPeer* peer) {
  lock(peer->lock);
  // relaxed: under the lock
  const bool was_gone = peer->gone.exchange(1, std::memory_order_relaxed) != 0;
  Request* send = peer->first;
  Message* reply = peer->first_reply;
  peer->first = nullptr, peer->first_reply = nullptr;
  unlock(peer->lock, 0);
  if (was_gone) return;
  host_.note_gone(host_.endpoint);
  const auto end_it = [this](Request* request) {
    request->error = -EPIPE;
    finish(request);
  };
  peer->first_granted = nullptr;
  while (send) {
    Request* next = send->behind;
    end_it(send);
    send = next;
  }
  while (reply) {
    Message* next = reply->behind;
    Request* receive = reply->header.kind == HeaderKind::kGo ? reply->receive : nullptr;
    free_message(reply);
    if (receive) end_it(receive);
    reply = next;
  }
  slots_.for_each_of(number_of(*peer), [&](Request* request) { end_if_not_carried(peer, request); });
}

// A peer whose words make no sense may send and take bytes all the same: those that the rails have in hand are read
// from and written to the program's memory, which is the program's own again only when the rails are through.
bool Far::is_carried(const FarPeer& peer, const Request* request) const {
  for (const FarOutgoing* out = peer.first_outgoing; out && request->is_send && request->data; out = out->behind)
    if (out->send == request && rails_.look(&out->rail, nullptr) == 0) return true;
  for (const FarIncoming* in = peer.first_incoming; in && !request->is_send && !request->unpack; in = in->behind)
    if (in->receive == request && rails_.look(&in->rail, nullptr) == 0) return true;
  return false;
}

// Of a peer that is gone.
void Far::end_if_not_carried(FarPeer* peer, Request* request) {
  if (is_carried(*peer, request)) return;  // retire() and drop_bytes() come back to it
  for (FarOutgoing* out = peer->first_outgoing; out; out = out->behind)
    if (out->send == request) out->send = nullptr;
  for (FarIncoming* in = peer->first_incoming; in; in = in->behind)
    if (in->receive == request) in->receive = nullptr;
  slots_.free(request->slot);
  request->error = -EPIPE;
  finish(request);
}

// Bytes that were to come from a peer that is gone.
bool Far::drop_bytes(FarPeer* peer) {
  bool any = false;
  for (FarIncoming* in = peer->first_incoming, *next; in; in = next) {
    next = in->behind;
    if (rails_.look(&in->rail, nullptr) == 0) continue;
    any = true;
    remove_from(&peer->first_incoming, &peer->last_incoming, in);
    Request* receive = in->receive;
    free_parcel(in, in->taken);
    if (receive) end_if_not_carried(peer, receive);
  }
  return any;
}

// Sends that nobody has launched are lost, and their owners may have gone. False: there is something to be told still.
bool Far::forget_all(FarPeer* peer) {
  peer->first = nullptr, peer->first_granted = nullptr;
  for (FarOutgoing* out = peer->first_outgoing; out; out = out->behind) out->send = nullptr;
  for (Message *reply = peer->first_reply, *next; reply; reply = next) {
    next = reply->behind;
    if (reply->header.kind != HeaderKind::kGo) continue;
    remove_from(&peer->first_reply, &peer->last_reply, reply);
    free_message(reply);
  }
  return !peer->first_reply && !peer->first_outgoing;
}

}  // namespace smelt::message
