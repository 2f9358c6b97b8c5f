// How many participants one of them can reach in a given time at most: the relaxation that bounds trees (bound.h).
//
// Participants are made anonymous: all that is kept of one is its group (the cores of a cache, say) and that
// it has a core, which it shares with some; and of two groups the least edge and the least busy time between them.
// Everything possible on the machine is possible here, so a value that is impossible here is impossible there.
// Counted backwards from the end, as in the postal model (Bar-Noy, Kipnis: Designing broadcasting algorithms in the
// postal model, SPAA 1992): let reach(K, s, j, k) be the most participants that a member of group K can tell with s
// of time left, if at most k others of its group are told without leaving the group, and at most j others of its
// core. It tells somebody first, or idles:
//
//   reach(K, s, j, k) = max of
//     reach(K, s - 1, j, k)
//     1 + reach(L, s - edge(K,L), all, all) + reach(K, s - busy(K,L), j, k)                    another group L
//     1 + reach(K, s - edge(K,K), all, i)   + reach(K, s - busy(K,K), j, k - 1 - i)            another core (i < k)
//     1 + reach(K, s - edge(core), h, i)    + reach(K, s - busy(core), j - 1 - h, k - 1 - i)   its core, h < j
//
// The least s for which the root reaches everybody is a bound. Sizes are kept for each entry into a group, not over
// several entries into one group: that is the relaxation that makes it cheap. Over k each row is replaced by its
// concave hull (from above, so it stays a bound), and the best split i of two concave rows is a merge of their
// slopes.
//
// Time is counted in whole ticks, every cost rounded down: a sum of those is not above the rounded-down sum. The
// range of ticks is fitted until the answer lies in its upper part.
#pragma once

#include <algorithm>
#include <cmath>

#include "generate/levels.h"
#include "generate/search_limits.h"

namespace smelt {

class Growth {
 public:
  explicit Growth(const SearchLimits& limits) : limits_(limits) {}

  // `root` -1: any. `cores` is finer than `groups`. `allowed` is the work of a reckoning. False when the arena is used
  // up.
  bool make(const TreeProblem& problem, int root, const Grouping& cores, const Grouping& groups, double allowed,
            Arena& arena);

  float& weight(uint32_t group) { return weight_[group]; }  // of each of its participants; to be set before bound()

  // The bound for a root in one of those groups that `wanted` lets through (all the same when the root is given), in
  // ticks of range / ticks_; `range` itself when everybody is reached only later; 0 when the limits are exceeded before
  // that.
  template <typename Wanted>
  double bound(double range, Wanted wanted) {
    begin(range);
    const bool free_root = senders_ == count_;
    // Rows are floats, sums of at most two for each tick: their relative errors stay below this.
    const double enough = all_ * (1 - 2 * ticks_ * 1.2e-7);
    for (uint32_t s = 0; s < ticks_; ++s) {
      if (s % kTicksBetweenLooks == 0 && limits_.exceeded()) return 0;
      float most = 0;
      for (uint32_t k = 0; k < senders_; ++k) {
        if (size_[k] == 0) continue;
        fill(k, s);
        if (free_root ? wanted(k) : k == count_) most = std::max(most, told(k, s));
      }
      if (most >= enough) return s * tick_;
    }
    return range;
  }

  // For any root: lowers most[i], i = 0 .. count, to the most that one can have reached by the time range * i / count,
  // itself included. False when the limits are exceeded before that; then some may be lowered already, to what holds.
  bool lower_curve(double range, uint32_t count, float* most);

 private:
  struct Cost {
    double edge, busy;
    uint32_t edge_ticks, busy_ticks;
  };
  static constexpr uint32_t kNever = ~0u;
  static constexpr uint32_t kTicksBetweenLooks = 64;  // at the limits

  bool allocate(uint32_t n, Arena& arena);
  // The least edge and the least busy time between groups, within a group and within a core; and how large these are.
  bool find_costs(const TreeProblem& problem, int root, const Grouping& cores, const Grouping& groups, Arena& arena);
  // A row for each sender and tick, with as many ticks as the work and the room that are left allow.
  bool lay_out_rows(double allowed, Arena& arena);
  void begin(double range);  // counts all costs in ticks of range / ticks_
  uint32_t whole_ticks(double cost) const {
    const double whole = cost / tick_ * (1 - 1e-9);
    return whole > ticks_ ? kNever : static_cast<uint32_t>(whole);
  }
  void count_ticks(Cost& cost) const {
    cost.edge_ticks = whole_ticks(cost.edge);
    cost.busy_ticks = whole_ticks(cost.busy);
  }

  float* row(uint32_t k, uint32_t s, uint32_t j) { return rows_ + size_t{s} * width_ + row_at_[k] + j * size_[k]; }
  // One of group k that is told from outside with s left, and all it reaches.
  float told(uint32_t k, uint32_t s) { return weight_[k] + row(k, s, per_core_[k] - 1)[size_[k] - 1]; }
  // The rows of sender k with s left. Telling nobody now is as good as s - 1; else another group comes first, or one's
  // own.
  void fill(uint32_t k, uint32_t s);
  // Groups with the same busy time at once: only the best of them counts. False: one can tell as many as one likes in
  // no time.
  bool tell_other_groups(uint32_t k, uint32_t s, float* first, uint32_t cells);
  // Somebody on another core of one's group, or on one's own core.
  void tell_own_group(uint32_t k, uint32_t s);
  // now[j] = max(now[j], weight + the best split of j - 1 others between the one told and the teller).
  static void add_local(float* now, uint32_t width, const float* told, uint32_t told_width, const float* rest,
                        float weight);
  void hull(float* now, uint32_t width);

  const SearchLimits limits_;
  uint32_t count_ = 0;            // groups
  uint32_t senders_ = 0;          // groups, and the root if it is given: the last
  uint32_t home_ = 0;             // the root's group
  uint32_t width_ = 0;            // of all rows of one tick
  uint32_t ticks_ = 0;            // rows that there is room for
  double tick_ = 0;               // length of one, in the costs' unit
  float all_ = 0;                 // sum of the weights
  uint32_t* size_ = nullptr;      // [senders] without the root, but in its own place
  uint32_t* per_core_ = nullptr;  // [senders] the most of one core
  uint32_t* row_at_ = nullptr;    // [senders]
  float* weight_ = nullptr;       // [senders]
  Cost* cost_ = nullptr;          // [senders * count]
  Cost* core_cost_ = nullptr;     // [senders]
  uint16_t* by_busy_ = nullptr;   // [senders * count] groups by busy time
  uint16_t* hull_ = nullptr;      // [n + 1]
  float* rows_ = nullptr;         // [ticks][width]
};

}  // namespace smelt
