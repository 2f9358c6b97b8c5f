// One turn of everything.
//
//   1. libfabric's completions, on all rails: sent packets come back, received ones are read
//   2. of each peer that something happened to: receives find their messages, messages their ways, links their packets
//   3. news for the peers: at once where they wait for it, else with the next packet or 0.5 ms later
//   4. every millisecond: the health of all links
#include <cerrno>

#include "base/os/os.h"
#include "rails/ofi/rails.h"

namespace smelt::rail_ofi {
namespace {

constexpr uint32_t kEventsATurn = 128;    // of a rail: a sender that never pauses must not keep us from the others
constexpr int64_t kHealthNs = 1'000'000;  // between two looks at the links' health, whose shortest wait is 20 ms
// Asking a rail is a call of the kernel, which those that have something would wait for.
constexpr int64_t kQuietNs = 1'000'000, kPauseNs = 10'000;

void take_event(smelt_rails& rails, uint32_t rail, const Event& event) {
  auto* packet = static_cast<Packet*>(event.context);
  if (!packet) return;
  if (packet->received) {
    --rails.rail[rail].receives;
    post_receives(rails, rail);
    packet->bytes = event.bytes;
    if (event.error == 0)
      take_packet_of(rails, rail, packet);
    else
      give_packet(rails, packet);
    return;
  }
  Link& link = *packet->link;
  packet->posted = false;
  link.peer->touched = true;
  if (packet->epoch == link.epoch) {
    --link.posted;
    if (event.error != 0) link_failed(rails, link);
  }
  if (!packet->unacked && !packet->waiting) give_packet(rails, packet);
}

void tell_news(smelt_rails& rails, Peer& peer) {
  if (!peer.has_news) return;
  peer.has_news = false;
  if (peer.error) return;
  for (Link& link : peer.link) {
    if (!link.present || !link.news_due) continue;
    if (rails.now >= link.news_due) post_control(rails, link, PacketKind::kNews, 0, link.epoch);
    peer.has_news |= link.news_due != 0;  // not yet, or it was not taken
  }
}

// Where libfabric said "later" with nothing of ours under way, or memory ran out, no event will say when.
bool has_to_send(const Peer& peer) {
  if (peer.again_first || peer.homeless.first || peer.undispatched) return true;
  for (const Link& link : peer.link)
    if (link.up && link.queue.first) return true;
  return false;
}

}  // namespace

void wake(smelt_rails& rails) {
  rails.now = Port::now();
  if (rails.now - rails.looked > kSpanNs) progress(rails);
}

void progress(smelt_rails& rails) {
  rails.now = Port::now();
  if (rails.now - rails.looked > kSpanNs) rails.left = rails.looked, rails.back = rails.now;
  rails.looked = rails.now;
  bool all_read = true;
  const bool is_due = rails.now >= rails.next_turn;
  for (uint32_t r = 0; r < rails.rails; ++r) {
    if (!rails.rail[r].port.is_open()) continue;
    OneRail& rail = rails.rail[r];
    if (!is_due && rails.now - rail.happened > kQuietNs && rails.now - rail.looked < kPauseNs) continue;
    rail.looked = rails.now;
    constexpr uint32_t kAtATime = 16;  // events, on the stack
    Event events[kAtATime];
    uint32_t taken = 0, count = 0;
    do {
      count = rail.port.poll(events, kAtATime);
      for (uint32_t i = 0; i < count; ++i) take_event(rails, r, events[i]);
      taken += count;
    } while ((count == kAtATime || (count > 0 && is_due)) && taken < kEventsATurn);
    if (taken > 0) rail.happened = rails.now;
    all_read = all_read && count == 0;
  }
  const bool turn = all_read && is_due;  // a link may be missed for words that are not read yet
  if (turn) rails.next_turn = rails.now + kHealthNs;
  for (uint32_t p = 0; p < rails.peers; ++p) {
    Peer& peer = *rails.peer[p];
    if (peer.touched) {
      peer.touched = false;
      if (!peer.error) {
        attach_receives(rails, peer);
        dispatch(rails, peer);
        pump(rails, peer);
      }
    }
    tell_news(rails, peer);
    if (turn) {
      look_after(rails, peer);
      if (has_to_send(peer)) peer.touched = true;
    }
  }
  for (uint32_t r = 0; turn && r < rails.rails; ++r)
    if (rails.rail[r].port.is_open()) post_receives(rails, r);  // where that failed before
}

}  // namespace smelt::rail_ofi

using namespace smelt;
using namespace smelt::rail_ofi;

int smelt_rail_look(const smelt_rail_request* handle, size_t* bytes) {
  if (!handle) return -EINVAL;
  const RailRequest& request = *reinterpret_cast<const RailRequest*>(handle);
  if (request.state == Progress::kPending) return 0;
  if (request.state != Progress::kComplete) return -EINVAL;
  if (bytes) *bytes = request.bytes;
  return request.error ? request.error : 1;
}

int smelt_rail_test(smelt_rails* rails, smelt_rail_request* handle, size_t* bytes) {
  if (!rails || !handle) return -EINVAL;
  progress(*rails);  // complete or not: the last packet may not have left yet
  return smelt_rail_look(handle, bytes);
}
