// Values that cannot be true in a profile: numbers that are no costs, diagonals that are not 0, CPU numbers that do not
// ascend, places that do not exist, texts that would steer a terminal.
//
// A process reads its profile when it starts, so the matrices are gone over by rows without an early way out, which the
// compiler makes vector code of; everything else is short.
#include "profile/check.h"

#include "profile/fields.h"

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

const char* nonsense_in(const Field& field, const void* row, uint32_t cpus, const char* not_a_cost) {
  const Rule& rule = field.rule;
  const auto number = [&] { return *values_of<uint32_t>(field, row); };
  bool good = true;
  switch (rule.form) {
    case Form::kCost:
    case Form::kCurves: return are_costs(values_of<float>(field, row), field.count) ? nullptr : not_a_cost;
    case Form::kReserved: good = number() == 0; break;
    case Form::kWhole: good = number() >= rule.least && number() <= rule.most; break;
    case Form::kOrderedPairs: good = number() <= uint64_t{cpus} * (cpus - 1); break;
    case Form::kName:
    case Form::kUnit: good = number() < rule.most; break;
    case Form::kMarks: good = number() >> rule.most == 0; break;
    case Form::kText: good = is_plain_text(values_of<char>(field, row), field.count); break;
    case Form::kDate: {
      const int64_t date = *values_of<int64_t>(field, row);
      good = date >= 0 && date <= kLatestDate;
      break;
    }
    case Form::kHidden:
    case Form::kHexadecimal:
    case Form::kKind:
    case Form::kAxis: break;
  }
  return good ? nullptr : rule.otherwise;
}

template <typename Row>
const char* nonsense_in_rows(const Row* rows, uint64_t count, uint32_t cpus) {
  const Description& description = kDescription<Row>;
  for (uint64_t i = 0; i < count; ++i)
    for (const Field& field : description.fields)
      if (const char* nonsense = nonsense_in(field, &rows[i], cpus, description.not_a_cost)) return nonsense;
  return nullptr;
}

// The fields of a class checked against each other.
const char* nonsense_in_classes(const Profile& profile) {
  const uint64_t pairs = uint64_t{profile.header.cpus} * (profile.header.cpus - 1) / 2;
  for (uint32_t i = 0; i < profile.header.classes; ++i) {
    const ClassFigures& figures = profile.classes[i];
    if (figures.part >= kMaxClasses || figures.pairs > pairs || figures.samples > figures.pairs)
      return "a class has more pairs than there are";
  }
  return nullptr;
}

// `begin`: where the words of the winners before it end.
const char* nonsense_in_words(const Winner& winner, const Profile& profile, uint32_t begin) {
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
  return nullptr;
}

const char* nonsense_in_winners(const Profile& profile) {
  uint32_t words = 0;
  for (uint32_t i = 0; i < profile.header.winners; ++i) {
    if (const char* nonsense = nonsense_in_words(profile.winners[i], profile, words)) return nonsense;
    words += profile.winners[i].words;
  }
  return words == profile.header.winner_words ? nullptr : "words of no winner follow its winners";
}

const char* nonsense_in_matrix(const float* matrix, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) {
    const float* row = matrix + uint64_t{i} * n;
    if (!are_costs(row, n)) return "a number in its matrices is not a cost";
    if (row[i] != 0) return "a CPU's distance to itself is not 0";
  }
  return nullptr;
}

}  // namespace

const char* nonsense_in(const Profile& profile) {
  const PackedCounts counts = counts_of(profile.header);
  const uint32_t n = counts.cpus;
  const char* nonsense = nonsense_in_rows(&profile.header, 1, n);
  for (uint32_t i = 1; !nonsense && i < n; ++i)
    if (profile.os_cpu[i] <= profile.os_cpu[i - 1]) nonsense = "its CPU numbers are not ascending";
#define MATRIX(name) \
  if (!nonsense) nonsense = nonsense_in_matrix(profile.costs.name, n);
#define ROWS(type, name, count, most, json, what) \
  if (!nonsense) nonsense = nonsense_in_rows(profile.name, counts.count, n);
#define SINGLE(type, name) \
  if (!nonsense) nonsense = nonsense_in_rows(profile.name, 1, n);
#include "profile/fields.def"
  if (!nonsense) nonsense = nonsense_in_classes(profile);
  return nonsense ? nonsense : nonsense_in_winners(profile);
}

}  // namespace smelt
