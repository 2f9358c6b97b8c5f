// From packets to messages.
//
// A message's bytes come in any order, by any link, and after a link's death some of them twice. The bytes that are
// there are kept as ranges in order: each link brings its runs from the front to the back, so there are about as many
// ranges as links. A fragment is there in whole or not at all, since a packet is sent again as it was.
//
//   there   |########|      |####|          |##|
//   comes            |####|                           joins the first; the next of this link will fill the gap
//
// A fragment that nobody has asked for stays in its packet, and is copied when somebody does; the sender is told so
// (`unread`).
#include <cerrno>
#include <cstring>

#include "base/os/os.h"
#include "rails/ofi/rails.h"

namespace smelt::rail_ofi {
namespace {

constexpr int64_t kNewsNs = 500'000;  // so long an answer may take the news with it
constexpr uint32_t kMostNews = 8;     // packets

enum class Fresh { kNew, kThere, kWrong, kNoMemory };

bool make_room(Incoming& in) {
  if (!in.range) in.range = in.few, in.room = kRanges;
  if (in.ranges < in.room) return true;
  const uint32_t room = 8 * in.room;
  auto* more = static_cast<Range*>(os::map_pages(room * sizeof(Range)));
  if (!more) return false;
  std::memcpy(more, in.range, in.ranges * sizeof(Range));
  if (in.range != in.few) os::unmap_pages(in.range, in.room * sizeof(Range));
  in.range = more, in.room = room;
  return true;
}

Fresh add(Incoming& in, uint64_t begin, uint64_t end) {
  if (begin == end) {
    const Fresh fresh = in.empty ? Fresh::kThere : Fresh::kNew;
    in.empty = true;
    return in.length == 0 ? fresh : Fresh::kWrong;
  }
  uint32_t i = 0;  // the first range that does not end before `begin`
  while (i < in.ranges && in.range[i].end < begin) ++i;
  if (i < in.ranges && in.range[i].begin <= begin && end <= in.range[i].end) return Fresh::kThere;
  if (i < in.ranges && in.range[i].end == begin) {  // goes on from it
    if (i + 1 < in.ranges && in.range[i + 1].begin < end) return Fresh::kWrong;
    in.range[i].end = end;
    if (i + 1 < in.ranges && in.range[i + 1].begin == end) {
      in.range[i].end = in.range[i + 1].end;
      std::memmove(&in.range[i + 1], &in.range[i + 2], (in.ranges - i - 2) * sizeof(Range));
      --in.ranges;
    }
    return Fresh::kNew;
  }
  if (i < in.ranges && in.range[i].begin < end) return Fresh::kWrong;
  if (i < in.ranges && in.range[i].begin == end) {
    in.range[i].begin = begin;
    return Fresh::kNew;
  }
  if (!make_room(in)) return Fresh::kNoMemory;
  std::memmove(&in.range[i + 1], &in.range[i], (in.ranges - i) * sizeof(Range));
  in.range[i] = {begin, end};
  ++in.ranges;
  return Fresh::kNew;
}

bool is_whole(const Incoming& in) { return in.known && in.got == in.length && (in.length > 0 || in.empty); }

void reset(Incoming& in) {
  if (in.range && in.range != in.few) os::unmap_pages(in.range, in.room * sizeof(Range));
  in = {};
}

void tell(Link& link, int64_t when) {
  link.news_due = when;
  link.peer->has_news = true;
}

void release(smelt_rails& rails, Packet* packet) {
  if (--packet->references > 0) return;
  Link& link = *packet->link;
  const bool was_unread = packet->waiting;
  if (was_unread && packet->epoch == link.heard_epoch) {
    --link.unread;
    ++link.news;
    if (!link.news_due) tell(link, rails.now);
  }
  give_packet(rails, packet);
}

void copy_out(const Incoming& in, uint64_t offset, const char* data, uint64_t bytes) {
  const RailRequest& request = *in.receive;
  if (offset >= request.capacity) return;
  const uint64_t room = request.capacity - offset;
  std::memcpy(request.buffer + offset, data, bytes < room ? bytes : room);
}

void complete(smelt_rails& rails, Peer& peer, uint64_t number) {
  Incoming& in = peer.slot[number % kMessages];
  RailRequest& request = *in.receive;
  request.bytes = in.length;
  finish(request, in.length > request.capacity ? -EMSGSIZE : 0);
  in.receive = nullptr, in.done = true;
  const bool was_long = in.length > kPayload;
  for (; peer.slot[peer.base % kMessages].done; ++peer.base) reset(peer.slot[peer.base % kMessages]);
  // The sender of a long message waits for the news; others when they have no room for more.
  const bool short_of_room = peer.base - peer.base_told >= kMessages / 4;
  if (!was_long && !short_of_room) return;
  for (Link& link : peer.link) {
    if (!link.up && link.heard_epoch == 0) continue;
    if (short_of_room) ++link.news;
    if (link.news > 0) tell(link, rails.now);
  }
}

// False: no peer of ours sends that.
bool deliver(smelt_rails& rails, Peer& peer, Packet* packet, Fragment* fragment, int* error) {
  *error = -EPROTO;
  if (fragment->message < peer.base) return true;
  if (fragment->message >= peer.base + kMessages) return false;
  Incoming& in = peer.slot[fragment->message % kMessages];
  if (in.known && in.length != fragment->length) return false;
  if (fragment->offset > fragment->length || fragment->bytes > fragment->length - fragment->offset) return false;
  in.known = true, in.length = fragment->length;
  switch (add(in, fragment->offset, fragment->offset + fragment->bytes)) {
    case Fresh::kThere: return true;
    case Fresh::kWrong: return false;
    case Fresh::kNoMemory: *error = -ENOMEM; return false;
    case Fresh::kNew: break;
  }
  in.got += fragment->bytes;
  const uint64_t number = fragment->message;
  if (in.receive) {
    copy_out(in, fragment->offset, reinterpret_cast<const char*>(fragment + 1), fragment->bytes);
    if (is_whole(in)) complete(rails, peer, number);
    return true;
  }
  fragment->message = reinterpret_cast<uintptr_t>(in.unread);
  fragment->length = reinterpret_cast<uintptr_t>(packet);
  in.unread = fragment;
  ++packet->references;
  return true;
}

}  // namespace

void take_data(smelt_rails& rails, Link& link, Packet* packet) {
  Peer& peer = *link.peer;
  const PacketHeader header = header_of(*packet);
  if (header.epoch != link.heard_epoch || header.number != link.heard) {  // of before, or after something was lost
    give_packet(rails, packet);
    return;
  }
  ++link.heard;
  peer.answered = &link;
  if (++link.news >= kMostNews)
    tell(link, rails.now);
  else if (!link.news_due)
    tell(link, rails.now + kNewsNs);
  packet->link = &link, packet->epoch = header.epoch, packet->references = 1, packet->waiting = false;
  uint32_t at = sizeof(PacketHeader);
  int error = 0;
  bool right = true;
  for (uint32_t i = 0; right && i < header.fragments; ++i) {
    auto* fragment = reinterpret_cast<Fragment*>(packet->data + at);
    right = header.bytes - at >= sizeof(Fragment) && fragment->bytes <= header.bytes - at - sizeof(Fragment);
    if (!right) break;
    at += room_of(fragment->bytes);
    right = at <= header.bytes && deliver(rails, peer, packet, fragment, &error);
  }
  if (packet->references > 1) {
    packet->waiting = true;  // for somebody to ask
    ++link.unread;
  }
  release(rails, packet);
  if (!right) peer_failed(rails, peer, error ? error : -EPROTO);
}

void attach_receives(smelt_rails& rails, Peer& peer) {
  while (RailRequest* request = peer.first_receive) {
    if (request->number >= peer.base + kMessages) return;
    peer.first_receive = request->next;
    if (!peer.first_receive) peer.last_receive = nullptr;
    Incoming& in = peer.slot[request->number % kMessages];
    in.receive = request;
    for (Fragment* fragment = in.unread; fragment;) {
      auto* next = reinterpret_cast<Fragment*>(fragment->message);
      auto* packet = reinterpret_cast<Packet*>(fragment->length);
      copy_out(in, fragment->offset, reinterpret_cast<const char*>(fragment + 1), fragment->bytes);
      release(rails, packet);
      fragment = next;
    }
    in.unread = nullptr;
    if (is_whole(in)) complete(rails, peer, request->number);
  }
}

void drop_incoming(smelt_rails& rails, Peer& peer) {
  for (Incoming& in : peer.slot) {
    for (Fragment* fragment = in.unread; fragment;) {
      auto* next = reinterpret_cast<Fragment*>(fragment->message);
      release(rails, reinterpret_cast<Packet*>(fragment->length));
      fragment = next;
    }
    reset(in);
  }
}

}  // namespace smelt::rail_ofi

using namespace smelt;
using namespace smelt::rail_ofi;

int smelt_rail_receive(smelt_rails* rails, smelt_rail_request* handle, uint32_t number, void* buffer, size_t capacity) {
  if (!rails || !handle || number >= rails->peers || (!buffer && capacity > 0)) return -EINVAL;
  Peer& peer = *rails->peer[number];
  RailRequest& request = *request_of(handle);
  request.state = Progress::kPending, request.error = 0;
  request.bytes = 0, request.buffer = static_cast<char*>(buffer), request.capacity = capacity;
  request.next = nullptr;
  request.number = peer.next_receive++;
  (peer.last_receive ? peer.last_receive->next : peer.first_receive) = &request;
  peer.last_receive = &request;
  peer.touched = true;
  attach_receives(*rails, peer);
  if (peer.error && request.state != Progress::kComplete) {  // messages that were there before may still be asked for
    --peer.next_receive;
    if (peer.first_receive == &request) peer.first_receive = peer.last_receive = nullptr;
    Incoming& in = peer.slot[request.number % kMessages];
    if (in.receive == &request) in.receive = nullptr;
    return peer.error;
  }
  return 0;
}
