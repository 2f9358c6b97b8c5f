#include "measure/other_figures.h"

#include <fmt/format.h>

#include "base/os/os.h"
#include "measure/copy_race.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

// The sleeper and the waker: the nearest two of different cores, else any two. False: there is one CPU.
bool waiting_pair(const ProfileImage& image, uint32_t* a, uint32_t* b) {
  const uint32_t n = image.n();
  if (n < 2) return false;
  const auto hop = [&](uint32_t x, uint32_t y) { return image.hop[size_t{x} * n + y]; };
  *a = 0, *b = 1;
  bool cores = image.core[0] != image.core[1];
  for (uint32_t x = 0; x < n; ++x)
    for (uint32_t y = x + 1; y < n; ++y) {
      if (image.core[x] == image.core[y] || (cores && hop(x, y) >= hop(*a, *b))) continue;
      *a = x, *b = y;
      cores = true;
    }
  return true;
}

WaitFigures waiting_of(const ProfileImage& image, const WaitEffort& effort) {
  uint32_t a = 0, b = 0;
  if (!waiting_pair(image, &a, &b)) return measure_waiting(static_cast<int>(image.os_cpu[0]), -1, 0, effort);
  return measure_waiting(static_cast<int>(image.os_cpu[a]), static_cast<int>(image.os_cpu[b]),
                         image.hop[size_t{a} * image.n() + b], effort);
}

}  // namespace

std::string measure_other_figures(ProfileImage& image, const Progress& progress, const OtherEffort& effort) {
  const std::vector<Fan> fans = fan_cpus(image);
  const std::vector<CopyPair> pairs = copy_cpus(image);
  const auto total = static_cast<uint32_t>(1 + fans.size() + pairs.size());
  uint32_t done = 0;
  std::string remark;
  const auto left_out = [&remark](const std::string& what, const std::string& why) {
    if (remark.empty()) remark = fmt::format("{} could not be measured: {}", what, why);
  };
  // Runs one part; its exception becomes the remark.
  const auto part = [&](const char* what, const auto& measure) {
    try {
      if (effort.until_ns != 0 && os::now_ns() >= effort.until_ns)
        left_out(what, "the time was over");
      else
        measure();
    } catch (const UserError& error) {
      left_out(what, error.what());
    }
    if (progress) progress(++done, total);
  };

  part("what waiting costs", [&] { image.wait = waiting_of(image, effort.wait); });
  image.fans.clear();
  for (const Fan& fan : fans) part("a fan", [&] { image.fans.push_back(measure_fan(fan, effort.fans)); });
  raise_by_fans(image);
  image.distances.clear();
  for (const CopyPair& pair : pairs)
    part("copying", [&] {
      DistanceCurves curves;
      const std::string why = measure_copies(pair, effort.copies, &curves);
      if (!why.empty()) return left_out(fmt::format("copying ({})", distance_name(pair.distance)), why);
      if (curves.single_copy[0] <= 0)
        left_out(
            "single copy",
            "this kernel does not let one process read another's memory (yama/ptrace_scope, or a container's filter)");
      // Within one CPU nothing changes its owner.
      if (pair.writer != pair.reader)
        if (const std::string lost = race_copies(pair, effort.copies.limit_s, &curves.copied_by); !lost.empty())
          left_out("how data are best copied", lost);
      image.distances.push_back(curves);
    });
  return remark;
}

}  // namespace smelt
