// Is a rail up, how fast is it, and the fate of the packets that it carried.
//
//                 a welcome                        libfabric says that it failed, or
//          +----------------------> up ----+       nothing arrives by it while the peer
//   down --+  greeted again and            |       answers by another
//     ^       again, less often            |
//     +------------------------------------+       what it carried goes over the others
//
// TCP alone would go on trying for a quarter of an hour. So silence is judged here:
//
//   1. suspected   nothing was said to have arrived for four times as long as it should take, and 100 ms more; or,
//                  with nothing under way, libfabric has taken nothing for as long. The peer may just be busy: nobody
//                  moves packets but the programs themselves.
//   2. asked       the peer is asked, by all links. One that answers has looked at all its rails; by the suspect
//                  itself, where packets do not overtake, it has seen all that was sent before.
//   3. proved      it answered, and a while later there is still no word of the suspect's packets: that is down.
//
// A peer that says nothing at all while something is expected of it is asked too, after a second, and a moment later
// its kernel is (lifeline.h): a link at whose other end nobody listens any more is down. A peer is given up when for
// the whole patience no link was up and no kernel said that it is there; while one says so, it is waited for.
//
// The canary. It looks at spans of 10 ms and more in which a link always has something under way, and compares the
// times at which bytes arrive with the curve's. After so many bytes the next ones should take as much longer as a
// message that is so much longer does. (By the bandwidth of long messages, a distant rail, on which TCP begins slowly,
// seemed four times slower than it was, and was left out.) News comes at once or half a millisecond late, so nothing
// shorter tells. The middle of the last five such spans says how many times slower than sampled the link is, if that is
// more than a quarter. If nothing was measured for a second, the word fades, so that a link that nobody uses any more
// gets another chance.
//
// After a pause TCP begins anew (rail/finish.cc), which on a distant rail is most of a message's time. Its window
// is followed as Linux has it: it grows by the bytes that arrive while at least half of it is used, and halves for
// every timeout in which nothing is sent. Where it is less than the rail holds, a message waits for it, and the canary
// knows that it does. (When it did not, a pause was taken for slowness, and the far one of two rails carried half of
// its share.)
#include <cerrno>

#include "rails/ofi/rails.h"

