// The changes from one profile to another: of one machine at two times, or of two machines of a fleet.
#pragma once

#include <iterator>
#include <string>
#include <vector>

#include "model/distance.h"
#include "profile/text/image.h"

namespace smelt {

// The ordered pairs of one class of distance, or of all.
struct HopChange {
  uint32_t pairs = 0;
  double a = 0, b = 0;  // median hops
  // For each of kMatrices the median of the pairs' b / a: 2 = twice as slow in b; 0: no pair has both.
  double ratio[std::size(kMatrices)] = {};
};

struct ClassChange {
  Distance distance;
  HopChange change;
};

// The change concerns one operation on one set of CPUs. A pattern that only one of them has: the other's is "".
struct WinnerChange {
  std::string operation;
  std::vector<uint32_t> cpus;  // the kernel's numbers, ascending
  std::string a, b;
};

struct ProfileChange {
  std::vector<uint32_t> common, only_a, only_b;  // CPUs, the kernel's numbers
  HopChange overall;
  std::vector<ClassChange> classes;             // that occur among the common CPUs as a has them, nearest first
  uint32_t beyond = 0;                          // ordered pairs whose hops differ by more than kLargeChange, either way
  uint32_t farthest_from = 0, farthest_to = 0;  // the pair that changed most, and
  double farthest = 0;                          // its b / a; 0: there is no pair
  std::vector<WinnerChange> winners;            // that differ
};
inline constexpr double kLargeChange = 0.3;

// CPUs are matched by the kernel's numbers; without a `common` one there is nothing else to tell. Throws UserError:
// costs in different units.
ProfileChange compare_profiles(const ProfileImage& a, const ProfileImage& b);

}  // namespace smelt
