#include "measure/finalists.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <set>

#include <fmt/format.h>

#include "base/os/os.h"
#include "generate/patterns.h"
#include "generate/registry.h"
#include "measure/cores.h"
#include "measure/track.h"
#include "profile/profile.h"
#include "profile/text/error.h"
#include "schedule/choose.h"
#include "schedule/predict.h"
#include "schedule/validate.h"
#include "schedule/winner.h"

namespace smelt {
namespace {

// A schedule in memory of its own. The memory for planning it, which grows with the square of the participants, is
// given back each time.
class KeptSchedule {
 public:
  explicit KeptSchedule(const Schedule& schedule)
      : n_(schedule.n),
        op_(schedule.op),
        root_(schedule.root),
        begin_(schedule.begin, schedule.begin + schedule.n + 1),
        steps_(schedule.steps, schedule.steps + schedule.begin[schedule.n]) {
    const uint32_t peers = steps_.empty() ? 0 : steps_.back().first + steps_.back().count;
    peers_.assign(schedule.peers, schedule.peers + peers);
  }
  Schedule get() { return {n_, op_, root_, begin_.data(), steps_.data(), peers_.data()}; }

 private:
  uint32_t n_;
  Operation op_;
  uint16_t root_;
  std::vector<uint32_t> begin_;
  std::vector<Step> steps_;
  std::vector<uint16_t> peers_;
};

struct Candidate {
  std::string name;
  bool is_tree = false;
  double predicted = 0;
  KeptSchedule schedule;  // of the operation
  KeptSchedule closed;    // the schedule that is run: the same for a barrier
};

std::string choice_name(const Choice& choice) {
  char text[64];
  choice_text(choice, text, sizeof text);
  return text;
}

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
  if (op == Operation::kBroadcast) return answered_broadcast(choice, costs, arena, out);
  Tree star;
  if (int error = sequential_tree(costs, 0, choice.tree.root, arena, &star)) return error;
  return lined_barrier_schedule(choice.tree, star, costs, arena, out);
}

[[noreturn]] void no_memory() { throw UserError("out of memory for the finalists; name fewer CPUs"); }

// The race decides the last per mille that a longer search would gain, so large teams are searched for briefly; and no
// longer than the race may last.
SearchEffort effort_for(uint32_t n, int64_t until_ns) {
  SearchEffort effort = kPatientEffort;
  if (n > 64) effort.moves = 20000;
  effort.limits.deadline_ns = until_ns;
  return effort;
}

// Every pattern that serves, with the exchange of other partners where that is cheaper than all, the cheapest first.
// An error of one is thrown only when choose_best is through: no exception may pass that code.
class Entrants {
 public:
  Entrants(const Costs& costs, Operation op, Arena& arena) : costs_(costs), op_(op), arena_(arena) {}

  std::vector<Candidate> find(const SearchEffort& effort) {
    char* const start = arena_.mark();
    const CandidateVisitor visitor{
        [](void* field, const Choice& choice) { static_cast<Entrants*>(field)->add(choice); }, this};
    Choice best;
    const int root = op_ == Operation::kBarrier ? -1 : 0;
    if (choose_best(op_, root, costs_, arena_, &best, effort, &visitor) != 0) no_memory();
    if (best.partners) add(best);
    arena_.rewind(start);
    if (!flaw_.empty()) throw UserError(flaw_);
    if (no_memory_) no_memory();
    return std::move(out_);
  }

 private:
  void add(const Choice& choice) {
    char* const start = arena_.mark();
    Schedule closed;
    Validation verdict;
    double predicted = 0;
    if (close(op_, choice, costs_, arena_, &closed) != 0 || steady_price(closed, costs_, arena_, &predicted) != 0 ||
        validate(closed, arena_, &verdict) != 0)
      no_memory_ = true;
    else if (verdict.flaw != Flaw::kNone)
      flaw_ = fmt::format("{}: {}", choice.pattern.info->name, flaw_text(verdict.flaw));
    else
      out_.push_back({choice_name(choice), choice.pattern.info->tree != nullptr, predicted,
                      KeptSchedule(choice.schedule), KeptSchedule(closed)});
    arena_.rewind(start);
  }

