#include "bench/lab/paper/timing.h"

#include "base/os/os.h"
#include "measure/pair.h"
#include "measure/pinned.h"
#include "measure/racing.h"
#include "measure/track.h"
#include "profile/text/statistics.h"

namespace smelt::paper {
namespace {

std::vector<Timed> timed_of(const Race& race) {
  std::vector<Timed> out;
  for (const Racer& racer : race.racers) out.push_back({racer.ns, racer.spread, racer.reference});
  return out;
}

double hop_now(const std::vector<uint32_t>& cpus) {
  return median(measure_hops(static_cast<int>(cpus[0]), static_cast<int>(cpus[1])));
}

// Laps for everybody and nobody dropped, however long it takes.
RaceSettings settings_of(const Effort& effort) { return {effort.laps, 1e9, false, 0}; }

}  // namespace

Effort effort_of(bool quick) { return quick ? Effort{3, 100} : Effort{}; }

Cell cell_of(const Timed& timed) { return {timed.ns, timed.spread / 2, ""}; }

std::vector<Timed> time_schedules(const std::vector<uint32_t>& cpus, const std::vector<Schedule>& schedules,
                                  const Effort& effort) {
  std::vector<const Schedule*> each;
  for (const Schedule& schedule : schedules) each.push_back(&schedule);
  Track track(each);
  Race result;
  track.run(cpus, [&] {
    result = race(
        static_cast<uint32_t>(each.size()), [&](uint32_t k) { return track.lap(k, effort.episodes); },
        [&] { return track.hop(); }, settings_of(effort));
  });
  return timed_of(result);
}

std::vector<Timed> time_laps(const std::vector<uint32_t>& cpus, const std::vector<Lap>& laps, const Effort& effort) {
  return timed_of(race(
      static_cast<uint32_t>(laps.size()), [&](uint32_t k) { return laps[k](effort.episodes); },
      [&] { return hop_now(cpus); }, settings_of(effort)));
}

double hop_around(const std::vector<uint32_t>& cpus, const std::function<void()>& measure) {
  const double before = hop_now(cpus);
  measure();
  return (before + hop_now(cpus)) / 2;
}

double time_threads(const std::vector<uint32_t>& cpus, uint32_t threads, uint32_t rounds,
                    const std::function<void(uint32_t)>& body, const std::function<void(uint32_t)>& end) {
  constexpr uint32_t kWarmUp = 16;
  double ns = 0;
  std::vector<PinnedJob> jobs;
  for (uint32_t thread = 0; thread < threads; ++thread)
    jobs.push_back({static_cast<int>(cpus[thread % cpus.size()]), [&, thread] {
                      for (uint32_t k = 0; k < kWarmUp; ++k) body(thread);
                      const int64_t begin = os::now_ns();
                      for (uint32_t k = 0; k < rounds; ++k) body(thread);
                      end(thread);
                      if (thread == 0) ns = static_cast<double>(os::now_ns() - begin) / rounds;
                    }});
  run_pinned(jobs);
  return ns;
}

}  // namespace smelt::paper
