// From the survey's figures to a profile: measured pairs keep their own figures, the others have their class's medians.
#include "measure/calibrate.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "measure/cores.h"
#include "measure/pair_samples.h"
#include "measure/survey.h"
#include "profile/text/error.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

constexpr double kWarmUpS = 0.02;  // of the estimate: the meter's warming up (kWarmUpNs)

Machine allowed_part(Machine machine) {
  std::erase_if(machine.pus, [](const Pu& pu) { return !pu.allowed; });
  if (machine.pus.empty()) throw UserError("no CPU of this machine may be used by this process");
  return machine;
}

void set_costs(ProfileImage& image, uint32_t from, uint32_t to, double hop, const DirectionCost& cost) {
  const size_t at = size_t{from} * image.n() + to;
  image.hop[at] = rounded_cost(hop);
  image.send_busy[at] = rounded_cost(cost.send_busy);
  image.recv_busy[at] = rounded_cost(cost.recv_busy);
  image.ready_read[at] = rounded_cost(cost.ready_read);
}

// The typical direction of a class, both directions alike.
DirectionCost typical_of(const Samples& samples, const std::vector<Spot>& pairs) {
  std::vector<double> send_busy, recv_busy, ready_read;
  for (Spot spot : samples.full(pairs))
    for (const DirectionCost& cost : {samples.find(spot)->forth, samples.find(spot)->back}) {
      send_busy.push_back(cost.send_busy);
      recv_busy.push_back(cost.recv_busy);
      ready_read.push_back(cost.ready_read);
    }
  return {median(send_busy), median(recv_busy), median(ready_read)};
}

std::string name_of(const ClassFigures& figures) {
  const char* distance = distance_name(static_cast<Distance>(figures.distance));
  return figures.part == 0 ? distance : fmt::format("{} (part {})", distance, figures.part);
}

// If time ran out before a class was measured, or with its hop alone, it has typical costs scaled by its hop.
DirectionCost typical_for(const PairClass& one, double hop) {
  const TypicalCost typical = typical_cost(one.distance);
  const double scale = typical.hop > 0 ? hop / double{typical.hop} : 1;
  return {typical.send_busy * scale, typical.recv_busy * scale, typical.ready_read * scale};
}

// The matrices, the classes and the classes' remarks. `samples` and `classes` cover all pairs of the image.
void fill_in(Calibration& out, const Survey& survey) {
  ProfileImage& image = out.image;
  const Samples& samples = survey.samples();
  const uint32_t n = image.n();
  out.class_of.assign(size_t{n} * n, kNobody);
  std::vector<double> hops, spreads;
  uint32_t pairs_measured = 0;
  for (const PairClass& one : survey.classes()) {
    const std::vector<Spot> usable = samples.usable(one.pairs);
    const double class_hop = usable.empty() ? double{typical_cost(one.distance).hop} : one.hop;
    const DirectionCost typical =
        samples.full(one.pairs).empty() ? typical_for(one, class_hop) : typical_of(samples, one.pairs);
    ClassFigures figures{};
    figures.distance = static_cast<uint32_t>(one.distance);
    if (!image.classes.empty() && image.classes.back().distance == figures.distance)
      figures.part = image.classes.back().part + 1;
    figures.pairs = static_cast<uint32_t>(one.pairs.size());
    if (usable.empty() || survey.unsteady(one)) figures.marks |= kMarkUnsteady;
    if (one.wide) figures.marks |= kMarkWide;
    figures.hop = rounded_cost(class_hop);
    figures.send_busy = rounded_cost(typical.send_busy);
    figures.recv_busy = rounded_cost(typical.recv_busy);
    figures.ready_read = rounded_cost(typical.ready_read);
    figures.spread = rounded_share(one.spread);
    const bool some_steady = !usable.empty() && samples.find(usable[0])->steady;
    for (Spot spot : one.pairs) {
      out.class_of[size_t{spot.a} * n + spot.b] = out.class_of[size_t{spot.b} * n + spot.a] =
          static_cast<uint16_t>(image.classes.size());
      const Sample* sample = samples.find(spot);
      if (sample) {
        ++figures.samples;
        hops.push_back(sample->hop);
        spreads.push_back(sample->spread);
      }
      // An unsteady pair's own figures are worth less than its class's.
      const bool own = sample && (sample->steady || !some_steady), full = own && sample->full;
      set_costs(image, spot.a, spot.b, own ? sample->hop : class_hop, full ? sample->forth : typical);
      set_costs(image, spot.b, spot.a, own ? sample->hop : class_hop, full ? sample->back : typical);
      pairs_measured += sample && sample->full;
    }
    image.classes.push_back(figures);
    if ((figures.marks & kMarkUnsteady) && !usable.empty())
      out.remarks.push_back(
          fmt::format("{}: its pairs did not come out alike when they were measured again; calibrate "
                      "once more when the machine is quiet",
                      name_of(figures)));
    if (usable.empty())
      out.remarks.push_back(fmt::format(
          "{}: none of its pairs was measured before the time was over; typical costs stand in", name_of(figures)));
    if (figures.marks & kMarkWide)
      out.remarks.push_back(
          fmt::format("{}: its pairs differ by {:.0f} %, and nothing that is known of them says which "
                      "are dear",
                      name_of(figures), 100.0 * figures.spread));
  }
  PackedHeader& header = image.header;
  header.one_way_hop = rounded_cost(median(hops));
  header.spread = rounded_share(median(spreads));
  header.pairs_measured = 2 * pairs_measured;
}

