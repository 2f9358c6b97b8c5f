#include "measure/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/os/os.h"
#include "discover/conditions.h"
#include "discover/cpu_load.h"
#include "discover/machine.h"
#include "measure/calibrate.h"
#include "measure/fans.h"
#include "measure/finalists.h"
#include "measure/methods.h"
#include "measure/other_figures.h"
#include "profile/text/error.h"
#include "profile/text/rows.h"

namespace smelt {
namespace {

constexpr double kPairsShare = 0.7;  // of the time there is

double now_s() { return static_cast<double>(os::now_ns()) * 1e-9; }

// How long all of it should take, and how long it may. On a busy machine each step waits for CPUs that others have, so
// the estimate, which is for an idle one, says little there; the limit holds everywhere, to within one step.
struct TimeBudget {
  double begin = now_s();
  double foreseen = 0, limit = 0;

  double spent() const { return now_s() - begin; }
  double left() const { return std::max(limit - spent(), 0.0); }
  int64_t until_ns() const { return static_cast<int64_t>((begin + limit) * 1e9); }
};

TimeBudget budget_time(const CalibrationRequest& request, const Machine& machine) {
  constexpr double kSetsOfMethods = 0.6, kOthersBase = 0.3, kOthersByDistance = 0.25;  // s
  constexpr double kSlack = 10, kTimes = 4;
  TimeBudget time;
  CalibrationOptions options;
  options.all_pairs = request.all_pairs;
  const ProfileImage guess = guess_image(machine);
  time.foreseen = estimate_seconds(machine, options) + kOthersBase +
                  kOthersByDistance * static_cast<double>(fan_cpus(guess).size()) + request.race_seconds;
  if (request.methods) time.foreseen += kSetsOfMethods * static_cast<double>(method_cpus(guess).size());
  time.limit = request.limit_seconds > 0 ? request.limit_seconds : kSlack + kTimes * time.foreseen;
  return time;
}

class Stages {
 public:
  Stages(const CalibrationRequest& request, const Machine& machine)
      : request_(request), machine_(machine), time_(budget_time(request, machine)) {}

  NewProfile run() {
    NewProfile found = measure();
    if (is_worth_another(found)) {
      tell(fmt::format("measured {}; the machine is quiet now, so all is measured once more",
                       conditions_text(found.image.header)));
      NewProfile again = measure();
      if (marks_of(again) < marks_of(found)) found = std::move(again);
    }
    begin(CalibrationStage::kWriting);
    found.written = write_profile(found.image, request_.path, request_.shared);
    return found;
  }

 private:
  static int marks_of(const NewProfile& one) { return std::popcount(one.image.header.conditions); }

  void tell(const std::string& line) const {
    if (request_.tell) request_.tell(line);
  }

  void progress(uint32_t done, uint32_t total, double stage_left = -1) const {
    if (request_.progress)
      request_.progress({stage_, done, total, stage_left, time_.spent(), time_.foreseen, time_.limit});
  }

  void begin(CalibrationStage stage) {
    stage_ = stage;
    progress(0, 0);
  }

  bool is_worth_another(const NewProfile& found) const {
    return marks_of(found) > 0 && time_.left() >= time_.foreseen && !any_warning(load_conditions(this_system()));
  }

  NewProfile measure() {
    const std::vector<Finding> before = calibration_findings();  // before our own threads are the load
    const LoadWatch watch(this_system());
    NewProfile found;
    measure_pairs(&found);
    for (const Finding& bad : before)
      found.remarks.push_back(fmt::format("{}: {}: {}; {}", bad.what, bad.found, bad.why, bad.advice));
    if (request_.methods) measure_groups(&found);
    measure_parameters(&found);
    if (request_.race_seconds > 0) race_patterns(&found);
    found.seconds = time_.spent();
    found.ended_early |= time_.left() <= 0;
    if (found.ended_early)
      found.remarks.push_back(fmt::format(
          "it took {} where about {} were foreseen, and ended at its limit with what it had; calibrate again when the "
          "machine is quiet, or give it --limit",
          duration_text(found.seconds), duration_text(time_.foreseen)));
    mark_conditions(watch.in_time(), &found);
    return found;
  }

