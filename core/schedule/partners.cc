// Partner search: a pattern says that place 3 tells place 4; the participant in place 3 is free to choose.
//
// Rings and counterparts are laid out by number or by group, and on a machine whose pairs are all different some other
// layout is cheaper: neighbours in the ring of a dissemination that sit behind one cache, counterparts in two sockets
// that have the short way. It is a quadratic assignment problem with a makespan for its sum, so: local search by swaps
// (Burkard, Rendl: A thermodynamically motivated simulation procedure for combinatorial optimization problems, EJOR 17,
// 1984). Two participants change places; a swap that raises the predicted makespan by more than the temperature times
// an exponential variate is taken back. One of the two is one that finishes last, or one of which nothing is known;
// everything is priced anew each time, as a swap changes the times of nearly everybody.
#include "schedule/partners.h"

#include <algorithm>
#include <cerrno>

#include "generate/random.h"
#include "schedule/predict.h"

namespace smelt {

namespace {

// The messages that may be priced in all: a tenth of a second or less.
constexpr uint32_t kMostMessages = 3'000'000;
constexpr uint32_t kMostTrials = 6000;  // however few messages a trial has
constexpr double kHottest = 0.15;       // of the makespan; it falls with the fourth power of the trials left

uint32_t trials(const Schedule& schedule, const SearchEffort& effort) {
  if (effort.moves == 0 || schedule.n < 3) return 0;
  uint32_t messages = 1;
  for (uint32_t s = 0; s < schedule.begin[schedule.n]; ++s) messages += schedule.steps[s].count;
  return std::min({kMostTrials, kMostMessages / messages, effort.moves});
}

}  // namespace

int search_partners(const Schedule& schedule, const Costs& costs, const SearchEffort& effort, Arena& arena,
                    uint16_t* place, double* makespan) {
  if (schedule.n != costs.n) return -EINVAL;
  const uint32_t n = schedule.n;
  char* const start = arena.mark();
  auto* now = arena.make<uint16_t>(n);
  auto* done = arena.make<double>(n);
  Pricer pricer;
  int error = now && done ? pricer.make(schedule, costs, arena) : -ENOMEM;
  for (uint16_t i = 0; i < n && !error; ++i) place[i] = now[i] = i;
  double value = 0;
  if (!error) error = pricer.price(now, done, &value);
  double best = value;
  SplitMix64 random(effort.seed);
  const uint32_t count = error ? 0 : trials(schedule, effort);
  for (uint32_t k = 0; k < count && !error && !effort.limits.exceeded(); ++k) {
    const auto last = static_cast<uint16_t>(std::max_element(done, done + n) - done);
    const uint16_t a = random.next() & 1 ? last : static_cast<uint16_t>(random.below(n));
    const auto b = static_cast<uint16_t>(random.below(n));
    if (a == b || a == schedule.root || b == schedule.root) continue;
    std::swap(now[a], now[b]);
    double then = 0;
    error = pricer.price(now, done, &then);
    const double left = 1 - (k + 1.0) / count;
    if (then > value + kHottest * best * left * left * left * left * random.exponential()) {
      std::swap(now[a], now[b]);
      continue;
    }
    value = then;
    if (value >= best) continue;
    best = value;
    std::copy_n(now, n, place);
  }
  arena.rewind(start);
  if (!error) *makespan = best;
  return error;
}

}  // namespace smelt
