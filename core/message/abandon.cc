// What follows from a member's death: our packets that it had are ours again, cells that it had claimed are passed
// over, and requests that wait for it end, with -EPIPE, as soon as all that it had sent has been taken in.
#include <cerrno>

#include "message/endpoint.h"

namespace smelt::message {

bool Endpoint::is_lost(int32_t source) {
  if (source >= static_cast<int32_t>(members_)) return false;
  look_for_dead(nullptr, 0);
  return liveness_.are_gone(source) && inflow_.drain_all();
}

// The member that has claimed the cell that comes next holds everybody up, so all are asked for.
void Endpoint::look_for_dead(Request* const* requests, uint32_t count) {
  liveness_.ask();
  if (!liveness_.is_somebody_gone()) return;
  inflow_.expect_the_dead();
  // Takes back the packets that they had. Again and again: others may just have been about to give them more.
  for (uint16_t i = 0; i < areas_.shape.members; ++i)
    if (liveness_.is_gone(i)) outbox_.reclaim(i);
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
  if (!liveness_.are_gone(source) || !inflow_.drain_all()) return;  // all that it had sent
  if (!in_pieces) {
    if (!inflow_.withdraw(request)) return;  // it has a message after all
    request->error = -EPIPE;
    finish(request, alone_);
    return;
  }
  const Inflow::Still still(&inflow_);
  if (test(request)) return;
  inflow_.lost_pieces();
  request->error = -EPIPE;
  finish(request, alone_);
}

// A send is completed by the thread that empties the inbox (it was received), or that launches it: neither can, while
// we look.
void Endpoint::abandon_send(Request* send) {
  if (!inflow_.drain_all()) return;
  const Inflow::Still still(&inflow_);
  if (!outbox_.take_back(send)) return;
  send->error = -EPIPE;
  finish(send, alone_);
}

}  // namespace smelt::message
