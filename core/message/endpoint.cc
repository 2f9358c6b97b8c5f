// Opening and closing an endpoint (endpoint.h), its settings, and progress: the inbox is emptied, sends that wait for
// room are sent, the carrier is looked at.
#include "message/endpoint.h"

#include <algorithm>
#include <cerrno>

#include "base/os/process.h"
#include "message/carrier.h"
#include "message/data.h"

namespace smelt::message {

int Endpoint::open(void* memory, const Shape& shape, uint16_t me, bool single_copy, Endpoint** endpoint) {
  if (me >= shape.members || shape.cells < 2 || (shape.cells & (shape.cells - 1)) || shape.packet_bytes % 64 ||
      shape.packet_bytes > Store::kMostParcel || shape.pieces == 0 || shape.pieces > PiecePool::kMost ||
      shape.piece_bytes == 0 || shape.piece_bytes % 64)
    return -EINVAL;
  auto* made = make_object<Endpoint>(Outbox::arena_bytes(shape) + Inflow::arena_bytes(shape) +
                                     Liveness::arena_bytes(shape) + 64);  // what their alignment takes
  if (!made) return -ENOMEM;
  const Areas areas(memory, shape, me);
  if (!made->liveness_.open(&made->arena, areas) || !made->outbox_.open(&made->arena, areas, &made->store_) ||
      !made->inflow_.open(&made->arena, areas, &made->store_, &made->outbox_, &made->liveness_)) {
    free_object(made);
    return -ENOMEM;
  }
  made->areas_ = areas;
  made->members_ = shape.members;
  made->set_limits(shape.packet_bytes, 0);
  made->set_single_copy(single_copy);
  MemberLine& own = areas.line_of(me);
  own.process = os::process_id();
  own.started = os::process_start(own.process);
  // relaxed: every other user of the endpoint has been given it
  own.cpu.store(0, std::memory_order_relaxed);
  *endpoint = made;
  return 0;
}

void Endpoint::close(Endpoint* endpoint) {
  if (!endpoint) return;
  endpoint->outbox_.close();
  if (endpoint->far_) endpoint->far_->close();  // which has memory of the store's
  endpoint->store_.close();
  endpoint->inflow_.close();
  free_object(endpoint);
}

int Endpoint::carry(const smelt_carriage& carriage, void* rails, uint32_t peers) {
  if (far_ || peers == 0 || peers > UINT16_MAX - members_) return -EINVAL;
  const CarrierHost host = {
      this,
      areas_.shape.members,
      [](Endpoint* endpoint, uint64_t bytes) { return endpoint->store_.new_parcel(bytes); },
      [](Endpoint* endpoint, void* parcel, uint64_t bytes) { endpoint->store_.free_parcel(parcel, bytes); },
      [](Endpoint* endpoint, Message* message) { endpoint->store_.free_message(message); },
      [](Endpoint* endpoint, uint16_t sender, const Header& header, const void* data) {
        return endpoint->inflow_.take_far(sender, header, data);
      },
      [](Request* send, uint64_t at, void* to, uint64_t bytes) { message::fetch(send, at, to, bytes); },
      [](Endpoint* endpoint, Request* request) { message::finish(request, endpoint->alone_); },
      [](Endpoint* endpoint) { endpoint->liveness_.note_gone(); }};
  int error = 0;
  Carrier* const carrier = carriage.open(rails, peers, host, &error);
  if (!carrier) return error;
  members_ += peers;
  far_ = carrier;
  liveness_.set_far(carrier, members_);
  outbox_.set_far(carrier, members_);
  inflow_.set_far(carrier, members_);
  return 0;
}

void Endpoint::set_limits(uint64_t eager, uint64_t single_copy) {
  outbox_.set_eager(std::min<uint64_t>(eager, areas_.shape.packet_bytes));
  inflow_.set_single_copy_from(single_copy);
}

void Endpoint::set_alone(bool alone) {
  alone_ = alone;
  store_.set_alone(alone);
  outbox_.set_alone(alone);
  inflow_.set_alone(alone);
}

Counters Endpoint::counters() const {
  Counters counters;
  inflow_.tell(&counters);
  counters.deferred = outbox_.deferred();
  counters.sleeps = waiters_.sleeps();
  return counters;
}

bool Endpoint::progress(uint32_t wanted) {
  const bool received = inflow_.drain_some(wanted), any = outbox_.launch() || received;
  return (far_ && far_->progress(false, any)) || any;
}

bool Endpoint::cancel(Request* receive) {
  if (receive->is_send || test(receive) || !inflow_.withdraw(receive)) return false;
  receive->error = -ECANCELED;
  finish(receive, alone_, true);  // another thread may wait for it
  return true;
}

void Endpoint::forget(uint16_t context) {
  for (uint32_t i = 0; i < areas_.shape.cells && progress(); ++i) {
  }
  inflow_.forget(context);
}

}  // namespace smelt::message
