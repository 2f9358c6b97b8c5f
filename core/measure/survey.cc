// 1. canaries   two pairs of each class, whose ping-pong is taken before everything else
// 2. measure    the pairs that the sampler wants, in mixed order, so that a change half-way cannot look like a class; a
//               pair whose batches disagree, or whose ping-pong before and after does, up to five times
// 3. canaries   again half-way, oftener where that is long, and after every list: a class whose canary has changed is
//               measured anew
// 4. agree?     in the end the cheapest and the dearest pair of every class, and some in between, are compared with a
//               fresh ping-pong: a figure that was disturbed for a while only is mostly found at the edges
// A class that is still not alike after two new beginnings is marked. When the time is over, the figures at hand have
// to do.
#include "measure/survey.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "profile/text/statistics.h"

namespace smelt {
namespace {

constexpr double kLargestDrift = 0.3;           // of one pair, between two ping-pongs
constexpr double kLargestPairSpread = 0.5;      // between the batches of one pair
constexpr double kLargestShift = 0.15;          // of the typical canary: then everything has changed
constexpr size_t kEnoughCanaries = 4;           //   if there are so many
constexpr int kAttempts = 5;                    // of one pair, until its batches agree
constexpr int kCanaryAttempts = 4;              // pairs of a base class that are tried as canaries
constexpr uint32_t kCanariesPerBase = 2;        // for each base class
constexpr size_t kCanariesEvery[] = {16, 512};  // pairs, at least and at most; in between: half of a list
constexpr int kRestarts = 2;                    // of a base class; then it counts as unsteady
constexpr int kFinalChecks = 4;                 // classes_agree() is told which is the last
constexpr size_t kCheckedShare = 16;            // one in so many between the edges is compared in the end
constexpr int kMostWrong = 3;                   // pairs of a class that do not agree: then all of it is measured anew
constexpr double kLargestCompanyShift = 0.1;    // beyond it, pairs that are measured at once disturb each other
constexpr size_t kEnoughShifts = 8;             // compared pairs, for a median that says so
constexpr size_t kWorthCompany = 200;           // pairs in a list: fewer are done before a test of company pays

struct TimeIsOver {};

double apart(double x, double y) {
  const double low = std::min(x, y);
  return low > 0 ? std::max(x, y) / low - 1 : (x == y ? 0 : INFINITY);
}

bool is_steady(const PairCost& cost) {
  return cost.drift <= kLargestDrift && relative_iqr(cost.hops) <= kLargestPairSpread;
}

double unsteadiness(const PairCost& cost) {
  return std::max(cost.drift / kLargestDrift, relative_iqr(cost.hops) / kLargestPairSpread);
}

Sample sample_of(const PairCost& cost, bool full) {
  return {median(cost.hops), relative_iqr(cost.hops), is_steady(cost), full, cost.forth, cost.back};
}

}  // namespace

Survey::Survey(const std::vector<Pu>& pus, Meter& meter, const CalibrationOptions& options)
    : pus_(pus),
      meter_(meter),
      options_(options),
      all_pairs_(options.all_pairs || pus.size() <= kAllPairsUpTo),
      samples_(static_cast<uint32_t>(pus.size())),
      end_s_(options.seconds > 0 ? meter.seconds() + options.seconds : 0) {}

CpuPair Survey::cpus(Spot spot) const {
  return {static_cast<int>(pus_[spot.a].os_index), static_cast<int>(pus_[spot.b].os_index)};
}

bool Survey::time_is_over() const { return end_s_ > 0 && meter_.seconds() >= end_s_; }

// Its caller has nothing in its hands that would be lost.
void Survey::stop_in_time() const {
  if (time_is_over()) throw TimeIsOver();
}

double Survey::hop_now(Spot spot) {
  stop_in_time();
  const CpuPair pair = cpus(spot);
  return median(meter_.measure_hops({&pair, 1})[0]);
}

// Asked twice: once may be chance.
bool Survey::has_changed(Spot spot, double hop, std::vector<double>* shifts) {
  const double now = hop_now(spot);
  if (shifts && hop > 0) shifts->push_back(now / hop);
  return apart(now, hop) > kLargestDrift && apart(hop_now(spot), hop) > kLargestDrift;
}

// False: has been done often enough.
bool Survey::start_again(uint32_t base) {
  if (restarts_[base] == kRestarts) {
    unsteady_[base] = true;
    return false;
  }
  ++restarts_[base];
  for (const PairClass& one : strata_.classes)
    for (Spot spot : one.pairs)
      if (one.base == base && samples_.find(spot)) {
        samples_.forget(spot);
        ++forgotten_;
      }
  return true;
}

// Pairs whose own batches agree; of a class that has none, none.
void Survey::choose_canaries(const std::vector<Spot>& wanted) {
  for (uint32_t base = 0; base < kBaseClasses; ++base) {
    uint32_t found = 0;
    int attempts = 0;
    for (Spot spot : wanted) {
      if (base_of(spot) != base) continue;
      if (found == kCanariesPerBase || attempts++ == kCanaryAttempts) break;
      stop_in_time();
      const CpuPair pair = cpus(spot);
      const std::vector<double> hops = meter_.measure_hops({&pair, 1})[0];
      if (relative_iqr(hops) > kLargestPairSpread) continue;
      canaries_.push_back({spot, median(hops)});
      ++found;
    }
  }
}

// False: something has to be measured again.
bool Survey::canaries_agree() {
  since_canaries_ = 0;
  std::vector<double> now, shifts;
  std::array<bool, kBaseClasses> changed{};
  for (const Canary& canary : canaries_) {
    double hop = hop_now(canary.spot);
    if (apart(hop, canary.hop) > kLargestDrift) hop = hop_now(canary.spot);  // once may be chance
    now.push_back(hop);
    shifts.push_back(canary.hop > 0 ? hop / canary.hop : 1);
    if (apart(hop, canary.hop) > kLargestDrift) changed[base_of(canary.spot)] = true;
  }
  if (canaries_.size() >= kEnoughCanaries && apart(median(shifts), 1) > kLargestShift) changed.fill(true);
  for (size_t i = 0; i < canaries_.size(); ++i)
    if (changed[base_of(canaries_[i].spot)]) canaries_[i].hop = now[i];
  bool agree = true;
  for (uint32_t base = 0; base < kBaseClasses; ++base)
    if (changed[base] && start_again(base)) agree = false;
  return agree;
}

// Compares with a fresh ping-pong. False: has been measured again, and if that does not agree either, it is unsteady.
bool Survey::holds(Spot spot, std::vector<double>* shifts) {
  if (!has_changed(spot, samples_.find(spot)->hop, shifts)) return true;
  measure_together({spot}, samples_.find(spot)->full);
  Sample again = *samples_.find(spot);
  if (has_changed(spot, again.hop)) {
    again.steady = false;
    samples_.put(spot, again);
  }
  return false;
}

// 4. False: some samples are new or gone, stratify again.
bool Survey::classes_agree(bool last) {
  bool agree = true;
  std::vector<double> shifts;
  for (const PairClass& one : strata_.classes) {
    std::vector<Spot> spots = samples_.usable(one.pairs);
    std::erase_if(spots, [&](Spot spot) {
      return !samples_.find(spot)->steady || std::any_of(canaries_.begin(), canaries_.end(), [&](const Canary& each) {
        return each.spot == spot && apart(each.hop, samples_.find(spot)->hop) <= kLargestDrift;  // just compared
      });
    });
    std::stable_sort(spots.begin(), spots.end(),
                     [&](Spot x, Spot y) { return samples_.find(x)->hop < samples_.find(y)->hop; });
    int wrong = 0;
    const auto right = [&](Spot spot) {
      const bool it_is = holds(spot, &shifts);
      wrong += !it_is;
      return it_is;
    };
    size_t low = 0, high = spots.size();
    while (low < high && wrong < kMostWrong && !right(spots[high - 1])) --high;
    while (low + 1 < high && wrong < kMostWrong && !right(spots[low])) ++low;
    const size_t between = high > low + 2 ? 1 + (high - low) / kCheckedShare : 0;
    for (size_t k = 0; k < between && wrong < kMostWrong; ++k)
      right(spots[low + (2 * k + 1) * (high - low) / (2 * between)]);
    if (wrong == 0) continue;
    agree = false;
    if (last)
      unsteady_[one.base] = true;
    else if (wrong == kMostWrong || static_cast<size_t>(wrong) * 2 > spots.size())
      start_again(one.base);
  }
  // Pairs that were measured together, and are faster alone throughout, were disturbed by their company.
  if (company_.most > 1 && shifts.size() >= kEnoughShifts && median(shifts) < 1 - kLargestCompanyShift) {
    company_ = {};
    agree = false;
    for (uint32_t base = 0; base < kBaseClasses; ++base) {
      if (last)
        unsteady_[base] = true;
      else
        start_again(base);
    }
  }
  return agree || last;
}

void Survey::measure_together(const std::vector<Spot>& batch, bool full) {
  std::vector<CpuPair> pairs;
  for (Spot spot : batch) pairs.push_back(cpus(spot));
  const auto measured = [&](std::span<const CpuPair> some) {
    if (full) return meter_.measure(some);
    std::vector<PairCost> costs;
    for (std::vector<double>& hops : meter_.measure_hops(some)) costs.emplace_back().hops = std::move(hops);
    return costs;
  };
  std::vector<PairCost> costs = measured(pairs);
  at_once_ = std::max(at_once_, static_cast<uint32_t>(batch.size()));
  for (size_t i = 0; i < batch.size(); ++i) {
    PairCost& cost = costs[i];
    for (int attempt = 1; attempt < kAttempts && !is_steady(cost) && !time_is_over(); ++attempt) {
      PairCost again = std::move(measured({&pairs[i], 1})[0]);
      if (unsteadiness(again) < unsteadiness(cost)) cost = std::move(again);
    }
    samples_.put(batch[i], sample_of(cost, full));
    ++done_;
    ++since_canaries_;
  }
}

void Survey::measure(std::vector<Spot> pending, bool full) {
  std::shuffle(pending.begin(), pending.end(), std::mt19937(1));
  if (canaries_.empty()) choose_canaries(pending);
  if (!company_known_ && options_.most_at_once > 1 && pending.size() >= kWorthCompany) {
    company_ = find_company(pending, pus_, options_.most_at_once, [&](const std::vector<Spot>& spots) {
      stop_in_time();
      std::vector<CpuPair> pairs;
      for (Spot spot : spots) pairs.push_back(cpus(spot));
      std::vector<double> hops;
      for (const std::vector<double>& batches : meter_.measure_hops(pairs)) hops.push_back(median(batches));
      return hops;
    });
    company_known_ = true;
  }
  const double begin_s = meter_.seconds();
  const size_t all = pending.size();
  const size_t every = std::clamp(all / 2, kCanariesEvery[0], kCanariesEvery[1]);
  while (!pending.empty()) {
    stop_in_time();
    measure_together(company_.take(pending, pus_), full);
    if (options_.progress) {
      const double each = (meter_.seconds() - begin_s) / static_cast<double>(all - pending.size());
      options_.progress(done_, done_ + static_cast<uint32_t>(pending.size()),
                        each * static_cast<double>(pending.size()));
    }
    if (since_canaries_ >= every && !pending.empty()) canaries_agree();
  }
  if (since_canaries_ >= kCanariesEvery[0]) canaries_agree();
}

void Survey::run() {
  try {
    for (int checks = 0;;) {
      strata_ = stratify(pus_, samples_, all_pairs_);
      if (strata_.done() && canaries_agree() && classes_agree(++checks == kFinalChecks)) return;
      measure(strata_.wanted, true);
      measure(strata_.wanted_hops, false);
    }
  } catch (const TimeIsOver&) {
    ended_early_ = true;
    strata_ = stratify(pus_, samples_, all_pairs_);  // the classes as they are known by now
  }
}

bool Survey::unsteady(const PairClass& one) const {
  size_t steady = 0, all = 0;
  for (Spot spot : one.pairs)
    if (const Sample* sample = samples_.find(spot)) {
      ++all;
      steady += sample->steady;
    }
  return unsteady_[one.base] || 2 * steady < all;
}

std::vector<std::string> Survey::remarks() const {
  std::vector<std::string> remarks;
  if (forgotten_ > 0)
    remarks.push_back(
        fmt::format("the machine changed while it was measured (placement, frequency or load): {} pairs "
                    "were measured again",
                    forgotten_));
  std::vector<uint32_t> own(pus_.size()), bad(pus_.size());
  std::vector<Spot> unsteady;
  for (const PairClass& one : strata_.classes)
    for (Spot spot : one.pairs)
      if (const Sample* sample = samples_.find(spot))
        for (uint32_t cpu : {spot.a, spot.b}) {
          ++own[cpu];
          bad[cpu] += !sample->steady;
          if (!sample->steady && cpu == spot.a) unsteady.push_back(spot);
        }
  const auto blamed = [&](uint32_t cpu) { return bad[cpu] >= 2 && 2 * bad[cpu] > own[cpu]; };
  for (uint32_t cpu = 0; cpu < pus_.size(); ++cpu)
    if (blamed(cpu))
      remarks.push_back(
          fmt::format("CPU {}: {} of its {} pairs did not come out alike when repeated; something else "
                      "seems to run on it",
                      pus_[cpu].os_index, bad[cpu], own[cpu]));
  std::erase_if(unsteady, [&](Spot spot) { return blamed(spot.a) || blamed(spot.b); });
  if (!unsteady.empty())
    remarks.push_back(fmt::format("{} pair{} did not come out alike when repeated (the first: CPUs {} and {})",
                                  unsteady.size(), unsteady.size() == 1 ? "" : "s", pus_[unsteady[0].a].os_index,
                                  pus_[unsteady[0].b].os_index));
  return remarks;
}

}  // namespace smelt
