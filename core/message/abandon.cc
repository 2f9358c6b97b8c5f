// What follows from a member's death: our packets that it had are ours again, cells that it had claimed are passed
// over, and requests that wait for it end, with -EPIPE, as soon as all that it had sent has been taken in.
#include <cerrno>

#include "message/endpoint.h"
#include "message/endpoint_internal.h"
#include "message/lock_bit.h"

namespace smelt::message {

bool Endpoint::is_lost(int32_t source) {
  if (source >= static_cast<int32_t>(members_)) return false;
  look_for_dead(nullptr, 0);
  return liveness_.are_gone(source) && drain_all();
}

// The member that has claimed the cell that comes next holds everybody up, so all are asked for.
void Endpoint::look_for_dead(Request* const* requests, uint32_t count) {
  liveness_.ask();
  if (!liveness_.is_somebody_gone()) return;
  // relaxed: a hint
  expects_dead_.store(true, std::memory_order_relaxed);
  // Takes back the packets that they had. Again and again: others may just have been about to give them more.
  for (uint16_t i = 0; i < areas_.shape.members; ++i) {
    if (!liveness_.is_gone(i)) continue;
    lock(queues_[i].lock, alone_);  // no piece is on its way there
    pool_.reclaim(i);
    pieces_.reclaim(i);
    unlock(queues_[i].lock, 0);
  }
  for (uint32_t i = 0; i < count; ++i)
    if (!test(requests[i])) abandon(requests[i]);
}

// If whom it waits for has died, it is over.
void Endpoint::abandon(Request* request) {
  if (request->is_send) {
    if (request->peer < areas_.shape.members && liveness_.is_gone(request->peer)) abandon_send(request);
    return;
  }
  // acquire: of whom
  const bool in_pieces = request->stage.load(std::memory_order_acquire) == Request::kInPieces;
  const bool says_from_whom = (request->node.mask & ~kAnySource) != 0;
  if (in_pieces && request->peer >= areas_.shape.members) return;  // the holder of the carrier sees to it
  const int32_t source = in_pieces        ? request->peer
                         : says_from_whom ? static_cast<uint16_t>(request->node.key >> 32)
                                          : -1;
  if (!liveness_.are_gone(source) || !drain_all()) return;  // all that it had sent
  if (!in_pieces) {
    if (!table_.cancel(&request->node)) return;  // it has a message after all
    request->error = -EPIPE;
    finish(request, alone_);
    return;
  }
  lock(draining_, alone_);
  if (!test(request)) {
    request->error = -EPIPE;
    finish(request, alone_);
  }
  unlock(draining_, 0);
}

// A send is completed by the thread that empties the inbox (it was received), or that launches it: neither can, while
// we look.
void Endpoint::abandon_send(Request* send) {
  if (!drain_all()) return;
  Queue& queue = queues_[send->peer];
  lock(draining_, alone_);
  lock(queue.lock, alone_);
  // relaxed: under the locks
  const auto stage = send->stage.load(std::memory_order_relaxed);
  const bool is_ours = !test(send) && stage != Request::kEnded;
  if (is_ours) {
    remove_from(&queue.first, &queue.last, send);
    remove_from(&queue.first_granted, &queue.last_granted, send);
    note(&queue);
    if (send->packet != kNoPacket) (stage == Request::kInPieces ? pieces_ : pool_).give_back(send->packet);
    send->stage.store(Request::kEnded, std::memory_order_relaxed);
  }
  unlock(queue.lock, 0);
  if (is_ours) {
    send->error = -EPIPE;
    finish(send, alone_);
  }
  unlock(draining_, 0);
}

}  // namespace smelt::message
