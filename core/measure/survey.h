// Measures the pairs that the sampler wants, and trusts nothing blindly: pairs are repeated, canaries are watched,
// figures that do not come out alike are measured again or remarked upon.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "measure/calibrate.h"
#include "measure/company.h"
#include "measure/sampler.h"

namespace smelt {

class Survey {
 public:
  // The allowed CPUs; the references must outlive the survey.
  Survey(const std::vector<Pu>& pus, Meter& meter, const CalibrationOptions& options);

  // It may be called once. Throws UserError.
  void run();

  const Samples& samples() const { return samples_; }
  const std::vector<PairClass>& classes() const { return strata_.classes; }
  bool unsteady(const PairClass& one) const;  // did not come out alike when repeated, more than once
  std::vector<std::string> remarks() const;
  uint32_t at_once() const { return at_once_; }
  bool ended_early() const { return ended_early_; }

 private:
  struct Canary {
    Spot spot;
    double hop;
  };

  CpuPair cpus(Spot spot) const;
  uint32_t base_of(Spot spot) const { return base_class(pus_[spot.a], pus_[spot.b]); }
  bool time_is_over() const;
  void stop_in_time() const;
  double hop_now(Spot spot);
  bool has_changed(Spot spot, double hop, std::vector<double>* shifts = nullptr);
  bool start_again(uint32_t base);
  void choose_canaries(const std::vector<Spot>& wanted);
  bool canaries_agree();
  bool holds(Spot spot, std::vector<double>* shifts = nullptr);
  bool classes_agree(bool last);
  void measure(std::vector<Spot> pending, bool full);
  void measure_together(const std::vector<Spot>& batch, bool full);

  const std::vector<Pu>& pus_;
  Meter& meter_;
  const CalibrationOptions& options_;
  const bool all_pairs_;
  Samples samples_;
  Strata strata_;
  std::vector<Canary> canaries_;
  std::array<int, kBaseClasses> restarts_{};
  std::array<bool, kBaseClasses> unsteady_{};
  Company company_;
  bool company_known_ = false;
  const double end_s_;  // by the meter's clock; 0: none
  bool ended_early_ = false;
  uint32_t at_once_ = 1;
  uint32_t done_ = 0;  // pairs measured, also again, also their hops alone
  uint32_t since_canaries_ = 0;
  uint32_t forgotten_ = 0;  // pairs measured again since something had changed
};

}  // namespace smelt