  const Costs& costs_;
  const Operation op_;
  Arena& arena_;
  std::vector<Candidate> out_;
  std::string flaw_;
  bool no_memory_ = false;
};

std::vector<Candidate> find_candidates(const Costs& costs, Operation op, const FinalistSettings& settings,
                                       Arena& arena) {
  std::vector<Candidate> out = Entrants(costs, op, arena).find(effort_for(costs.n, settings.race.until_ns));
  std::stable_sort(out.begin(), out.end(),
                   [](const Candidate& a, const Candidate& b) { return a.predicted < b.predicted; });
  if (settings.finalists == 0) return out;
  std::vector<Candidate> different;
  for (Candidate& candidate : out) {
    const auto is_it = [&](Candidate& other) { return same(other.schedule.get(), candidate.schedule.get()); };
    if (std::none_of(different.begin(), different.end(), is_it)) different.push_back(std::move(candidate));
  }
  return different;
}

void keep_finalists(size_t count, std::vector<Candidate>* candidates) {
  std::vector<std::string> names;
  for (const Candidate& candidate : *candidates) names.push_back(candidate.name);
  std::vector<Candidate> kept;
  for (const size_t k : choose_finalists(names, count)) kept.push_back(std::move((*candidates)[k]));
  *candidates = std::move(kept);
}

std::vector<uint16_t> members_of(const ProfileImage& image, const std::vector<uint32_t>& cpus) {
  std::vector<uint16_t> members;
  for (const uint32_t cpu : cpus) {
    const auto found = std::lower_bound(image.os_cpu.begin(), image.os_cpu.end(), cpu);
    if (found == image.os_cpu.end() || *found != cpu)
      throw UserError(fmt::format("the profile does not know CPU {}", cpu));
    members.push_back(static_cast<uint16_t>(found - image.os_cpu.begin()));
  }
  return members;
}

void keep_winner(const Schedule& schedule, const TimedSet& set, const std::vector<uint16_t>& members,
                 ProfileImage* image) {
  const Finalist& first = set.finalists[set.winner];
  std::vector<uint32_t> words(winner_words(schedule));
  if (image->winners.size() == kMaxWinners || image->winner_words.size() + words.size() > kMaxWinnerWords) return;
  write_winner(schedule, members.data(), words.data());
  Winner winner{};
  winner.operation = static_cast<uint32_t>(set.op);
  winner.participants = schedule.n;
  winner.predicted = static_cast<float>(first.predicted);
  winner.measured = static_cast<float>(first.timed.ns);
  winner.spread = static_cast<float>(first.timed.spread);
  winner.skewed = static_cast<float>(first.skewed.ns);
  winner.hop = static_cast<float>(first.timed.reference);
  set_text(winner.pattern, sizeof winner.pattern, first.pattern);
  image->add_winner(winner, words);
}

}  // namespace

std::vector<size_t> choose_finalists(const std::vector<std::string>& patterns, size_t count) {
  constexpr uint32_t kMostPartners = 3;  // of a dissemination that races as a family of its own
  const auto is = [](const Pattern& pattern, const char* name) { return std::strcmp(pattern.info->name, name) == 0; };
  const std::function<bool(const Pattern&)> families[] = {
      [](const Pattern& pattern) { return pattern.info->tree != nullptr; },
      [&](const Pattern& pattern) { return is(pattern, "hybrid"); },
      [&](const Pattern& pattern) { return is(pattern, "hierarchical"); },
      [&](const Pattern& pattern) { return is(pattern, "dissemination") && pattern.argument <= kMostPartners; }};
  std::set<size_t> chosen;
  for (size_t k = 0; k < std::min(count, patterns.size()); ++k) chosen.insert(k);
  for (const auto& belongs : families) {
    for (size_t k = 0; k < patterns.size(); ++k) {
      Pattern pattern;
      if (find_pattern(patterns[k].substr(0, patterns[k].find(',')).c_str(), &pattern) != 0 || !belongs(pattern))
        continue;
      chosen.insert(k);
      break;
    }
  }
  return {chosen.begin(), chosen.end()};
}

