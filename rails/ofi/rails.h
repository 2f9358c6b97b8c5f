// Rails to peers: the state of each, and the files' parts.
//
//   open.cc      endpoints on the profile's rails; peers; the end
//   send.cc      a message to the rails: which parts, packed into what
//   receive.cc   packets to messages: bytes there already, bytes that nobody has asked for yet
//   health.cc    is a rail up? how fast is it now? the packets of a dead one; when a peer is gone
//   lifeline.cc  does a silent peer's process still live?
//   progress.cc  all of it, in turn
//
// A *link* is a rail to one peer. In its own direction it numbers packets with fragments from 0 in each *epoch*, and
// keeps each until the peer has said that all up to it have arrived. When a link goes down, its epoch ends: the packets
// that are kept go over other links (copied: libfabric may hold the old ones for long), and so do the parts of messages
// that it has not begun. When the peer answers a greeting with the next epoch, it is up again. So a packet is sent by
// one link of one epoch at a time, and arrives at most once in it; that a message's bytes came by two links is seen
// from the bytes themselves (receive.cc).
//
// Everything is copied once on each side, into and out of packets. Zero copy would let a rail that was given up write
// into a buffer that its owner has long got back.
#pragma once

#include <cstdint>

#include <smelt/rail.h>

#include "base/object.h"
#include "rails/ofi/lifeline.h"
#include "rails/ofi/packet.h"
#include "rails/ofi/port.h"
#include "rails/rail/packed.h"

namespace smelt::rail_ofi {

inline constexpr uint32_t kRing = 1024;           // packets of a link that are kept
inline constexpr uint32_t kCredit = 256;          // of a link that nobody may have read yet; all but those sent again
inline constexpr uint32_t kMessages = 1024;       // of one direction that are not yet received in whole
inline constexpr int64_t kWindowNs = 40'000'000;  // so long in advance a link is given packets
inline constexpr uint32_t kPostedReceives = 64;   // of each rail: a window of a fast one is read in a few turns
inline constexpr int64_t kSpanNs = 10'000'000;    // the span that the canary measures, while nobody is away for as long
inline constexpr uint32_t kSpans = 5;             // of which the canary takes the median
inline constexpr double kSegment = 1448;          // bytes of TCP's, on Ethernet
inline constexpr uint32_t kRanges = 6;
inline constexpr uint32_t kPeerSlots = 2 * SMELT_RAIL_PEERS;  // of the hash table: half of it stays free
static_assert(SMELT_RAIL_PEERS < UINT16_MAX);

struct Link;
struct Peer;
struct RailRequest;

// In a pool of its rails. Sent: belongs to libfabric while `posted`, to its link's ring while `unacked`, to its peer
// while it waits to be sent again. Received: to libfabric, or to the message that still needs its fragments.
struct Packet {
  Packet* next;
  bool received, posted, unacked, waiting;
  uint32_t bytes;
  Link* link;
  uint32_t epoch;        // the link's, when it was sent or came
  uint32_t references;   // received: fragments that are not read yet, and one while it is looked at
  RailRequest* request;  // sent: of the only fragment whose request waits for it
  uint32_t part;         // its bytes
  uint32_t rail;
  alignas(16) char data[kPacketBytes];
};

// Bytes of a message that one link is to send.
struct Run {
  Run* next;
  RailRequest* request;
  uint64_t offset, left;
};

enum class Progress : uint32_t { kNone, kPending, kComplete };

struct RailRequest {
  Progress state;
  int error;
  uint64_t number, bytes, left;  // left: not yet there
  const char* data;
  char* buffer;
  uint64_t capacity;
  RailRequest *next, *before;
  Run run[kMaxRails];
};
static_assert(sizeof(RailRequest) <= SMELT_RAIL_REQUEST);

struct Range {
  uint64_t begin, end;
};

// A message that is on its way here.
struct Incoming {
  bool known, empty, done;  // its length is known; it is 0, and that was told; somebody has all of it
  uint64_t length, got;
  RailRequest* receive;
  Fragment* unread;  // a list by `message`; `length` is the packet
  uint32_t ranges, room;
  Range* range;  // [ranges] the bytes that are there, in order, with gaps between. `few`, or pages of their own
  Range few[kRanges];
};

struct Queue {
  Run *first, *last;
};

// The measured times of the last spans, over the sampled.
struct Pace {
  int64_t last;         // when something arrived and more was under way; 0: nothing is
  int64_t busy;         // of the span that is measured
  uint64_t bytes;       // that arrived in it
  uint64_t since_idle;  // that arrived since the link had nothing under way
  double window;        // TCP's, then
  double should_us;     // of the span, as sampled
  double span[kSpans];
  uint32_t count;
  int64_t measured;  // when the last span ended
  double slow;       // the believed factor
};

struct Link {
  bool present, up, was_up;
  Peer* peer;
  uint32_t rail;
  uint64_t address;  // libfabric's, of the peer
  uint32_t host;     // the same as IPv4, a number
  uint16_t port;
  // Our direction
  uint32_t epoch;
  uint64_t sent, arrived;  // packets
  uint32_t unread_there;
  Packet* ring[kRing];
  uint64_t unacked_bytes, queued_bytes;
  uint32_t posted;  // of this epoch
  Queue queue;
  // The other's
  uint32_t heard_epoch;
  uint64_t heard;  // packets
  uint32_t unread;
  uint32_t news;     // that the other has not been told
  int64_t news_due;  // 0: never
  // Health
  int64_t hello_at, hello_wait, moved, suspected, proved;
  int64_t refused;  // since when libfabric says "later" to everything; 0: it does not
  int64_t rested;   // when it last had nothing under way any more
  double window;    // bytes that TCP let out at once then, as far as it can be told from here
  double used;      // the most of it that was, since
  Lifeline lifeline;
  Pace pace;
  uint64_t bytes, packets, joined, again;
  uint32_t deaths;
};

struct Peer : Object {
  uint64_t instance;
  int error;  // 0; else it is given up
  bool touched, was_up, bye_seen, bye_said;
  Link* answered;      // its last packet with fragments came by it
  bool has_news;       // a link's news are due, now or later: nobody looks at all links at every turn
  int64_t down_since;  // 0: a link is up
  int64_t pong;        // sent at that time, the last ping that was answered
  int64_t ping_at, ping_wait;
  int64_t heard;    // when its last packet came, by whatever link
  int64_t reached;  // when it was last known to be there: it was heard, or its kernel said so
  Link link[kMaxRails];
  // Sending
  uint64_t next_send, read_there;
  RailRequest *first_send, *last_send, *undispatched;
  Packet *again_first, *again_last;
  Queue homeless;  // of links that went down
  // Receiving
  uint64_t next_receive, base, base_told;
  RailRequest *first_receive, *last_receive;  // for which there is no slot yet
  Incoming slot[kMessages];
};

struct PacketChunk : Object {
  PacketChunk* next;
  Packet packet[64];
};

struct OneRail {
  Port port;
  RailCurve curve;           // transfer_curve
  double per_byte;           // µs of a long message
  double holds;              // bytes under way, there and back
  uint64_t backlog;          // bytes that are queued or have not arrived, to all peers
  uint32_t receives;         // posted
  int64_t looked, happened;  // when it was asked last, and when it last had something
};

}  // namespace smelt::rail_ofi