  void measure_pairs(NewProfile* found) {
    begin(CalibrationStage::kPairs);
    CalibrationOptions options;
    options.all_pairs = request_.all_pairs;
    options.progress = [this](uint32_t done, uint32_t total, double left) { progress(done, total, left); };
    options.seconds = std::max(time_.left() * kPairsShare, 1e-3);  // 0 would be no limit
    Calibration pairs = calibrate(machine_, *hardware_meter(), options);
    found->image = std::move(pairs.image);
    found->remarks = std::move(pairs.remarks);
    found->ended_early = pairs.ended_early;
  }

  void measure_groups(NewProfile* found) {
    begin(CalibrationStage::kGroups);
    MethodEffort effort;
    effort.until_ns = time_.until_ns();
    MeasuredMethods methods = measure_methods(found->image, counts(), effort);
    found->image.curves = std::move(methods.sets);
    if (!methods.remark.empty()) found->remarks.push_back(methods.remark);
  }

  void measure_parameters(NewProfile* found) {
    begin(CalibrationStage::kParameters);
    OtherEffort effort;
    effort.until_ns = time_.until_ns();
    // For children that would wait for ever; their own look at the clock comes first.
    constexpr double kGrace = 3;
    effort.copies.limit_s = std::min(effort.copies.limit_s, static_cast<unsigned>(std::ceil(time_.left() + kGrace)));
    const std::string remark = measure_other_figures(found->image, counts(), effort);
    if (!remark.empty()) found->remarks.push_back(remark);
  }

  void race_patterns(NewProfile* found) {
    begin(CalibrationStage::kRaces);
    for (std::string& remark :
         time_all_finalists(found->image, std::min(request_.race_seconds, time_.left()), counts(), time_.until_ns()))
      found->remarks.push_back(std::move(remark));
  }

  Progress counts() const {
    return [this](uint32_t done, uint32_t total) { progress(done, total); };
  }

  // Writes the conditions into the profile, for good.
  static void mark_conditions(const LoadSeen& seen, NewProfile* found) {
    constexpr double kOthers = 0.2, kStolen = 0.02, kSpread = 0.3;
    PackedHeader& header = found->image.header;
    const auto& classes = found->image.classes;
    const bool unsteady =
        header.spread > kSpread ||
        std::any_of(classes.begin(), classes.end(), [](const ClassFigures& c) { return c.marks & kMarkUnsteady; });
    header.others = static_cast<float>(seen.others_cpus);
    const auto mark = [&header](ConditionMark one, bool so) { header.conditions |= so ? one : 0u; };
    header.conditions = 0;
    mark(kBesideOthers, seen.others_cpus >= kOthers);
    mark(kTimeStolen, seen.stolen >= kStolen);
    mark(kThrottled, seen.throttled > 0);
    mark(kUnsteady, unsteady);
    mark(kEndedEarly, found->ended_early);
    if (header.conditions)
      found->remarks.push_back(
          fmt::format("measured {}; calibrate again when the machine is quiet", conditions_text(header)));
  }

  const CalibrationRequest& request_;
  const Machine& machine_;
  const TimeBudget time_;
  CalibrationStage stage_ = CalibrationStage::kPairs;
};

}  // namespace

NewProfile calibrate_this_machine(const CalibrationRequest& request) {
  const Machine machine = discover_machine();
  if (!machine.this_machine)
    throw UserError("only the machine we run on can be measured; unset HWLOC_XMLFILE and HWLOC_SYNTHETIC");
  prepare_profile_place(request.path, request.shared);
  return Stages(request, machine).run();
}

}  // namespace smelt
