// What cannot be true in a profile: numbers that are no costs, diagonals that are not 0, CPU numbers that do not
// ascend, places that do not exist, texts that would steer a terminal.
//
// A process reads its profile when it starts, so the matrices are gone over by rows without an early way out, which the
// compiler makes vector code of; everything else is short.
#include "profile/check.h"

#include <initializer_list>

#include "model/distance.h"

namespace smelt {
namespace {

constexpr float kLargestCost = 1e9f;  // a second per message is no message
constexpr int64_t kLatestDate =
    253402300799;  // the last second of the year 9999, the last that ISO 8601 writes with four digits

// The texts are shown on terminals: no control characters, so no escape sequences either.
bool is_plain_text(const char* text, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == 0) return true;
    if (c < 0x20 || c == 0x7f) return false;
  }
  return false;
}

bool is_cost(float value) { return (value >= 0) & (value < kLargestCost); }  // false for NaN

bool are_costs(const float* values, uint64_t count) {
  bool good = true;
  for (uint64_t i = 0; i < count; ++i) good &= is_cost(values[i]);
  return good;
}
bool are_costs(std::initializer_list<float> values) { return are_costs(values.begin(), values.size()); }

const char* nonsense_in(const CurveSet& set) {
  if (set.participants < 2 || set.participants > kMaxParticipants || set.reserved != 0)
    return "its curves are of an impossible group";
  return are_costs(set.ns[0], kCurveMethods * kCurveSizes) ? nullptr : "a number in its curves is not a cost";
}

const char* nonsense_in(const ClassFigures& figures, uint32_t cpus) {
  if (figures.distance >= kDistances) return "a class is of an unknown distance";
  if (figures.marks >> kClassMarks) return "a class has unknown marks";
  if (figures.part >= kMaxClasses || figures.pairs > uint64_t{cpus} * (cpus - 1) / 2 || figures.samples > figures.pairs)
    return "a class has more pairs than there are";
  return are_costs({figures.hop, figures.send_busy, figures.recv_busy, figures.ready_read, figures.spread})
             ? nullptr
             : "a number in its classes is not a cost";
}

const char* nonsense_in(const FanCurves& fan) {
  if (fan.distance >= kDistances || fan.reserved != 0) return "a fan is of an unknown distance";
  return are_costs(fan.gather, kFanSizes) && are_costs(fan.scatter, kFanSizes) ? nullptr
                                                                               : "a number in its fans is not a cost";
}

const char* nonsense_in(const DistanceCurves& curves) {
  if (curves.distance >= kDistances || curves.reserved != 0) return "a curve is of an unknown distance";
  return are_costs(curves.copy, kCurveSizes) && are_costs(curves.single_copy, kCurveSizes) &&
                 are_costs(curves.reduce, kCurveSizes)
             ? nullptr
             : "a number in its curves by distance is not a cost";
}

// `begin`: where the words of the winners before it end.
const char* nonsense_in(const Winner& winner, const Profile& profile, uint32_t begin) {
  if (winner.operation >= kWinnerOperations) return "a winner is of an unknown operation";
  if (winner.participants < 2 || winner.participants > kMaxParticipants || winner.participants > winner.words)
    return "a winner is of an impossible group";
  if (winner.first_word != begin || winner.words > profile.header.winner_words - begin)
    return "a winner's words are not where they belong";
  uint64_t seen[(kMaxProfileCpus + 63) / 64] = {};
  for (uint32_t i = 0; i < winner.participants; ++i) {
    const uint32_t cpu = profile.winner_words[begin + i];
    if (cpu >= profile.header.cpus) return "a winner has a CPU that the profile has not";
    if (seen[cpu / 64] >> (cpu % 64) & 1) return "a winner has a CPU twice";
    seen[cpu / 64] |= uint64_t{1} << (cpu % 64);
  }
  if (!is_plain_text(winner.pattern, sizeof winner.pattern)) return "its texts are not plain text";
  return are_costs({winner.predicted, winner.measured, winner.spread, winner.hop})
             ? nullptr
             : "a number of a winner is not a cost";
}

const char* nonsense_in_matrices(const Profile& profile) {
  const uint32_t n = profile.header.cpus;
  for (const float* matrix :
       {profile.costs.hop, profile.costs.send_busy, profile.costs.recv_busy, profile.costs.ready_read})
    for (uint32_t i = 0; i < n; ++i) {
      const float* row = matrix + uint64_t{i} * n;
      if (!are_costs(row, n)) return "a number in its matrices is not a cost";
      if (row[i] != 0) return "a CPU's distance to itself is not 0";
    }
  return nullptr;
}

}  // namespace

const char* nonsense_in(const Profile& profile) {
  const PackedHeader& header = profile.header;
  if (header.unit > static_cast<uint32_t>(CostUnit::kCycles)) return "its unit is unknown";
  if (!is_plain_text(header.method, sizeof header.method) || !is_plain_text(header.machine, sizeof header.machine))
    return "its texts are not plain text";
  if (!are_costs({header.poller, header.one_way_hop, header.spread})) return "a figure in its header is not a cost";
  if (header.created < 0 || header.created > kLatestDate) return "its date is of no time that has a profile";
  if (header.pairs_measured > uint64_t{header.cpus} * (header.cpus - 1)) return "it has more measured pairs than pairs";
  for (uint32_t i = 1; i < header.cpus; ++i)
    if (profile.os_cpu[i] <= profile.os_cpu[i - 1]) return "its CPU numbers are not ascending";
  const char* nonsense = nonsense_in_matrices(profile);
  for (uint32_t i = 0; !nonsense && i < header.curve_sets; ++i) nonsense = nonsense_in(profile.curves[i]);
  for (uint32_t i = 0; !nonsense && i < header.classes; ++i) nonsense = nonsense_in(profile.classes[i], header.cpus);
  const WaitFigures& wait = *profile.wait;
  if (!nonsense && !are_costs({wait.poll, wait.yield, wait.futex_wake, wait.futex_return}))
    nonsense = "a figure of waiting is not a cost";
  for (uint32_t i = 0; !nonsense && i < header.fans; ++i) nonsense = nonsense_in(profile.fans[i]);
  for (uint32_t i = 0; !nonsense && i < header.distances; ++i) nonsense = nonsense_in(profile.distances[i]);
  uint32_t words = 0;
  for (uint32_t i = 0; !nonsense && i < header.winners; ++i) {
    nonsense = nonsense_in(profile.winners[i], profile, words);
    words += profile.winners[i].words;
  }
  if (!nonsense && words != header.winner_words) nonsense = "words of no winner follow its winners";
  return nonsense;
}

}  // namespace smelt
