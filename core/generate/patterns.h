// The pattern functions that registry.def names, and the common part of several.
#pragma once

#include <cerrno>
#include <cstdint>

#include "generate/exchange.h"
#include "generate/tree.h"

namespace smelt {

// Trees: registry.h has the contract (TreeFunction).
int sequential_tree(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out);
int binary_tree(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out);
int fibonacci_tree(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out);
int binomial_tree(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out);
int knomial_tree(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out);
int mst_tree(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out);
int cluster_tree(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out);
int bad_tree(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out);
int adaptive_tree(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out);
int optimised_tree(const Costs& costs, uint32_t arg, int root, Arena& arena,
                   Tree* out);  // for broadcasts; see optimised.h
int adaptive_sorted_tree(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out);

// Their children poll lines that they share: the root's, or a leader's (line.cc).
int line_tree(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out);
int relay_tree(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out);
// The argument of both: who polls one line.
inline constexpr uint32_t kOneLine = 0, kCacheLines = 1, kPackageLines = 2;
// of[i]: the group of participant i, numbered by first appearance. Returns how many there are.
uint32_t number_line_groups(const Costs& costs, uint32_t level, uint16_t* of);

// Exchanges: registry.h has the contract (ExchangeFunction).
int pair_exchange(const Costs& costs, uint32_t arg, Arena& arena, Exchange* out);
int all_to_all(const Costs& costs, uint32_t arg, Arena& arena, Exchange* out);
int dissemination(const Costs& costs, uint32_t arg, Arena& arena, Exchange* out);
int hybrid_exchange(const Costs& costs, uint32_t arg, Arena& arena, Exchange* out);
int forest_exchange(const Costs& costs, uint32_t arg, Arena& arena, Exchange* out);
int hierarchical_exchange(const Costs& costs, uint32_t arg, Arena& arena, Exchange* out);
int spread_exchange(const Costs& costs, uint32_t arg, Arena& arena, Exchange* out);

// An edgeless tree under the root that was asked for, or under `own_choice` when that is -1. 0, -EINVAL, -ENOMEM.
inline int start_tree(uint32_t n, int root, uint16_t own_choice, Arena& arena, Tree* out) {
  if (root < -1 || root >= static_cast<int>(kMaxParticipants)) return -EINVAL;
  return make_tree(n, root < 0 ? own_choice : static_cast<uint16_t>(root), arena, out);
}

// Static trees are drawn over positions with the root at position 0. The participant there: participant = position, but
// the root and participant 0 have changed places.
inline uint16_t at_position(uint32_t position, uint16_t root) {
  if (position == 0) return root;
  return position == root ? uint16_t{0} : static_cast<uint16_t>(position);
}

// The messages with which `n` members inform each other in rounds of `width` targets each (dissemination.cc), from
// round `first_round` on. Writes to `out` unless that is null; returns how many messages there are.
// member == nullptr: the participants 0..n-1.
uint32_t disseminate(const uint16_t* member, uint32_t n, uint32_t width, uint32_t first_round, RoundMessage* out);
uint32_t dissemination_rounds(uint32_t n, uint32_t width);

}  // namespace smelt