namespace smelt::rail_ofi {
namespace {

constexpr int64_t kMs = 1'000'000;  // in ns
// Greetings. A link that is down is greeted again, after a wait that doubles.
constexpr int64_t kFirstHello = 20 * kMs;  // a peer that starts with us is met at once
constexpr int64_t kLastHello = 500 * kMs;  // one that is back is met within that; two packets a second cost nothing
constexpr uint32_t kMostGreetings = 16;    // that libfabric has of a link: one down for a day must not fill memory
// Suspicion, questions, proof.
constexpr double kSuspectTimes = 4;        // as long as it should take: the curve is of an idle rail, and of no other
constexpr int64_t kSuspect = 100 * kMs;    // and that much more: so long a program may compute beside its messages
constexpr int64_t kFirstPing = 20 * kMs;   // between two questions, which doubles: an answer needs a round trip
constexpr int64_t kLastPing = 2000 * kMs;  // a peer that computes for minutes is asked no oftener
constexpr int64_t kGrace = 30 * kMs;       // an answer by another rail may overtake the suspect's own packets
constexpr int64_t kSilence = 1000 * kMs;   // of a whole peer; a second without a look at MPI is common
constexpr int64_t kNoPong = 200 * kMs;     // more, for the answers to the first questions, before its kernel is asked
// The canary.
constexpr uint64_t kSpanBytes = 128 << 10;  // of a span: twice what tbf lets through at once by default
constexpr double kDrift = 1.25;             // times as slow as sampled: less is what a calm network varies by
constexpr double kSlowest = 1000;           // the most that a span can say: one stall must not outlive its fading
constexpr double kFastest = 0.25;           // ... and bytes that had waited arrive together
constexpr int64_t kFade = 1000 * kMs;       // without a span, half of the word is forgotten
constexpr double kMostUs = 1e7;             // a curve is believed for waits up to this
// TCP's window.
constexpr double kFirstWindow = 10 * kSegment;  // RFC 6928
constexpr int64_t kLeastTimeout = 200 * kMs;    // Linux's, beyond the round trip

int64_t patience_of(const smelt_rails& rails, const Link& link) {
  const double us = kSuspectTimes * slow_of(link) * rails.rail[link.rail].per_byte *
                        static_cast<double>(rails.rail[link.rail].backlog) +
                    kSuspectTimes * rails.rail[link.rail].curve.us[0];
  return kSuspect + static_cast<int64_t>(1e3 * (us < kMostUs ? us : kMostUs));
}

double middle_of(const double* values, uint32_t count) {
  double sorted[kSpans];
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t at = i;
    for (; at > 0 && sorted[at - 1] > values[i]; --at) sorted[at] = sorted[at - 1];
    sorted[at] = values[i];
  }
  return sorted[count / 2];
}

// So many of the bytes under way have arrived. A window of which less than half is used does not grow.
void grow_window(const smelt_rails& rails, Link& link, uint64_t bytes) {
  if (link.window >= rails.rail[link.rail].holds) return;
  const auto under_way = static_cast<double>(link.unacked_bytes);
  const double used = under_way < link.window ? under_way : link.window;
  if (used > link.used) link.used = used;
  const double grown = link.window + static_cast<double>(bytes), most = 2 * link.used;
  if (link.window < most) link.window = grown < most ? grown : most;
}

void begin_span(Pace& pace) { pace.busy = 0, pace.bytes = 0, pace.should_us = 0; }

// So many bytes have arrived; `idle`: nothing is under way any more.
void measure(const smelt_rails& rails, Link& link, uint64_t bytes, bool idle) {
  Pace& pace = link.pace;
  // The first word after a pause tells nothing: the bytes before it may have waited, or found a free way. Nor does the
  // first one after a while in which nobody looked.
  if (pace.last < rails.back) pace.last = 0, begin_span(pace);
  if (pace.last != 0) {
    const RailCurve& curve = rails.rail[link.rail].curve;
    pace.busy += rails.now - pace.last, pace.bytes += bytes;
    const RailNow sampled{&curve, 0, 1, pace.window};
    pace.should_us += rail_finish(sampled, pace.since_idle + bytes) - rail_finish(sampled, pace.since_idle);
  }
  pace.since_idle = idle ? 0 : pace.since_idle + bytes;
  pace.last = idle ? 0 : rails.now;
  if (pace.busy < kSpanNs || pace.bytes < kSpanBytes) {
    if (idle) begin_span(pace);
    return;
  }
  const double times = 1e-3 * static_cast<double>(pace.busy) / (pace.should_us > 1 ? pace.should_us : 1);
  pace.span[pace.count++ % kSpans] = times < kFastest ? kFastest : times > kSlowest ? kSlowest : times;
  pace.measured = rails.now, begin_span(pace);
  if (pace.count >= (kSpans + 1) / 2) pace.slow = middle_of(pace.span, pace.count < kSpans ? pace.count : kSpans);
}

void fade(const smelt_rails& rails, Pace& pace) {
  if (pace.slow == 1 || rails.now - pace.measured < kFade) return;
  pace.slow = (1 + pace.slow) / 2;
  pace.count = 0, pace.measured = rails.now;
  if (pace.slow < kDrift) pace.slow = 1;
}

void greet(smelt_rails& rails, Link& link) {
  if (rails.now < link.hello_at) return;
  if (link.posted < kMostGreetings) post_control(rails, link, PacketKind::kHello, 0, link.epoch);
  link.hello_wait = link.hello_wait == 0 ? kFirstHello : 2 * link.hello_wait;
  if (link.hello_wait > kLastHello) link.hello_wait = kLastHello;
  link.hello_at = rails.now + link.hello_wait;
}

void ask(smelt_rails& rails, Peer& peer) {
  if (rails.now < peer.ping_at) return;
  // Less and less often: a peer that computes for an hour is asked for nothing.
  peer.ping_wait = peer.ping_wait == 0 ? kFirstPing : 2 * peer.ping_wait;
  if (peer.ping_wait > kLastPing) peer.ping_wait = kLastPing;
  peer.ping_at = rails.now + peer.ping_wait;
  for (Link& link : peer.link)
    if (link.up) post_control(rails, link, PacketKind::kPing, static_cast<uint64_t>(rails.now), link.epoch);
}

void judge(smelt_rails& rails, Peer& peer, Link& link) {
  const int64_t since = link.sent != link.arrived ? link.moved : link.refused;
  if (since == 0 || rails.now - since < patience_of(rails, link)) {
    link.suspected = link.proved = 0;
    return;
  }
  if (!link.suspected) link.suspected = rails.now, peer.ping_at = 0, peer.ping_wait = 0;
  if (!link.proved && peer.pong >= link.suspected) link.proved = rails.now;
  if (!link.proved)
    ask(rails, peer);
  else if (rails.now - link.proved > kGrace)
    link_failed(rails, link);
}

void welcome(smelt_rails& rails, Link& link, uint32_t epoch) {
  if (link.up || epoch != link.epoch) return;
  Peer& peer = *link.peer;
  link.up = link.was_up = peer.was_up = true;
  peer.down_since = 0;
  link.sent = link.arrived = 0, link.unread_there = 0;
  link.moved = rails.now, link.suspected = link.proved = link.refused = 0;
  link.pace.last = 0, link.pace.since_idle = 0;
  link.window = 0;
  link.hello_wait = 0;
}

void hello(smelt_rails& rails, Link& link, uint32_t epoch) {
  if (epoch < link.heard_epoch) return;
  if (epoch > link.heard_epoch) {
    link.heard_epoch = epoch, link.heard = 0;
    link.unread = 0;  // packets here of the old epoch are of no interest to the new one
    link.news = 0, link.news_due = 0;
  }
  post_control(rails, link, PacketKind::kWelcome, 0, epoch);
  if (!link.up) link.hello_at = rails.now;  // it works in one direction
}

// Is there anything that a peer should do?
bool is_awaited(const Peer& peer) {
  if (peer.first_send || peer.again_first || peer.next_receive > peer.base) return true;
  for (const Link& link : peer.link)
    if (link.up && link.sent != link.arrived) return true;
  return false;
}

void ask_kernel(smelt_rails& rails, Link& link) {
  switch (link.lifeline.look(rails.address.rail[link.rail].host, link.host, link.port, rails.now)) {
    case Lifeline::Word::kUnknown: break;
    case Lifeline::Word::kThere: link.peer->reached = rails.now; break;
    case Lifeline::Word::kGone: link_failed(rails, link); break;
  }
}

void look_for(smelt_rails& rails, Peer& peer) {
  const int64_t silence = rails.now - peer.heard;
  const bool silent = silence > kSilence && peer.was_up && is_awaited(peer);
  if (silent) ask(rails, peer);
  for (Link& link : peer.link) {
    if (!link.present) continue;
    if (silent && silence > kSilence + kNoPong)
      ask_kernel(rails, link);
    else if (!silent)
      link.lifeline.close();
  }
}

}  // namespace

