// The configurations, and how they are priced.
//
//   flat, vanilla    one flag and, up to 512 B, one buffer of the root's for all; longer messages are read where the
//                    root has them, by everybody from the beginning to the end
//   clwb             the same, and the root writes longer messages back to memory first
//   dual             a flag and a buffer for each socket, the other socket's first. The root writes twice what it
//                    writes otherwise once, the second time into lines that the other socket's readers still hold
//   wait,CHUNK,...   flat. strict: all read chunk by chunk, those on the root's socket say how far they are, each by a
//                    line of its own, and the others read a chunk after one of them has. relaxed: only every second
//                    says so, of the first chunk only, and the others wait for nothing more
//   opt4,CHUNK,...   dual, to 64 B, the root's own socket first; `wait`: messages of a chunk and more as wait,relaxed
//
// The ranks begin when they leave a barrier of two levels, so the barrier is simulated (pattern relay:2), then the
// flags (pattern line, for each socket one line or one for all), from when each rank has left.
//
// A reader then reads the message: the first line as all others do (ready read and pollers), and of those that follow
// as many at once as a core has under way, so each takes that part of a ready read, and what copying it takes the core.
//
// Lines that are read on both sides of the boundary cost a crossing more at first. Then it matters in which order the
// two sides read a line, since reads move it:
//   in turn    now here, now there: everybody reads at the pace of the far ones. So they do at the beginning, having
//              begun together; in messages that the root's own cache does not hold; where the far side has one
//              reader only, who shares the line with nobody there; and where the far side has begun before: the near
//              ones catch up with it, and cannot overtake those who take from them what they read next.
//   apart      they draw apart, and a line goes over once or twice: 0.6 of the way from the near pace to the far.
//   ordered    the root's side has read before: it keeps its own pace, and the far ones keep theirs. Where the lead is
//              shorter than what prefetchers run ahead, a part is read in turn all the same; half as much where each
//              side has a flag of its own, since then the near ones have seen it earlier.
// A reader that waits at each chunk (strict) has read the last one to its end before it looks. So its reads begin anew:
// the first line of each chunk takes a whole ready read.
// A reader who says how far it is waits until it owns the line that others poll (half a hop), and who looks finds a
// line that is read on both sides (a ready read and a crossing).
// The root is through when all have acknowledged.
#include "bench/lab/broadcast_simulation.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "generate/patterns.h"
#include "generate/registry.h"
#include "profile/profile.h"
#include "profile/text/error.h"
#include "schedule/build.h"
#include "schedule/predict.h"

namespace smelt {
namespace {

constexpr uint64_t kLine = 64;
constexpr double kUnderWay = 10;  // lines that a core reads at once: cost_model.cc, recv_busy, has the reasons
constexpr double kCopyNs = 1;     // of a line: two halves in and out, one a cycle

// What follows is how far readers stay together. Nobody measured it but the study: the values are chosen on two sizes
// of its table of 2 x 24 Cascade Lake cores and held against the others (results/2026-11-27-model-long-lines.txt).
constexpr double kApart = 0.6;            // of the way from the near pace to the far one
constexpr uint64_t kTogether = 16 << 10;  // bytes that those who begin together read in turn
constexpr uint64_t kLead = 8 << 10;       // bytes: prefetchers stop at the end of a page, and may take the next one too
constexpr double kBothSides = 0.85;       // of a hop to the farthest, where the root writes for each side by itself
constexpr double kOwnFlag = 0.5;          // of the part read in turn, where each side has a flag of its own
constexpr uint64_t kOwnCache = 1 << 20;   // bytes: the second-level cache of Xeons since 2017

const PatternInfo* find(const char* name) {
  Pattern pattern;
  find_pattern(name, &pattern);
  return pattern.info;
}

uint64_t lines_of(uint64_t bytes) { return (bytes + kLine - 1) / kLine; }

}  // namespace

// False: nothing is known of it.
bool parse_configuration(const std::string& text, BroadcastConfiguration* out) {
  BroadcastConfiguration made;
  bool known = true;
  size_t part = 0;
  for (size_t at = 0; at <= text.size(); ++part) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    uint64_t kib = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), kib);
    if (part == 0 && (word == "flat" || word == "vanilla"))
      continue;
    else if (part == 0 && word == "clwb")
      made.written_back = true;
    else if (part == 0 && word == "dual")
      made.per_socket = made.far_first = true;
    else if (part == 0 && word == "wait")
      made.ordered = true;
    else if (part == 0 && word == "opt4")
      made.per_socket = true, made.buffered = kLine;
    else if (part > 0 && read.ec == std::errc{} && kib > 0 && std::string_view(read.ptr) == "K")
      made.chunk = kib << 10;
    else if (part > 0 && word == "strict")
      made.strict = true;
    else if (part > 0 && word == "wait")
      made.ordered_if_long = true;
    else if (part == 0 || (word != "relaxed" && word != "no-wait"))
      known = false;
  }
  *out = made;
  return known;
}

BroadcastSimulation::BroadcastSimulation(const Costs& machine, std::span<const uint16_t> members, uint32_t near)
    : n_(static_cast<uint32_t>(members.size())), near_(std::min(n_, near)), arena_(2 * generation_bytes(n_)) {
  Choice barrier;
  if (!arena_.ok() || subset_costs(machine, members, arena_, &costs_) != 0 ||
      build({find("relay"), kPackageLines}, Operation::kBarrier, 0, costs_, arena_, &barrier) != 0)
    throw UserError("out of memory");
  left_ = times(barrier.schedule, std::vector<double>(n_, 0));
}

