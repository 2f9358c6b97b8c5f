#include "measure/finalists.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "discover/error.h"
#include "generate/patterns.h"
#include "measure/track.h"
#include "model/api.h"
#include "schedule/choose.h"
#include "schedule/validate.h"
#include "schedule/winner.h"

namespace smelt {
namespace {

struct Candidate {
  Pattern pattern;
  bool partners = false;
  double predicted = 0;
  Schedule schedule;  // of the operation
  Schedule closed;    // what is run: the same for a barrier
};

bool same(const Schedule& a, const Schedule& b) {
  if (a.n != b.n || a.root != b.root || std::memcmp(a.begin, b.begin, (a.n + 1) * sizeof *a.begin) != 0) return false;
  uint32_t peers = 0;
  for (uint32_t s = 0; s < a.begin[a.n]; ++s) {
    const Step &x = a.steps[s], &y = b.steps[s];
    if (x.kind != y.kind || x.count != y.count || x.shared_line != y.shared_line) return false;
    peers += x.count;
  }
  return std::memcmp(a.peers, b.peers, peers * sizeof *a.peers) == 0;
}

// The loop that an operation is timed in.
int close(Operation op, const Choice& choice, const Costs& costs, Arena& arena, Schedule* out) {
  if (op == Operation::kBarrier) {
    *out = choice.schedule;
    return 0;
  }
  Tree star;
  if (int error = sequential_tree(costs, 0, choice.tree.root, arena, &star)) return error;
  return op == Operation::kBroadcast ? barrier_schedule(star, choice.tree, arena, out)
                                     : lined_barrier_schedule(choice.tree, star, costs, arena, out);
}

[[noreturn]] void no_memory() { throw UserError("out of memory for the finalists; name fewer CPUs"); }

// A race decides what the last per mille of a search would gain, so large teams are searched for briefly.
SearchEffort effort_for(uint32_t n) {
  SearchEffort effort = kPatientEffort;
  if (n > 64) effort.moves = 20000;
  return effort;
}

// Every pattern that serves, the cheapest first.
std::vector<Candidate> find_candidates(const Costs& costs, Operation op, bool distinct, Arena& arena) {
  std::vector<Candidate> out;
  const int root = op == Operation::kBarrier ? -1 : 0;
  const auto add = [&](const Choice& choice) {
    Candidate candidate{choice.pattern, choice.partners, 0, choice.schedule, {}};
    Verdict verdict;
    if (close(op, choice, costs, arena, &candidate.closed) != 0 ||
        steady_price(candidate.closed, costs, arena, &candidate.predicted) != 0 || validate(candidate.closed, arena, &verdict) != 0)
      no_memory();
    if (verdict.flaw != Flaw::kNone) throw UserError(fmt::format("{}: {}", choice.pattern.info->name, flaw_text(verdict.flaw)));
    out.push_back(candidate);
  };
  std::vector<Pattern> patterns(candidate_patterns(op, costs.n, nullptr, 0));
  candidate_patterns(op, costs.n, patterns.data(), static_cast<uint32_t>(patterns.size()));
  for (const Pattern& pattern : patterns) {
    Choice choice;
    const int error = plan(pattern, op, root, costs, arena, &choice, effort_for(costs.n));
    if (error == -EINVAL) continue;  // not for so many participants
    if (error) no_memory();
    add(choice);
  }
  if (op == Operation::kBarrier) {  // no other operation has patterns whose partners are searched
    Choice best;
    if (choose_best(op, root, costs, arena, &best, effort_for(costs.n)) != 0) no_memory();
    if (best.partners) add(best);
  }
  std::stable_sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) { return a.predicted < b.predicted; });
  if (!distinct) return out;
  std::vector<Candidate> different;
  for (const Candidate& candidate : out) {
    const auto is_it = [&](const Candidate& other) { return same(other.schedule, candidate.schedule); };
    if (std::none_of(different.begin(), different.end(), is_it)) different.push_back(candidate);
  }
  return different;
}

std::vector<uint16_t> members_of(const ProfileImage& image, const std::vector<uint32_t>& cpus) {
  std::vector<uint16_t> members;
  for (const uint32_t cpu : cpus) {
    const auto found = std::lower_bound(image.os_cpu.begin(), image.os_cpu.end(), cpu);
    if (found == image.os_cpu.end() || *found != cpu) throw UserError(fmt::format("the profile does not know CPU {}", cpu));
    members.push_back(static_cast<uint16_t>(found - image.os_cpu.begin()));
  }
  return members;
}

