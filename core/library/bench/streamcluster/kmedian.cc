#include "streamcluster/kmedian.h"

#include <cmath>

namespace smelt::bench {

Shared::Shared(const Problem& asked, uint32_t team)
    : problem(asked), threads(team), kept(asked.most_centers, asked.dimensions) {
  make_room(asked.chunk);
}

void Shared::make_room(uint32_t n) {
  points = Points(n, problem.dimensions);
  cost = Array<double>(n);
  to_candidate = Array<double>(n);
  slot_of = Array<uint32_t>(n);
  block_costs = Array<double>(size_t{blocks_of(n)} * kLineDoubles);
  blocks = blocks_of(n);
  row_length = 0;
}

void Shared::hold(uint32_t slots) {
  if (row_length >= size_t{slots} + 1) return;
  row_length = (size_t{slots} + slots / 2 + 2 * kLineDoubles) / kLineDoubles * kLineDoubles;
  rows = Array<double>(blocks * row_length);
  column_sums = Array<double>(row_length);
}

void Shared::keep_medians(uint32_t n, Points& into) const {
  std::vector<double> weights(medians.size());
  // Whole numbers: exact in any order.
  for (uint32_t i = 0; i < n; i++) weights[slot_of[i]] += points.weight(i);
  for (size_t slot = 0; slot < medians.size(); slot++) into.append(points, medians[slot], weights[slot]);
}

uint32_t candidates_for(uint32_t centers) {
  return 3 * centers * (1 + static_cast<uint32_t>(std::log(static_cast<double>(centers))));
}

}  // namespace smelt::bench