struct smelt_rails : smelt::Object {
  smelt::PackedNetwork profile;
  smelt_rail_options options;
  uint64_t instance;
  uint32_t rails;
  smelt::rail_ofi::OneRail rail[smelt::kMaxRails];
  smelt::rail_ofi::RailsAddress address;
  uint32_t peers;
  smelt::rail_ofi::Peer* peer[SMELT_RAIL_PEERS];
  uint16_t slot[smelt::rail_ofi::kPeerSlots];  // peers by instance, which is random: index + 1, the next one if taken
  smelt::rail_ofi::Packet* free_packets;
  smelt::rail_ofi::PacketChunk* chunks;
  uint64_t split_from;  // shorter messages take one rail
  bool forgets;         // TCP begins anew after a pause (net.ipv4.tcp_slow_start_after_idle)
  int64_t now, next_turn;
  int64_t looked, left, back;  // when the rails were looked at last; and the last time from when to when nobody did
};

namespace smelt::rail_ofi {

// --- packets (open.cc)
Packet* take_packet(smelt_rails& rails);  // nullptr: no memory
void give_packet(smelt_rails& rails, Packet* packet);
bool post_receives(smelt_rails& rails, uint32_t rail);  // as many as there are to be; false: fewer, for now
Peer* peer_of(const smelt_rails& rails, uint64_t instance);

// --- dispatch.cc
void dispatch(smelt_rails& rails, Peer& peer);  // messages that have no way yet
// µs until all that the link's rail has to carry is sent; until so many bytes more of this link would be there
double idle_us(const smelt_rails& rails, const Link& link);
double done_us(const smelt_rails& rails, const Link& link, uint64_t bytes);

// --- send.cc
void pump(smelt_rails& rails, Peer& peer);  // packets of all its links
int post_control(smelt_rails& rails, Link& link, PacketKind kind, uint64_t number, uint32_t epoch);
void finish(RailRequest& request, int error);
void forget_send(Peer& peer, RailRequest& request);

// --- receive.cc
void take_data(smelt_rails& rails, Link& link, Packet* packet);
void attach_receives(smelt_rails& rails, Peer& peer);
void drop_incoming(smelt_rails& rails, Peer& peer);

// --- health.cc
void take_packet_of(smelt_rails& rails, uint32_t rail, Packet* packet);  // one that arrived
void hear(smelt_rails& rails, Link& link, const PacketHeader& header);   // takes a header's word on our direction
void link_failed(smelt_rails& rails, Link& link);
void peer_failed(smelt_rails& rails, Peer& peer, int error);
void look_after(smelt_rails& rails, Peer& peer);
double slow_of(const Link& link);
double window_of_tcp(const smelt_rails& rails, const Link& link);  // bytes; HUGE_VAL: as many as the rail holds
void begins(smelt_rails& rails, Link& link);                       // to have something under way

// --- progress.cc
void progress(smelt_rails& rails);
void wake(smelt_rails& rails);  // before a decision: takes in the events since the last look

inline RailRequest* request_of(smelt_rail_request* request) { return reinterpret_cast<RailRequest*>(request); }
inline PacketHeader& header_of(Packet& packet) { return *reinterpret_cast<PacketHeader*>(packet.data); }

}  // namespace smelt::rail_ofi