double slow_of(const Link& link) { return link.pace.slow > kDrift || link.pace.slow < 1 / kDrift ? link.pace.slow : 1; }

double window_of_tcp(const smelt_rails& rails, const Link& link) {
  const OneRail& rail = rails.rail[link.rail];
  double window = link.window;
  if (rails.forgets && link.sent == link.arrived) {
    // Since the last byte left, a round trip before it was acknowledged.
    const double us = 2 * rail.curve.us[0];
    const auto round_trip = static_cast<int64_t>(1e3 * (us < kMostUs ? us : kMostUs));
    const int64_t timeout = kLeastTimeout + round_trip;
    int64_t pause = rails.now - link.rested + round_trip;
    for (; pause >= timeout && window > kFirstWindow; pause -= timeout) window /= 2;
  }
  if (window < kFirstWindow) window = kFirstWindow;  // a new connection's, too
  return window < rail.holds ? window : HUGE_VAL;
}

void begins(smelt_rails& rails, Link& link) {
  link.moved = rails.now;
  link.pace.window = window_of_tcp(rails, link), link.used = 0;
  if (link.pace.window < rails.rail[link.rail].holds) link.window = link.pace.window;
}

void hear(smelt_rails& rails, Link& link, const PacketHeader& header) {
  Peer& peer = *link.peer;
  if (header.messages_read > peer.read_there && header.messages_read <= peer.next_send)
    peer.read_there = header.messages_read;
  if (!link.up || header.heard_epoch != link.epoch) return;
  link.unread_there = header.unread;
  if (header.arrived <= link.arrived || header.arrived > link.sent) return;
  uint64_t bytes = 0;
  for (; link.arrived < header.arrived; ++link.arrived) {
    Packet* packet = link.ring[link.arrived % kRing];
    bytes += packet->bytes;
    if (RailRequest* request = packet->request) {
      request->left -= packet->part;
      if (request->left == 0) {
        forget_send(peer, *request);
        finish(*request, 0);
      }
    }
    packet->unacked = false;
    if (!packet->posted) give_packet(rails, packet);
  }
  grow_window(rails, link, bytes);
  link.unacked_bytes -= bytes;
  if (link.sent == link.arrived) link.rested = rails.now == rails.back ? rails.left : rails.now;
  rails.rail[link.rail].backlog -= bytes;
  link.moved = rails.now, link.suspected = link.proved = 0;
  measure(rails, link, bytes, link.sent == link.arrived);
}

