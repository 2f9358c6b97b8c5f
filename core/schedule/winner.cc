#include "schedule/winner.h"

#include <cerrno>
#include <cstring>

#include "schedule/validate.h"

namespace smelt {

namespace {

// Reads a winner's words in order; `good` turns false where they end too early.
struct Words {
  const uint32_t* at;
  const uint32_t* end;
  bool good = true;

  uint32_t next() {
    if (at < end) return *at++;
    good = false;
    return 0;
  }
};

// The schedule by the winner's own places. 0, -EINVAL or -ENOMEM.
int read_schedule(const Winner& winner, Words words, Arena& arena, Schedule* out) {
  const uint32_t n = winner.participants;
  const uint32_t root = words.next();
  if (root >= n && root != kNobody) return -EINVAL;
  auto* begin = arena.make<uint32_t>(n + 1);
  if (!begin) return -ENOMEM;
  for (uint32_t i = 0; i < n && words.good; ++i) {
    const uint32_t count = words.next();
    if (count > winner.words) return -EINVAL;
    begin[i + 1] = begin[i] + count;
    if (begin[i + 1] > winner.words) return -EINVAL;
  }
  auto* steps = arena.make<Step>(begin[n]);
  auto* peers = arena.make<uint16_t>(winner.words);
  if (!steps || !peers) return -ENOMEM;
  uint32_t slots = 0;
  for (uint32_t s = 0; s < begin[n] && words.good; ++s) {
    const uint32_t word = words.next(), count = word >> 2;
    if (count == 0 || count > n || count > winner.words - slots) return -EINVAL;
    steps[s] = Step{word & 1 ? StepKind::kWait : StepKind::kSignal, (word & 2) != 0, slots, count};
    slots += count;
  }
  for (uint32_t slot = 0; slot < slots && words.good; ++slot) {
    const uint32_t peer = words.next();
    if (peer >= n) return -EINVAL;
    peers[slot] = static_cast<uint16_t>(peer);
  }
  if (!words.good || words.at != words.end) return -EINVAL;
  *out = Schedule{n, static_cast<Operation>(winner.operation), static_cast<uint16_t>(root), begin, steps, peers};
  return 0;
}

// "hybrid", "hierarchical:2, partners searched"
int read_pattern(const char* text, Pattern* out) {
  char name[sizeof Winner::pattern];
  const size_t length = std::strcspn(text, ",");
  std::memcpy(name, text, length);  // the loader has seen the text's end
  name[length] = '\0';
  return find_pattern(name, out) == 0 ? 0 : -EINVAL;
}

}  // namespace

uint32_t winner_words(const Schedule& schedule) {
  const uint32_t steps = schedule.begin[schedule.n];
  uint32_t words = 2 * schedule.n + 1 + steps;
  for (uint32_t s = 0; s < steps; ++s) words += schedule.steps[s].count;
  return words;
}

void write_winner(const Schedule& schedule, const uint16_t* members, uint32_t* words) {
  for (uint32_t i = 0; i < schedule.n; ++i) *words++ = members[i];
  *words++ = schedule.root;
  for (uint32_t i = 0; i < schedule.n; ++i) *words++ = schedule.begin[i + 1] - schedule.begin[i];
  const uint32_t steps = schedule.begin[schedule.n];
  for (uint32_t s = 0; s < steps; ++s) {
    const Step& step = schedule.steps[s];
    *words++ = (step.kind == StepKind::kWait ? 1u : 0u) | (step.shared_line ? 2u : 0u) | step.count << 2;
  }
  for (uint32_t s = 0; s < steps; ++s) {
    const Step& step = schedule.steps[s];
    for (uint32_t k = 0; k < step.count; ++k) *words++ = schedule.peers[step.first + k];
  }
}

int stored_winner(const Profile& profile, Operation op, int root, std::span<const uint16_t> members, Arena& arena,
                  StoredWinner* out) {
  const auto n = static_cast<uint32_t>(members.size());
  if (profile.header.winners == 0) return -ENOENT;
  char* const start = arena.mark();
  auto* participant = arena.make<uint16_t>(profile.header.cpus);  // by CPU; kNobody: not a member
  auto* place = arena.make<uint16_t>(n);
  if (!participant || !place) {
    arena.rewind(start);
    return -ENOMEM;
  }
  for (uint32_t c = 0; c < profile.header.cpus; ++c) participant[c] = kNobody;
  for (uint32_t i = 0; i < n; ++i) participant[members[i]] = static_cast<uint16_t>(i);
  for (uint32_t w = 0; w < profile.header.winners; ++w) {
    const Winner& winner = profile.winners[w];
    if (winner.operation != static_cast<uint32_t>(op) || winner.participants != n) continue;
    const uint32_t* const words = profile.winner_words + winner.first_word;  // the loader has seen that they are there
    bool same = true;
    for (uint32_t k = 0; k < n && same; ++k) {
      place[k] = participant[words[k]];
      same = place[k] != kNobody;
    }
    if (!same) continue;
    const uint32_t stored_root = words[n];
    if (root >= 0 && (stored_root >= n || place[stored_root] != root)) continue;
    Schedule read, moved;
    Pattern pattern;
    int error = read_pattern(winner.pattern, &pattern);
    if (!error) error = read_schedule(winner, {words + n, words + winner.words}, arena, &read);
    if (!error) error = move_participants(read, place, arena, &moved);
    if (error) {
      arena.rewind(start);
      return error;
    }
    *out = StoredWinner{&winner, pattern, moved};
    return 0;
  }
  arena.rewind(start);
  return -ENOENT;
}

int choose_for(const Profile* profile, std::span<const uint16_t> members, Operation op, int root, const Costs& costs,
               Arena& arena, Choice* out) {
  if (profile && !members.empty()) {
    char* const start = arena.mark();
    StoredWinner stored;
    if (stored_winner(*profile, op, root, members, arena, &stored) == 0 &&
        check_schedule(stored.schedule, arena) == 0) {
      Choice winner;
      winner.pattern = stored.pattern;
      winner.partners = std::strchr(stored.winner->pattern, ',') != nullptr;
      winner.schedule = stored.schedule;
      winner.predicted = stored.winner->predicted;
      *out = winner;
      return 0;
    }
    arena.rewind(start);
  }
  if (const int error = choose_best(op, root, costs, arena, out)) return error;
  return check_schedule(out->schedule, arena);
}

}  // namespace smelt