TimedSet time_finalists(const ProfileImage& image, const std::vector<uint32_t>& cpus, Operation op,
                        const FinalistSettings& settings, ProfileImage* keep) {
  const std::vector<uint16_t> members = members_of(image, cpus);
  const auto n = static_cast<uint32_t>(members.size());
  if (n < 2) throw UserError("a pattern needs two CPUs to be timed on");
  std::vector<Candidate> candidates;
  {
    MappedArena arena(2 *
                      generation_bytes(n));  // one candidate at a time; twice, for costs and validation; lazily backed
    Costs costs;
    if (!arena.ok() || subset_costs(image.costs(), members, arena, &costs) != 0) no_memory();
    candidates = find_candidates(costs, op, settings, arena);
  }
  if (settings.finalists > 0) keep_finalists(settings.finalists, &candidates);

  TimedSet out;
  out.op = op;
  out.cpus = cpus;
  std::vector<Schedule> closed;
  std::vector<const Schedule*> schedules;
  for (Candidate& candidate : candidates) {
    out.finalists.push_back({candidate.name, candidate.predicted, candidate.is_tree, {}, {}});
    closed.push_back(candidate.closed.get());
  }
  for (const Schedule& schedule : closed) schedules.push_back(&schedule);
  RaceSettings racing = settings.race;
  racing.halving = settings.finalists > 0;
  Track track(schedules);
  const Laps laps{[&](uint32_t k) { return track.lap(k, settings.episodes); },
                  [&](uint32_t k, double most_ns, uint32_t sequence) {
                    return track.skewed_lap(k, settings.episodes, most_ns, sequence);
                  },
                  [&] { return track.hop(); }};
  track.run(cpus, [&] { out.winner = race_finalists(laps, racing, settings.skew, &out.finalists); });
  // Where nobody has run a lap nobody has won.
  if (keep && out.finalists[out.winner].timed.laps > 0)
    keep_winner(candidates[out.winner].schedule.get(), out, members, keep);
  return out;
}

std::vector<std::vector<uint32_t>> likely_teams(const ProfileImage& image) {
  std::vector<uint32_t> cores;
  for (const uint32_t i : first_of_each_core(image)) cores.push_back(image.os_cpu[i]);
  std::vector<std::vector<uint32_t>> out;
  for (size_t n = 2; n < cores.size(); n *= 2)
    out.emplace_back(cores.begin(), cores.begin() + static_cast<std::ptrdiff_t>(n));
  if (cores.size() >= 2) out.push_back(cores);
  if (image.n() > cores.size()) out.push_back(image.os_cpu);
  return out;
}

std::vector<std::string> time_all_finalists(ProfileImage& image, double seconds, const Progress& progress,
                                            int64_t until_ns) {
  constexpr Operation kAll[] = {Operation::kBarrier, Operation::kBroadcast, Operation::kReduce};
  std::vector<std::string> remarks;
  uint32_t done = 0, failed = 0, late = 0;
  std::string why;
  image.winners.clear();
  image.winner_words.clear();
  const auto teams = likely_teams(image);
  const auto races = static_cast<uint32_t>(teams.size() * std::size(kAll));
  FinalistSettings settings;
  settings.race.seconds = seconds / std::max(races, 1u);
  settings.race.until_ns = until_ns;
  const auto failed_for = [&](const std::string& reason) {
    if (failed++ == 0) why = reason;
  };
  for (const auto& team : teams) {
    for (const Operation op : kAll) {
      if (until_ns != 0 && os::now_ns() >= until_ns) {
        ++late;
        continue;
      }
      try {
        time_finalists(image, team, op, settings, &image);
      } catch (const UserError& error) {
        failed_for(fmt::format("{} of {} CPUs: {}", operation_name(op), team.size(), error.what()));
      } catch (const std::bad_alloc&) {
        failed_for(fmt::format("{} of {} CPUs: out of memory", operation_name(op), team.size()));
      }
      if (progress) progress(++done, races);
    }
  }
  if (failed > 0)
    remarks.push_back(fmt::format("{} of {} races could not be run, the model decides there: {}", failed, races, why));
  if (late > 0)
    remarks.push_back(fmt::format("the time was over before {} of {} races; the model decides there", late, races));
  return remarks;
}

}  // namespace smelt