void keep_winner(const Candidate& candidate, const TimedSet& set, const std::vector<uint16_t>& members, ProfileImage* image) {
  const Finalist& first = set.finalists[set.winner];
  std::vector<uint32_t> words(winner_words(candidate.schedule));
  if (image->winners.size() == kMaxWinners || image->winner_words.size() + words.size() > kMaxWinnerWords) return;
  write_winner(candidate.schedule, members.data(), words.data());
  Winner winner{};
  winner.operation = static_cast<uint32_t>(set.op);
  winner.participants = candidate.schedule.n;
  winner.predicted = static_cast<float>(first.predicted);
  winner.measured = static_cast<float>(first.timed.ns);
  winner.spread = static_cast<float>(first.timed.spread);
  winner.hop = static_cast<float>(first.timed.reference);
  set_text(winner.pattern, sizeof winner.pattern, first.pattern);
  image->add_winner(winner, words);
}

}  // namespace

TimedSet time_finalists(const ProfileImage& image, const std::vector<uint32_t>& cpus, Operation op,
                        const FinalistSettings& settings, ProfileImage* keep) {
  const std::vector<uint16_t> members = members_of(image, cpus);
  const auto n = static_cast<uint32_t>(members.size());
  if (n < 2) throw UserError("a pattern needs two CPUs to be timed on");
  MappedArena arena(64 * generation_bytes(n));  // all candidates at once; lazily backed
  Costs costs;
  if (!arena.ok() || subset_costs(image.costs(), members, arena, &costs) != 0) no_memory();
  std::vector<Candidate> candidates = find_candidates(costs, op, settings.distinct, arena);
  if (settings.finalists > 0 && candidates.size() > settings.finalists) candidates.resize(settings.finalists);

  TimedSet out;
  out.op = op;
  out.cpus = cpus;
  std::vector<const Schedule*> schedules;
  for (const Candidate& candidate : candidates) {
    char name[40];
    pattern_text(candidate.pattern, name, sizeof name);
    out.finalists.push_back({candidate.partners ? std::string(name) + ", partners searched" : name, candidate.predicted, {}});
    schedules.push_back(&candidate.closed);
  }
  RaceSettings racing = settings.race;
  racing.halving = settings.finalists > 0;
  Track track(schedules);
  Race result;
  track.run(cpus, [&] {
    result = race(
        static_cast<uint32_t>(candidates.size()), [&](uint32_t k) { return track.lap(k, settings.episodes); },
        [&] { return track.hop(); }, racing);
  });
  for (size_t k = 0; k < candidates.size(); ++k) out.finalists[k].timed = result.racers[k];
  out.winner = result.winner;
  out.complete = result.complete;
  if (keep) keep_winner(candidates[out.winner], out, members, keep);
  return out;
}

double pair_hop(const ProfileImage& image, const std::vector<uint32_t>& cpus) {
  const std::vector<uint16_t> members = members_of(image, cpus);
  const size_t n = image.n();
  return (image.hop[members[0] * n + members[1]] + image.hop[members[1] * n + members[0]]) / 2;
}

std::vector<std::vector<uint32_t>> likely_teams(const ProfileImage& image) {
  std::vector<uint32_t> cores;
  std::set<uint16_t> seen;
  for (uint32_t i = 0; i < image.n(); ++i)
    if (seen.insert(image.core[i]).second) cores.push_back(image.os_cpu[i]);
  std::vector<std::vector<uint32_t>> out;
  for (size_t n = 2; n < cores.size(); n *= 2) out.emplace_back(cores.begin(), cores.begin() + static_cast<std::ptrdiff_t>(n));
  if (cores.size() >= 2) out.push_back(cores);
  if (image.n() > cores.size()) out.push_back(image.os_cpu);
  return out;
}

std::vector<TimedSet> time_all_finalists(ProfileImage& image, double seconds, const Progress& progress) {
  constexpr Operation kAll[] = {Operation::kBarrier, Operation::kBroadcast, Operation::kReduce};
  std::vector<TimedSet> out;
  image.winners.clear();
  image.winner_words.clear();
  const auto teams = likely_teams(image);
  const auto races = static_cast<uint32_t>(teams.size() * std::size(kAll));
  FinalistSettings settings;
  settings.race.seconds = seconds / std::max(races, 1u);
  for (const auto& team : teams) {
    for (const Operation op : kAll) {
      out.push_back(time_finalists(image, team, op, settings, &image));
      if (progress) progress(static_cast<uint32_t>(out.size()), races);
    }
  }
  return out;
}

}  // namespace smelt
