// From a message to packets.
//
//   1. dispatch: the message is given to links as runs of its bytes, as the samples and what the rails carry ask for
//      (dispatch.cc)
//   2. pump: each link packs what it has, as far in advance as its window lets it, and hands it to libfabric
//   3. a link that has nothing left takes a packet's worth of a dead link's runs, or of the end of a run of the link
//      that will be done last, if that ends earlier here. So samples that are wrong cost little: nobody waits for a
//      slow rail but for its window.
//   4. short messages that find two packets still with libfabric wait for a third, which then carries all of them that
//      the samples say are cheaper together (Brunet et al., section III-C)
#include <cerrno>
#include <cstring>

#include "rails/ofi/rails.h"

namespace smelt::rail_ofi {
namespace {

constexpr uint32_t kFewestInWindow = 4;  // packets: a slow link must not stand still until news of one comes
constexpr uint32_t kSmallUnderWay = 2;   // packets that are not full, with libfabric: messages that come meanwhile are
                                         // joined
constexpr uint32_t kMostJoined = 64;     // messages in a packet

// A packet's part of a message.
struct Part {
  RailRequest* request;
  uint64_t offset;
  uint32_t bytes;
};

bool is_short(const RailRequest& request) { return request.bytes <= kPayload; }

void pop(Queue& queue) {
  queue.first = queue.first->next;
  if (!queue.first) queue.last = nullptr;
}

uint64_t window_of(const smelt_rails& rails, const Link& link) {
  // The bytes on their way, there and back, come on top: on a distant rail the window would be empty most of the time.
  const OneRail& rail = rails.rail[link.rail];
  const double bytes = (1e-3 * kWindowNs / rail.per_byte + rail.holds) / slow_of(link);
  const double least = double{kFewestInWindow} * kPayload, most = double{kCredit} * kPayload;
  return static_cast<uint64_t>(bytes < least ? least : bytes > most ? most : bytes);
}

void fill_header(smelt_rails& rails, const Link& link, PacketKind kind, PacketHeader* header) {
  const Peer& peer = *link.peer;
  *header = {.magic = kPacketMagic,
             .kind = static_cast<uint16_t>(kind),
             .fragments = 0,
             .from = rails.instance,
             .to = peer.instance,
             .bytes = sizeof(PacketHeader),
             .epoch = link.epoch,
             .number = 0,
             .arrived = link.heard,
             .heard_epoch = link.heard_epoch,
             .unread = link.unread,
             .messages_read = peer.base};
}

void told(Link& link) {
  link.news = 0, link.news_due = 0;
  link.peer->base_told = link.peer->base;
}

// 0, or libfabric's error; a packet that it did not take is given back.
int post(smelt_rails& rails, Link& link, Packet* packet) {
  packet->link = &link, packet->rail = link.rail, packet->bytes = header_of(*packet).bytes;
  packet->epoch = link.epoch;
  const int error = rails.rail[link.rail].port.send(packet->data, packet->bytes, link.address, packet);
  if (error != 0) {
    if (error == -EAGAIN && link.refused == 0) link.refused = rails.now;
    give_packet(rails, packet);
    return error;
  }
  link.refused = 0;
  packet->posted = true;
  ++link.posted;
  told(link);
  return 0;
}

// A packet with fragments is on its way: kept until it has arrived.
void keep(smelt_rails& rails, Link& link, Packet* packet) {
  if (link.sent == link.arrived) begins(rails, link);
  packet->unacked = true;
  link.ring[link.sent++ % kRing] = packet;
  link.unacked_bytes += packet->bytes;
  rails.rail[link.rail].backlog += packet->bytes;
  ++link.packets;
}

// One that a dead link had.
bool send_again(smelt_rails& rails, Peer& peer, Link& link) {
  Packet* old = peer.again_first;
  Packet* packet = take_packet(rails);
  if (!packet) return false;
  std::memcpy(packet->data, old->data, old->bytes);
  PacketHeader& header = header_of(*packet);
  const uint16_t fragments = header.fragments;
  fill_header(rails, link, PacketKind::kData, &header);
  header.fragments = fragments, header.bytes = old->bytes, header.number = link.sent;
  packet->request = old->request, packet->part = old->part;
  if (const int error = post(rails, link, packet)) {
    if (error != -EAGAIN) link_failed(rails, link);
    return false;
  }
  peer.again_first = old->next;
  if (!peer.again_first) peer.again_last = nullptr;
  old->waiting = false;
  if (!old->posted) give_packet(rails, old);
  keep(rails, link, packet);
  ++link.again;
  link.bytes += packet->part;
  return true;
}

// Whether a packet with bytes of this message may go. The oldest message has no need of credit: the packets unread at
// the peer may be of later ones, which nobody will ask for before that one is there.
bool window_is_open(const smelt_rails& rails, const Link& link, uint64_t message) {
  const uint64_t under_way = link.sent - link.arrived;
  if (under_way >= kRing - 1 || link.unacked_bytes >= window_of(rails, link)) return false;
  return under_way + link.unread_there < kCredit || message == link.peer->read_there;
}

// The link that will be done last, and has something that is not under way.
Link* last_to_finish(const smelt_rails& rails, Peer& peer, const Link& but) {
  Link* last = nullptr;
  for (Link& link : peer.link)
    if (&link != &but && link.up && link.queue.first && (!last || idle_us(rails, link) > idle_us(rails, *last)))
      last = &link;
  return last;
}

// The next packet's contents: parts of the first runs of a queue.
struct Batch {
  Queue* from = nullptr;
  Link* owner = nullptr;  // of that queue; nullptr: the peer's own, of messages without a link
  bool tail = false;      // the part is the run's end, and not its beginning
  uint32_t count = 0;     // of parts; 0: nothing (now)
  Part parts[kMostJoined];
};

// The next packet on this link: parts of one or more of its runs, 0: nothing (now).
uint32_t own_parts(smelt_rails& rails, const Link& link, Part parts[kMostJoined]) {
  const Run* run = link.queue.first;
  if (run->left >= kPayload) {
    parts[0] = {run->request, run->offset, kPayload};
    return 1;
  }
  uint64_t bytes[kMostJoined];
  uint32_t count = 0, room = kPacketBytes - sizeof(PacketHeader);
  for (; run && count < kMostJoined && run->left <= kPayload && room_of(run->left) <= room; run = run->next) {
    if (count > 0 && !is_short(*run->request)) break;
    parts[count] = {run->request, run->offset, static_cast<uint32_t>(run->left)};
    room -= room_of(run->left);
    bytes[count++] = run->left;
  }
  if (!run && link.posted >= kSmallUnderWay && is_short(*parts[0].request)) return 0;
  return aggregate_packets(rails.profile.rail[link.rail].rail, rails.profile.copy, bytes, count);
}

void taken_from(smelt_rails& rails, Link* link, uint64_t bytes) {
  if (!link) return;
  link->queued_bytes -= bytes;
  rails.rail[link->rail].backlog -= bytes;
}

// Its own first run or, if that is older, one that has no link; with neither, the end of what another link would be
// done with later than we.
void next_parts(smelt_rails& rails, Peer& peer, Link& link, Batch& batch) {
  const Run *own = link.queue.first, *left = peer.homeless.first;
  if (own && (!left || own->request->number <= left->request->number)) {
    if (!window_is_open(rails, link, own->request->number)) return;
    batch.from = &link.queue, batch.owner = &link;
    batch.count = own_parts(rails, link, batch.parts);
  } else if (left) {
    if (!window_is_open(rails, link, left->request->number)) return;
    batch.parts[0] = {left->request, left->offset,
                      static_cast<uint32_t>(left->left < kPayload ? left->left : kPayload)};
    batch.from = &peer.homeless, batch.count = 1;
  } else if (rails.options.split == SMELT_RAIL_EQUAL_FINISH) {
    Link* const last = last_to_finish(rails, peer, link);
    if (!last || !window_is_open(rails, link, UINT64_MAX)) return;
    const Run& run = *last->queue.first;
    const auto bytes = static_cast<uint32_t>(run.left < kPayload ? run.left : kPayload);
    if (done_us(rails, link, bytes) >= done_us(rails, *last, 1)) return;
    batch.parts[0] = {run.request, run.offset + run.left - bytes, bytes};
    batch.from = &last->queue, batch.owner = last, batch.tail = true, batch.count = 1;
  }
}

void pack(smelt_rails& rails, const Link& link, const Batch& batch, Packet* packet) {
  PacketHeader& header = header_of(*packet);
  fill_header(rails, link, PacketKind::kData, &header);
  char* at = packet->data + sizeof(PacketHeader);
  for (uint32_t i = 0; i < batch.count; ++i) {
    const Part& part = batch.parts[i];
    const Fragment fragment = {part.request->number, part.request->bytes, part.offset, part.bytes, 0};
    std::memcpy(at, &fragment, sizeof fragment);
    if (part.bytes > 0) std::memcpy(at + sizeof fragment, part.request->data + part.offset, part.bytes);
    char* end = at + sizeof fragment + part.bytes;
    at += room_of(part.bytes);
    std::memset(end, 0, static_cast<size_t>(at - end));  // not what the packet had for another peer
    if (!is_short(*part.request)) packet->request = part.request, packet->part = part.bytes;
  }
  header.fragments = static_cast<uint16_t>(batch.count), header.number = link.sent;
  header.bytes = static_cast<uint32_t>(at - packet->data);
}

// The sent parts are taken off their runs.
void take_off(smelt_rails& rails, Peer& peer, Link& link, const Batch& batch) {
  link.joined += batch.count - 1;
  for (uint32_t i = 0; i < batch.count; ++i) {
    Run& run = *batch.from->first;
    RailRequest& request = *run.request;
    const uint32_t bytes = batch.parts[i].bytes;
    run.left -= bytes;
    if (!batch.tail) run.offset += bytes;
    link.bytes += bytes;
    taken_from(rails, batch.owner, bytes);
    if (run.left > 0) continue;
    pop(*batch.from);
    if (!is_short(request)) continue;
    forget_send(peer, request);  // it was copied
    finish(request, 0);
  }
}

// False: not now.
bool send_next(smelt_rails& rails, Peer& peer, Link& link) {
  if (peer.again_first && link.sent - link.arrived < kRing - 1) return send_again(rails, peer, link);
  Batch batch;
  next_parts(rails, peer, link, batch);
  if (batch.count == 0) return false;
  Packet* packet = take_packet(rails);
  if (!packet) return false;
  pack(rails, link, batch, packet);
  if (const int error = post(rails, link, packet)) {
    if (error != -EAGAIN) link_failed(rails, link);
    return false;
  }
  keep(rails, link, packet);
  take_off(rails, peer, link, batch);
  return true;
}

}  // namespace

void finish(RailRequest& request, int error) {
  request.error = error;
  request.state = Progress::kComplete;
}

void forget_send(Peer& peer, RailRequest& request) {
  (request.before ? request.before->next : peer.first_send) = request.next;
  (request.next ? request.next->before : peer.last_send) = request.before;
}

int post_control(smelt_rails& rails, Link& link, PacketKind kind, uint64_t number, uint32_t epoch) {
  Packet* packet = take_packet(rails);
  if (!packet) return -ENOMEM;
  PacketHeader& header = header_of(*packet);
  fill_header(rails, link, kind, &header);
  header.number = number, header.epoch = epoch;
  return post(rails, link, packet);
}

void pump(smelt_rails& rails, Peer& peer) {
  // In turn, so that runs that no link owns are shared out as the links have room.
  for (bool any = true; any;) {
    any = false;
    for (Link& link : peer.link)
      if (link.up && send_next(rails, peer, link)) any = true;
  }
}

}  // namespace smelt::rail_ofi

using namespace smelt;
using namespace smelt::rail_ofi;

int smelt_rail_send(smelt_rails* rails, smelt_rail_request* handle, uint32_t number, const void* data, size_t bytes) {
  if (!rails || !handle || number >= rails->peers || (!data && bytes > 0)) return -EINVAL;
  Peer& peer = *rails->peer[number];
  wake(*rails);
  if (peer.error) return peer.error;
  RailRequest& request = *request_of(handle);
  request.state = Progress::kPending, request.error = 0;
  request.number = peer.next_send++, request.bytes = request.left = bytes;
  request.data = static_cast<const char*>(data);
  request.next = nullptr, request.before = peer.last_send;
  (peer.last_send ? peer.last_send->next : peer.first_send) = &request;
  peer.last_send = &request;
  if (!peer.undispatched) peer.undispatched = &request;
  peer.touched = true;
  dispatch(*rails, peer);
  pump(*rails, peer);
  return 0;
}