// The first CPU writes; up to eight of the CPUs nearest to it poll, one per core: that is how release lines are used.
void set_poller(ProfileImage& image, Meter& meter) {
  std::vector<uint32_t> readers = first_of_each_core(image);
  readers.erase(readers.begin());
  const auto distance = [&](uint32_t i) { return distance_in(image, 0, i); };
  std::stable_sort(readers.begin(), readers.end(), [&](uint32_t a, uint32_t b) { return distance(a) < distance(b); });
  readers.resize(std::min<size_t>(readers.size(), 8));
  std::vector<int> cpus;
  std::vector<double> recv_busy;
  for (uint32_t i : readers) {
    cpus.push_back(static_cast<int>(image.os_cpu[i]));
    recv_busy.push_back(image.recv_busy[size_t{i} * image.n()]);
  }
  if (cpus.size() < 2) return;  // nothing to compare: the typical figure of the guess stays
  image.header.poller = rounded_cost(meter.measure_poller(static_cast<int>(image.os_cpu[0]), cpus, median(recv_busy)));
}

// The first CPU writes. One CPU of each farther distance polls the line, then one near the writer as well: by how much
// the answers come later, less a further poller and the read of the second answer, which begins when the first is seen.
void set_crossings(ProfileImage& image, Meter& meter) {
  const auto first_of = [&](auto is_it) {
    for (uint32_t i = 1; i < image.n(); ++i)
      if (image.core[i] != image.core[0] && is_it(distance_in(image, 0, i))) return i;
    return uint32_t{0};
  };
  const uint32_t near = first_of([](Distance d) { return d == Distance::kSameLlc; });
  if (near == 0) return;  // the typical figures of the guess stay
  for (const Distance distance : {Distance::kSameNode, Distance::kSamePackage, Distance::kOther}) {
    const uint32_t far = first_of([&](Distance d) { return d == distance; });
    if (far == 0) continue;
    const std::vector<int> pollers = {static_cast<int>(image.os_cpu[far]), static_cast<int>(image.os_cpu[near])};
    const double busy = image.recv_busy[size_t{near} * image.n()], ready = image.ready_read[size_t{near} * image.n()];
    const double found = meter.measure_poller(static_cast<int>(image.os_cpu[0]), pollers, std::max(ready, busy));
    image.header.crossing[static_cast<uint32_t>(distance)] =
        rounded_cost(std::max(0.0, found - double{image.header.poller}));
  }
}

// Measures where messages queue. A quota of CPU time would stop threads that are many, and look like a queue.
void set_queues(ProfileImage& image, Meter& meter, uint32_t cpu_quota) {
  for (const QueuePairs& pairs : queue_pairs(image, cpu_quota > 0 ? cpu_quota / 2 : kQueuePairs[kQueueSizes - 1])) {
    const QueueCurves& queue = image.queues.emplace_back(measure_queue(pairs, meter));
    float& service = image.header.service[queue.distance];
    // What nothing stops has a bound, which few pairs leave far above the typical figure, if there is one.
    service = queue.reached || service == 0 ? queue.service : std::min(service, queue.service);
  }
}

}  // namespace

Calibration calibrate(const Machine& machine, Meter& meter, const CalibrationOptions& options) {
  const Machine allowed = allowed_part(machine);
  Calibration out;
  out.image = guess_image(allowed);
  std::vector<int> cpus;
  for (const Pu& pu : allowed.pus) cpus.push_back(static_cast<int>(pu.os_index));
  meter.warm_up(cpus);
  CalibrationOptions affordable = options;
  // A quota of CPU time throttles later than the test of company can see.
  if (machine.cpu_quota > 0)
    affordable.most_at_once = std::min(options.most_at_once, std::max(1u, machine.cpu_quota / 2));
  Survey survey(allowed.pus, meter, affordable);
  survey.run();
  out.remarks = survey.remarks();
  out.at_once = survey.at_once();
  out.ended_early = survey.ended_early();
  fill_in(out, survey);
  if (out.ended_early) {
    out.remarks.push_back(fmt::format(
        "the time was over: {} of {} ordered pairs were measured; calibrate once more when the machine is quiet",
        out.image.header.pairs_measured, cpus.size() * (cpus.size() - 1)));
  } else {
    set_poller(out.image, meter);
    set_crossings(out.image, meter);
    set_queues(out.image, meter, machine.cpu_quota);
  }
  PackedHeader& header = out.image.header;
  header.created = std::time(nullptr);
  header.unit = static_cast<uint32_t>(meter.unit());
  set_text(header.method, sizeof header.method,
           cpus.size() < 2   ? "one CPU, nothing to measure"
           : out.ended_early ? "8x16 round trips, median; its time was over early"
                             : "8x16 round trips, median; busy: 128 single shots, midmean");
  return out;
}

double estimate_seconds(const Machine& machine, const CalibrationOptions& options) {
  const Machine allowed = allowed_part(machine);
  const auto n = static_cast<uint32_t>(allowed.pus.size());
  double ns = 0;
  for (Spot spot : stratify(allowed.pus, Samples(n), options.all_pairs || n <= kAllPairsUpTo).wanted) {
    const Pu &a = allowed.pus[spot.a], &b = allowed.pus[spot.b];
    ns += pair_ns(typical_cost(distance_between(a, b)).hop);
  }
  return kWarmUpS + ns * 1e-9;
}

}  // namespace smelt
