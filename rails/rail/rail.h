// The cost of a message on each network between two nodes, and the choices that follow: which way it goes, over how
// many of them.
//
// After Brunet, Trahay, Denis & Namyst, "A Sampling-based Approach for Communication Libraries Auto-tuning"
// (NewMadeleine, Cluster 2011). A rail is a network interface that reaches the peer. Nobody trusts its own word on its
// speed: veth, bonds and clouds lie. Each way to send is sampled at sizes from 1 byte to 16 MiB; between two samples
// the time is taken to be linear in the size. From these curves, and from nothing else:
//
//   limits     where the curves of two ways cross (limits.cc)
//   finish     when a message would be there over a rail that is busy, slower than it was, or cold (finish.cc)
//   split      a long message over several rails so that all end at the same time (split.cc, choose.cc)
//   aggregate  how many waiting short packets should leave as one (aggregate.cc)
//
// All of it are pure functions: both ends that know the same profile find the same.
#pragma once

#include <cmath>
#include <cstdint>

namespace smelt {

inline constexpr uint32_t kRailSizes = 25;                         // 2^0 .. 2^24 bytes, where nothing is missing
inline constexpr uint32_t kMaxRails = 8;                           // rows of the packed profile, which has a fixed size
inline constexpr uint64_t kLongestRailSample = uint64_t{1} << 24;  // bytes: the last of kRailSizes

// One way's time by size. Sizes increase strictly and are at least 1; times are finite, > 0 and never decrease.
struct RailCurve {
  uint32_t count = 0;  // samples, 1 .. kRailSizes
  uint64_t bytes[kRailSizes] = {};
  double us[kRailSizes] = {};      // from the sender's call until the receiver has it all
  double spread[kRailSizes] = {};  // inter-quartile range of the samples over their median
};

// The ways to send that are sampled.
enum RailMethod : uint32_t {
  kRailEager,       // sent at once, in packets; the receiver copies them from where they arrived
  kRailRendezvous,  // announced, asked for, then received where it belongs
  kRailGathered,    // as eager, each packet from two pieces of half its size that the rail itself puts together
  kRailPair,        // two messages of this size each, one right after the other, as eager: until both are there
};
// A packet's most bytes. The most that libfabric's tcp;ofi_rxm, with its own header before them, still sends without
// asking the receiver first: on a distant network a longer one takes three times as long.
inline constexpr uint32_t kRailPacket = (16 << 10) - 128;
// libfabric's providers of plain messages over IP, in the order in which they are tried, to sample and to send. `net`
// became `tcp` in libfabric 1.18: it serves such endpoints itself, and 8 bytes take 0.8 of their time through ofi_rxm.
inline constexpr const char* kRailProviders[] = {"net", "tcp", "tcp;ofi_rxm", "sockets"};
inline constexpr uint32_t kRailMethods = 4;
inline constexpr const char* kRailMethodNames[kRailMethods] = {"eager", "rendezvous", "gathered", "pair"};

struct Rail {
  RailCurve method[kRailMethods];
};

// Time of n bytes: linear between samples, the shortest sample's below it, along the last two that differ beyond the
// longest.
double rail_time(const RailCurve& curve, uint64_t n);
// The most bytes that take at most so long; 0: not even one byte; UINT64_MAX: 2^62 and more.
uint64_t rail_bytes_within(const RailCurve& curve, double us);
// A longer message never takes less: makes the times so, by pooling adjacent violators, which is the least change
// in the sum of squares (Ayer et al., "An Empirical Distribution Function for Sampling with Incomplete Information",
// 1955).
void make_isotonic(RailCurve* curve);
// Above the last limit between ways to send, a byte more never costs less than the one before: lowers the times of the
// sizes from `from` on to their convex hull, as far as their own spread (at least 3 %) lets them be wrong.
void make_convex(RailCurve* curve, uint64_t from);
// Makes raw samples of all ways isotonic; and convex above the last limit, at least above kConvexFrom.
void settle_curves(Rail* rail, const RailCurve& copy);
inline constexpr uint64_t kConvexFrom = 64 << 10;  // bytes: below, kinds of packets and buffers are limits of their own
// Size from which b gains 3 % on a (kWorthwhile), and at all larger samples anything. 0: always; UINT64_MAX: never.
uint64_t rail_crossing(const RailCurve& a, const RailCurve& b);
// The better of eager and rendezvous at each sample of either: the cost of a message on this rail.
RailCurve transfer_curve(const Rail& rail);
// Bytes per microsecond (MB/s) of a long message, its beginning not counted; 0: not known, of fewer than two samples,
// or of those that all took the same.
double rail_bandwidth(const RailCurve& curve);

// Sizes in bytes; 0: from the first byte on; UINT64_MAX: never.
struct RailLimits {
  uint64_t gathered;    // two pieces of as much together go as they are; shorter ones are copied into one buffer
  uint64_t rendezvous;  // messages as long are announced first; shorter ones are eager
  uint64_t apart;       // two packets of as much each leave one by one; shorter ones leave as one
};
// `copy` is the time of a copy in memory by size.
RailLimits limits_of(const Rail& rail, const RailCurve& copy);

// A rail as a message finds it.
struct RailNow {
  const RailCurve* curve;    // of transfer_curve
  double idle_us;            // from now until it has done with the bytes that it still carries; >= 0
  double slow = 1;           // the time beyond the shortest message's is so many times as long, > 0: the canary's word
  double window = HUGE_VAL;  // bytes that TCP lets out at once, twice as many a round trip later, and so on, >= 1
  double under_way = 0;      // that fill it already, >= 0
};
// A curve with samples, and nothing out of its range.
bool is_sane(const RailNow& rail);
// When n bytes would be there, from now.
double rail_finish(const RailNow& rail, uint64_t n);
// The most bytes up to n that would be there by then; 0: not even one.
uint64_t rail_capacity(const RailNow& rail, double until_us, uint64_t n);
struct RailSplit {
  uint64_t bytes[kMaxRails] = {};  // of the message, by rail; 0: not used
  double finish_us = 0;            // predicted, from now until the last part is there
  uint32_t used = 0;               // rails that carry a part
};
// Splits n bytes over the rails so that the last part arrives as early as can be. n > 0. 0; -EINVAL: no rail, more than
// kMaxRails, a curve without samples, no byte, or a negative or infinite time.
int split_message(const RailNow* rails, uint32_t count, uint64_t n, RailSplit* out);

// Shares in proportion to the bandwidths, which forgets latencies and the bytes that the rails still carry; equal ones
// where a bandwidth is not known. The same errors.
int split_by_bandwidth(const RailNow* rails, uint32_t count, uint64_t n, RailSplit* out);
// The split that a message should take. One rail, where all of them together do not gain 3 % on it (kWorthwhile), nor
// would if none were cold: several parts are several chances to be late. The shares by bandwidth, where the gain that
// the curves promise beyond them is less than the samples' spread around n: the long end of a curve is worth more than
// its middle on a busy machine. Else equal finish.
int choose_split(const RailNow* rails, uint32_t count, uint64_t n, RailSplit* out);
// From how many bytes on a message goes over several of these rails; UINT64_MAX: up to the longest sample, never.
uint64_t split_from(const RailNow* rails, uint32_t count);
// Inter-quartile range over the median of the samples around n bytes.
double rail_spread(const RailCurve& curve, uint64_t n);

// How many of the first of `count` waiting packets (bytes each) should leave as one: 1 .. count; 0 of none.
uint32_t aggregate_packets(const Rail& rail, const RailCurve& copy, const uint64_t* bytes, uint32_t count);

}  // namespace smelt
