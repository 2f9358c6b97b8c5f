// Racing by successive halving: all candidates run some laps, the slower half is dropped, the rest run twice as many,
// and so on.
//
// Most of the time goes to those that are hard to tell apart, and the time is known beforehand: each round takes about
// as long as the first (Karnin, Koren, Somekh: Almost optimal exploration in multi-armed bandits, ICML 2013; racing for
// choosing among algorithms: Maron, Moore, Hoeffding races, NIPS 1993).
//
// Laps are paired. A virtual machine is moved, a neighbour wakes up, a core slows down: then all candidates get slower
// together. So the candidates take turns, lap by lap, each lap right after a reference, and the median of lap /
// reference counts.
#include "measure/racing.h"

#include <algorithm>

#include "base/os/os.h"
#include "profile/text/statistics.h"

namespace smelt {

Race race(uint32_t candidates, const std::function<double(uint32_t)>& lap, const std::function<double()>& reference,
          const RaceSettings& settings) {
  Race out;
  out.racers.resize(candidates);
  std::vector<std::vector<double>> ns(candidates), references(candidates), ratios(candidates);
  std::vector<uint32_t> running(candidates);
  for (uint32_t c = 0; c < candidates; ++c) running[c] = c;
  const int64_t end = os::now_ns() + static_cast<int64_t>(settings.seconds * 1e9);
  const auto over = [&] { return settings.until_ns != 0 && os::now_ns() >= settings.until_ns; };
  const auto rank = [&] {
    for (const uint32_t c : running) out.racers[c].ratio = median(ratios[c]);
    std::stable_sort(running.begin(), running.end(), [&](uint32_t a, uint32_t b) {
      if (ratios[a].empty() || ratios[b].empty()) return !ratios[a].empty() && ratios[b].empty();
      return out.racers[a].ratio < out.racers[b].ratio;
    });
  };
  for (uint32_t laps = std::max(settings.samples, 1u); !running.empty(); laps *= 2) {
    for (const uint32_t c : running) ++out.racers[c].rounds;
    for (uint32_t k = 0; k < laps && out.complete; ++k) {
      // Every lap another one begins: nobody always runs after the same one.
      std::rotate(running.begin(), running.begin() + 1, running.end());
      for (const uint32_t c : running) {
        if (over()) break;
        const double yardstick = reference(), time = lap(c);
        ns[c].push_back(time);
        references[c].push_back(yardstick);
        ratios[c].push_back(time / yardstick);
      }
      out.complete = os::now_ns() < end && !over();
    }
    rank();
    if (running.size() <= 2 || !out.complete || !settings.halving) break;
    running.resize((running.size() + 1) / 2);
  }
  if (!running.empty()) out.winner = running.front();
  for (uint32_t c = 0; c < candidates; ++c) {
    Racer& racer = out.racers[c];
    racer.ns = median(ns[c]);
    racer.reference = median(references[c]);
    racer.ratio = median(ratios[c]);
    racer.spread = relative_iqr(ratios[c]);
    racer.laps = static_cast<uint32_t>(ns[c].size());
  }
  return out;
}

}  // namespace smelt
