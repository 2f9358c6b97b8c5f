// Robust statistics, made for timings: an interrupt may multiply single samples by a thousand and must not show.
//
// Median and quartiles bear up to half, respectively a quarter, of arbitrarily wrong samples (their breakdown points:
// Hampel, "The Influence Curve and Its Role in Robust Estimation", 1974). Quartiles interpolate linearly between
// order statistics, type 7 of Hyndman & Fan, "Sample Quantiles in Statistical Packages", 1996. The midmean (mean of
// the middle half: Tukey, "Exploratory Data Analysis", 1977) bears a quarter as well, and because it averages, it
// resolves less than one tick of a coarse clock, which a median cannot.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace smelt {

// The p-quantile, 0 <= p <= 1, of values in any order; 0 for none.
inline double quantile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  const double place = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(std::floor(place));
  std::nth_element(values.begin(), values.begin() + below, values.end());
  const double low = values[static_cast<size_t>(below)];
  const double share = place - std::floor(place);
  if (share == 0) return low;
  return low + share * (*std::min_element(values.begin() + below + 1, values.end()) - low);
}

inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

// Mean of the samples between the quartiles.
inline double midmean(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t cut = values.size() / 4;
  return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(cut),
                         values.end() - static_cast<std::ptrdiff_t>(cut), 0.0) /
         static_cast<double>(values.size() - 2 * cut);
}

// Inter-quartile range over the median: how noisy, free of unit. 0 where the median is 0.
inline double relative_iqr(const std::vector<double>& values) {
  const double middle = median(values);
  return middle > 0 ? (quantile(values, 0.75) - quantile(values, 0.25)) / middle : 0;
}

// As profiles keep them: more decimals would be noise, and both forms of the profile must carry the same number.
inline float rounded_cost(double cost) { return static_cast<float>(std::round(cost * 100) / 100); }
inline float rounded_share(double share) { return static_cast<float>(std::round(share * 1000) / 1000); }

}  // namespace smelt
