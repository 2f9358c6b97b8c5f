#include "measure/company.h"

#include <algorithm>

#include "profile/text/statistics.h"

namespace smelt {
namespace {

constexpr double kDisturbed = 1.07;     // the typical pair may get slower by this, against the faster of two alone
constexpr double kOneDisturbed = 1.15;  // and one in eight pairs, which noise may hit, by more than this

bool any_shared(Spot x, Spot y, const std::vector<Pu>& pus, bool share_llc) {
  for (uint32_t i : {x.a, x.b})
    for (uint32_t j : {y.a, y.b})
      if (i == j || (!share_llc && pus[i].llc == pus[j].llc)) return true;
  return false;
}

bool fits(Spot spot, const std::vector<Spot>& company, const std::vector<Pu>& pus, bool share_llc) {
  return std::none_of(company.begin(), company.end(),
                      [&](Spot other) { return any_shared(spot, other, pus, share_llc); });
}

// Where caches may be shared, those that share one come first: they are the ones to be afraid of.
std::vector<Spot> worst_company(const std::vector<Spot>& pairs, const std::vector<Pu>& pus, bool share_llc,
                                size_t most) {
  std::vector<Spot> company;
  for (const bool close : {true, false})
    for (Spot spot : pairs) {
      if (company.size() == most) return company;
      const bool shares = !fits(spot, company, pus, false);
      if (close && share_llc && !company.empty() && !shares) continue;
      if (fits(spot, company, pus, share_llc)) company.push_back(spot);
    }
  return company;
}

}  // namespace

std::vector<Spot> Company::take(std::vector<Spot>& pending, const std::vector<Pu>& pus) const {
  std::vector<Spot> batch, rest;
  for (Spot spot : pending) (batch.size() < most && fits(spot, batch, pus, share_llc) ? batch : rest).push_back(spot);
  pending = std::move(rest);
  return batch;
}

Company find_company(const std::vector<Spot>& pairs, const std::vector<Pu>& pus, uint32_t most,
                     const HopsTogether& hops) {
  for (; most > 1; most /= 2)
    for (const bool share_llc : {true, false}) {
      const std::vector<Spot> company = worst_company(pairs, pus, share_llc, most);
      if (company.size() < most) continue;
      // Alone before and after: if the machine changes meanwhile, nothing has been shown.
      std::vector<double> before, after, slower;
      for (Spot spot : company) before.push_back(hops({spot})[0]);
      const std::vector<double> together = hops(company);
      for (Spot spot : company) after.push_back(hops({spot})[0]);
      for (size_t i = 0; i < company.size(); ++i)
        slower.push_back(together[i] / std::max(std::min(before[i], after[i]), 1e-9));
      const auto hit = std::count_if(slower.begin(), slower.end(), [](double by) { return by > kOneDisturbed; });
      if (median(slower) <= kDisturbed && static_cast<size_t>(hit) * 8 <= company.size()) return {most, share_llc};
    }
  return {};
}

}  // namespace smelt
