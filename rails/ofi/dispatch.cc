// Which rail carries how much of a message. It is given to the peer's links as runs of its bytes, so that by the
// samples, and by what the links carry already, all runs end at the same time (rail/).
#include <cerrno>

#include "rails/ofi/rails.h"

namespace smelt::rail_ofi {
namespace {

// An answer that goes by the link by which the question came tells that it arrived, too; by another one, the news need
// a packet of their own soon. Two equal rails would alternate, because data in flight count against a rail.
constexpr double kAnswerMay = 1.1;

void append(Queue& queue, Run* run) {
  run->next = nullptr;
  (queue.last ? queue.last->next : queue.first) = run;
  queue.last = run;
}

RailNow now_of(const smelt_rails& rails, const Link& link) {
  // Less TCP's rounding and the headers: a segment too much costs a round trip. Seen for minutes with Linux, where a
  // window that is one segment short grows to twice its size with each message, and is halved in each pause.
  const double window = 0.99 * (window_of_tcp(rails, link) - kSegment);
  return {&rails.rail[link.rail].curve, idle_us(rails, link), slow_of(link), window,
          static_cast<double>(link.unacked_bytes + link.queued_bytes)};
}

void equal_parts(uint32_t count, uint64_t bytes, RailSplit* split) {
  *split = {};
  for (uint32_t i = 0; i < count; ++i) split->bytes[i] = bytes / count;
  split->bytes[0] += bytes % count;
}

// The links that are up, and how much each gets. `split` is by the rails' numbers.
void choose(smelt_rails& rails, Peer& peer, uint64_t bytes, RailSplit* split) {
  Link* up[kMaxRails];
  RailNow now[kMaxRails];
  double done[kMaxRails] = {};  // µs, of all of it
  uint32_t count = 0, first = 0;
  for (Link& link : peer.link) {
    if (!link.up) continue;
    up[count] = &link, now[count] = now_of(rails, link), done[count] = rail_finish(now[count], bytes);
    if (done[count] < done[first]) first = count;
    ++count;
  }
  if (bytes <= kPayload)
    for (uint32_t i = 0; i < count; ++i)
      if (up[i] == peer.answered && done[i] < kAnswerMay * done[first]) first = i;
  RailSplit parts{};
  if (rails.options.split == SMELT_RAIL_SINGLE) {
    for (uint32_t i = 0; i < count; ++i)
      if (up[i]->rail == rails.options.single) first = i;
  }
  parts.bytes[first] = bytes, parts.used = 1;
  parts.finish_us = done[first];
  // One packet is complete as soon as it is copied, so it must not be two.
  if (count > 1 && bytes > kPayload && rails.options.split != SMELT_RAIL_SINGLE) {
    if (rails.options.split == SMELT_RAIL_BANDWIDTH)
      split_by_bandwidth(now, count, bytes, &parts);
    else if (rails.options.split == SMELT_RAIL_HALVES)
      equal_parts(count, bytes, &parts);
    else if (bytes >= rails.split_from)
      choose_split(now, count, bytes, &parts);
  }
  *split = {};
  for (uint32_t i = 0; i < count; ++i) split->bytes[up[i]->rail] = parts.bytes[i];
  split->finish_us = parts.finish_us, split->used = parts.used;
}

void give(smelt_rails& rails, Link& link, RailRequest& request, uint64_t offset, uint64_t bytes) {
  Run& run = request.run[link.rail];
  run = {nullptr, &request, offset, bytes};
  append(link.queue, &run);
  link.queued_bytes += bytes;
  rails.rail[link.rail].backlog += bytes;
}

// When a message of so many bytes would be there, and by which rails. Not known: no link is up.
void predict(smelt_rails& rails, Peer& peer, uint64_t bytes, RailSplit* split, bool* known) {
  *known = false;
  for (const Link& link : peer.link) *known = *known || link.up;
  if (*known) choose(rails, peer, bytes, split);
}

}  // namespace

double idle_us(const smelt_rails& rails, const Link& link) {
  const OneRail& rail = rails.rail[link.rail];
  return slow_of(link) * rail.per_byte * static_cast<double>(rail.backlog);
}

double done_us(const smelt_rails& rails, const Link& link, uint64_t bytes) {
  return rail_finish(now_of(rails, link), bytes);
}

void dispatch(smelt_rails& rails, Peer& peer) {
  for (RailRequest* request = peer.undispatched; request; request = peer.undispatched) {
    if (request->number >= peer.read_there + kMessages) return;
    RailSplit split;
    bool known;
    predict(rails, peer, request->bytes, &split, &known);
    if (!known) return;
    peer.undispatched = request->next;
    uint64_t offset = 0;
    bool given = false;
    for (uint32_t r = 0; r < rails.rails; ++r) {
      if (split.bytes[r] == 0) continue;
      give(rails, peer.link[r], *request, offset, split.bytes[r]);
      offset += split.bytes[r], given = true;
    }
    for (Link& link : peer.link) {
      if (given || !link.up) continue;
      give(rails, link, *request, 0, 0);  // a message of no bytes
      given = true;
    }
  }
}

}  // namespace smelt::rail_ofi

using namespace smelt;
using namespace smelt::rail_ofi;

double smelt_rail_predict(smelt_rails* rails, uint32_t number, size_t bytes) {
  if (!rails || number >= rails->peers) return -EINVAL;
  Peer& peer = *rails->peer[number];
  wake(*rails);
  if (peer.error) return peer.error;
  RailSplit split;
  bool known;
  predict(*rails, peer, bytes, &split, &known);
  return known ? split.finish_us : -EAGAIN;
}