// How a message is read.
struct BroadcastSimulation::Reading {
  uint64_t lines = 1;
  uint64_t chunk = 1, chunks = 1;  // lines; those that are told of
  bool crosses = false;            // its lines are read on both sides
  bool per_socket = false;         // buffers: as many readers each
  bool ordered = false;            // the far side waits, at the first chunk or (strict) at each
  bool strict = false;
  bool far_first = false;
  double in_turn = 0;  // the part of it that is read in turn nevertheless
};

double BroadcastSimulation::mean(const BroadcastConfiguration& configuration, uint64_t bytes, double call,
                                 double shown) {
  const bool buffered = bytes <= configuration.buffered, shared = n_ > near_ && near_ > 1;
  Reading reading;
  reading.lines = lines_of(bytes);
  reading.chunk = std::min(reading.lines, lines_of(configuration.chunk));
  reading.per_socket = buffered && configuration.per_socket;
  reading.crosses = shared && !reading.per_socket;
  reading.ordered =
      shared && (configuration.ordered || (configuration.ordered_if_long && !buffered && bytes >= configuration.chunk));
  reading.strict = configuration.strict;
  reading.far_first = configuration.far_first;
  if (configuration.strict) reading.chunks = (reading.lines + reading.chunk - 1) / reading.chunk;
  if (reading.ordered && !configuration.strict && reading.chunk < reading.lines && configuration.chunk < kLead)
    reading.in_turn =
        (1 - static_cast<double>(configuration.chunk) / kLead) * (configuration.per_socket ? kOwnFlag : 1);
  std::vector<double> done = left_;
  done[0] += call + (buffered ? 0 : shown);
  if (configuration.per_socket && shared) done[0] += kBothSides * hop(n_ - 1);
  if (configuration.written_back && !buffered) done[0] += static_cast<double>(reading.lines) * pace(1);
  char* const scratch = arena_.mark();
  done = times(flags(configuration.per_socket), done);
  arena_.rewind(scratch);
  read_message(reading, done);
  acknowledge(done);
  double sum = 0;
  for (uint32_t r = 0; r < n_; ++r) sum += done[r] - left_[r];
  return sum / n_;
}

double BroadcastSimulation::crossing() const {
  return costs_.crossing[static_cast<uint32_t>(distance_in(costs_, 0, n_ - 1))];
}

double BroadcastSimulation::pace(uint32_t r) const { return ready(r) / kUnderWay + kCopyNs; }

// Of a message that both sides read as they like.
double BroadcastSimulation::crossed_pace(uint64_t lines, bool far_first) const {
  const double far = pace(n_ - 1), apart = pace(1) + kApart * (far - pace(1));
  if (far_first || n_ - near_ == 1 || lines >= kOwnCache / kLine) return far;
  const double together = static_cast<double>(std::min(lines, kTogether / kLine)) / static_cast<double>(lines);
  return together * far + (1 - together) * apart;
}

void BroadcastSimulation::read_message(const Reading& reading, std::vector<double>& done) const {
  const uint32_t farthest = n_ - 1;
  const auto rest = static_cast<double>(reading.lines - 1), chunks = static_cast<double>(reading.chunks);
  const double look = ready(farthest) + crossing(), tell = hop(farthest) / 2;
  double told = std::numeric_limits<double>::infinity();  // when the first of the near ones has read the first chunk
  for (uint32_t r = 1; r < n_; ++r) {
    const bool here = r < near_;
    const uint32_t readers = !reading.per_socket ? n_ - 1 : here ? near_ - 1 : n_ - near_;
    const double others = (readers - 1) * double{costs_.poller};
    const double first = (reading.crosses ? ready(farthest) + crossing() : ready(r)) + others;
    if (!reading.ordered) {
      done[r] += first + rest * (reading.crosses ? crossed_pace(reading.lines, reading.far_first) : pace(r));
    } else if (here) {
      const bool tells = reading.strict || r % 2 == 1;
      if (tells) told = std::min(told, done[r] + first + static_cast<double>(reading.chunk - 1) * pace(r) + tell);
      const double mine = pace(r) + reading.in_turn * (pace(farthest) - pace(r));
      done[r] += first + rest * mine + (tells ? chunks * tell : 0);
    } else {
      done[r] = std::max(done[r], told) + chunks * (look + ready(r)) + others + (rest + 1 - chunks) * pace(r);
    }
  }
}

void BroadcastSimulation::acknowledge(std::vector<double>& done) const {
  std::vector<std::pair<double, uint32_t>> answers;
  for (uint32_t r = 1; r < n_; ++r) answers.emplace_back(done[r] + costs_.hop[costs_.at(r, 0)], r);
  std::sort(answers.begin(), answers.end());
  bool alone = true;
  for (const auto& [visible, r] : answers) {
    done[0] = std::max(done[0] + (alone ? costs_.ready_read : costs_.recv_busy)[costs_.at(r, 0)], visible);
    alone = false;
  }
}

Schedule BroadcastSimulation::flags(bool per_socket) {
  Choice choice;
  if (build({find("line"), per_socket ? kPackageLines : kOneLine}, Operation::kBroadcast, 0, costs_, arena_, &choice) !=
      0)
    throw UserError("out of memory");
  return choice.schedule;
}

// When each is through, if it begins then.
std::vector<double> BroadcastSimulation::times(const Schedule& schedule, std::vector<double> begin) {
  std::vector<uint16_t> place(n_);
  for (uint32_t r = 0; r < n_; ++r) place[r] = static_cast<uint16_t>(r);
  Pricer pricer;
  double makespan = 0;
  if (pricer.make(schedule, costs_, arena_) != 0 || pricer.price_next(place.data(), begin.data(), &makespan) != 0)
    throw UserError("out of memory");
  return begin;
}

}  // namespace smelt