void link_failed(smelt_rails& rails, Link& link) {
  if (!link.up) return;
  Peer& peer = *link.peer;
  link.up = false;
  ++link.deaths;
  ++link.epoch;
  link.hello_wait = 0, link.hello_at = rails.now + kFirstHello;
  link.posted = 0;  // libfabric may keep its packets of the old epoch for long
  link.pace.last = 0, link.pace.since_idle = 0;
  for (uint64_t i = link.arrived; i != link.sent; ++i) {
    Packet* packet = link.ring[i % kRing];
    packet->unacked = false, packet->waiting = true, packet->next = nullptr;
    (peer.again_last ? peer.again_last->next : peer.again_first) = packet;
    peer.again_last = packet;
  }
  link.sent = link.arrived = 0;
  rails.rail[link.rail].backlog -= link.unacked_bytes + link.queued_bytes;
  link.unacked_bytes = link.queued_bytes = 0;
  // By message, as the queue there is already: somebody waits for the oldest.
  Queue both{};
  Run *a = peer.homeless.first, *b = link.queue.first;
  while (a || b) {
    Run*& first = b && (!a || b->request->number < a->request->number) ? b : a;
    Run* run = first;
    first = run->next;
    run->next = nullptr;
    (both.last ? both.last->next : both.first) = run;
    both.last = run;
  }
  peer.homeless = both, link.queue = {};
  peer.touched = true;
  bool any = false;
  for (const Link& other : peer.link) any = any || other.up;
  if (!any) peer.down_since = rails.now;
}

void peer_failed(smelt_rails& rails, Peer& peer, int error) {
  if (peer.error) return;
  peer.error = error;
  for (Link& link : peer.link) link_failed(rails, link), link.lifeline.close();
  while (Packet* packet = peer.again_first) {
    peer.again_first = packet->next;
    packet->waiting = false;
    if (!packet->posted) give_packet(rails, packet);
  }
  peer.again_last = nullptr;
  peer.homeless = {};
  for (RailRequest* request = peer.first_send; request;) {
    RailRequest* next = request->next;
    finish(*request, request->number < peer.read_there ? 0 : error);  // it has it all, if not by the way we know of
    request = next;
  }
  peer.first_send = peer.last_send = peer.undispatched = nullptr;
  for (Incoming& in : peer.slot) {
    if (!in.receive) continue;
    finish(*in.receive, error);
    in.receive = nullptr;
  }
  for (RailRequest* request = peer.first_receive; request;) {
    RailRequest* next = request->next;
    finish(*request, error);
    request = next;
  }
  peer.first_receive = peer.last_receive = nullptr;
}

void take_packet_of(smelt_rails& rails, uint32_t rail, Packet* packet) {
  const PacketHeader& header = header_of(*packet);
  const bool ours = packet->bytes >= sizeof(PacketHeader) && header.magic == kPacketMagic &&
                    header.bytes == packet->bytes && header.to == rails.instance;
  Peer* peer = ours ? peer_of(rails, header.from) : nullptr;
  if (!peer || !peer->link[rail].present) {  // not ours, or not yet: the greeter will greet again
    give_packet(rails, packet);
    return;
  }
  Link& link = peer->link[rail];
  peer->touched = true;
  peer->heard = peer->reached = rails.now;
  const PacketKind kind = static_cast<PacketKind>(header.kind);
  if (peer->error) {
    if (kind == PacketKind::kBye) post_control(rails, link, PacketKind::kByeSeen, 0, link.epoch);
    give_packet(rails, packet);
    return;
  }
  hear(rails, link, header);
  const uint32_t epoch = header.epoch;
  const uint64_t number = header.number;
  if (kind == PacketKind::kData) {
    take_data(rails, link, packet);
    return;
  }
  give_packet(rails, packet);
  switch (kind) {
    case PacketKind::kHello: hello(rails, link, epoch); break;
    case PacketKind::kWelcome: welcome(rails, link, epoch); break;
    case PacketKind::kPing: post_control(rails, link, PacketKind::kPong, number, link.epoch); break;
    case PacketKind::kPong:
      if (static_cast<int64_t>(number) > peer->pong && static_cast<int64_t>(number) <= rails.now)
        peer->pong = static_cast<int64_t>(number);
      break;
    case PacketKind::kBye:
      post_control(rails, link, PacketKind::kByeSeen, 0, link.epoch);
      peer_failed(rails, *peer, -EPIPE);
      break;
    case PacketKind::kByeSeen: peer->bye_seen = true; break;
    default: break;
  }
}

void look_after(smelt_rails& rails, Peer& peer) {
  if (peer.error) return;
  look_for(rails, peer);
  for (Link& link : peer.link) {
    if (!link.present) continue;
    fade(rails, link.pace);
    if (link.up)
      judge(rails, peer, link);
    else
      greet(rails, link);
  }
  if (!peer.down_since) return;
  const int64_t last = peer.was_up && peer.reached > peer.down_since ? peer.reached : peer.down_since;
  if (rails.now - last > int64_t{rails.options.patience_ms} * kMs)
    peer_failed(rails, peer, peer.was_up ? -EPIPE : -ETIMEDOUT);
}

}  // namespace smelt::rail_ofi
