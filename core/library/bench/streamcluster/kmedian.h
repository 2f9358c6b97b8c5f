// Online k-median: points come in chunks, each chunk is clustered by local search, and of it only the weighted medians
// are kept; at the end these are clustered in the same way. O'Callaghan, Mishra, Meyerson, Guha and Motwani,
// "Streaming-Data Algorithms for High-Quality Clustering", ICDE 2002 (after Guha, Mishra, Motwani and O'Callaghan,
// "Clustering Data Streams", FOCS 2000). It is the algorithm of PARSEC's streamcluster, with which Smelt's paper (OSDI
// 2016, section 5.5) measures barriers: thousands of short parallel phases with a barrier after each.
//
//   facility location   every open median costs z, every point its weight times the distance to its median. The right z
//                       for a wanted number of medians is found by halving an interval.
//   first solution      Meyerson's online algorithm: a point opens with probability cost / z, or joins the nearest.
//   local search        candidates in random order; gain(x) is what opening x saves: the points that are nearer to x
//                       change over, and every median whose remaining points may as well go to x is closed. x is opened
//                       if gain(x) > 0, until a whole turn through the candidates saves less than 1 %.
//
// The result is the same, bit by bit, for any number of threads and whatever barrier stands between the phases. Points
// are dealt in blocks of a fixed size; sums are taken in each block, and the blocks' sums are added in the blocks'
// order. Random numbers are drawn by every thread alike from a generator of its own. Which thread computes what changes
// nothing then, and a wrong barrier changes the digest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "streamcluster/points.h"

namespace smelt::bench {

struct Problem {
  uint64_t points = 0;
  uint32_t dimensions = 0;
  uint32_t chunk = 0;  // points clustered at a time
  uint32_t least_centers = 0, most_centers = 0;
  uint64_t seed = 0;
};

struct Clustering {
  uint64_t digest = 0;    // of the coordinates and weights of all centres, and the cost
  uint64_t barriers = 0;  // crossed by each thread
  uint64_t centers = 0;
  double cost = 0;  // of the medians kept of all chunks, to the centres
};

// The memory that all threads share. Each array has one writer at a time: the owner of the block, or thread 0 between
// two barriers.
struct Shared {
  Shared(const Problem& asked, uint32_t team);

  const Problem problem;
  const uint32_t threads;
  Points points;                     // this chunk's; at the end, the kept ones
  Points kept;                       // medians of all chunks
  Array<double> cost;                // [point] weight x distance to its median
  Array<double> to_candidate;        // [point] weight x distance to the candidate
  Array<uint32_t> slot_of;           // [point] its median's place in `medians`
  std::vector<uint32_t> medians;     // points
  std::vector<uint32_t> renumbered;  // [old slot] the new one
  // A row per block, of lines of its own. [0]: saved by points that change over. [1 + slot]: the saving of the other
  // points of this median, which is negative, if they had to.
  Array<double> rows;
  size_t row_length = 0;
  Array<double> column_sums;
  Array<double> block_costs;  // a line each
  size_t blocks = 0;
  Clustering result;

  void make_room(uint32_t n);                         // for so many points
  void hold(uint32_t slots);                          // room for so many medians
  void keep_medians(uint32_t n, Points& into) const;  // of the first n points, each with the weight of all its points
};

// How many points may open, of a chunk drawn by chance: enough that each cluster has some among them.
uint32_t candidates_for(uint32_t centers);

// One thread's part of it. Barrier has wait(thread).
template <typename Barrier>
class Worker {
 public:
  Worker(Shared& shared, Barrier& barrier, uint32_t thread)
      : s_(shared), barrier_(barrier), thread_(thread), random_(shared.problem.seed) {}

  // Clusters the whole stream. The result is in Shared when thread 0 returns.
  void run() {
    const Problem& problem = s_.problem;
    for (uint64_t first = 0; first < problem.points; first += problem.chunk) {
      const auto n = static_cast<uint32_t>(std::min<uint64_t>(problem.chunk, problem.points - first));
      set_size(n);
      for_own_points([&](uint32_t i) { s_.points.make(i, first + i, problem.most_centers, problem.seed); });
      wait();
      cluster();
      if (thread_ == 0) s_.keep_medians(n_, s_.kept);
      wait();
    }
    if (thread_ == 0) s_.make_room(s_.kept.size());
    wait();
    set_size(s_.kept.size());
    for_own_points([&](uint32_t i) { s_.points.copy(i, s_.kept, i); });
    wait();
    cluster();
    const double cost = total_cost();
    if (thread_ == 0) {
      Points centers(problem.most_centers, problem.dimensions);
      s_.keep_medians(n_, centers);
      s_.result = {centers.digest(cost), barriers_, centers.size(), cost};
    }
  }

 private:
  void wait() {
    ++barriers_;
    barrier_.wait(thread_);
  }

  static uint32_t share(uint32_t whole, uint32_t part, uint32_t parts) {
    return static_cast<uint32_t>(uint64_t{whole} * part / parts);
  }

  void set_size(uint32_t n) {
    n_ = n;
    const uint32_t blocks = blocks_of(n);
    first_block_ = share(blocks, thread_, s_.threads);
    end_block_ = share(blocks, thread_ + 1, s_.threads);
  }

  template <typename Work>
  void for_own_points(Work work) {
    for (uint32_t i = first_block_ * kBlock; i < std::min(n_, end_block_ * kBlock); i++) work(i);
  }

  // The sum over all points of what every point's owner computes. The caller has passed a barrier since the last sum.
  template <typename Term>
  double sum(Term term) {
    for (uint32_t block = first_block_; block < end_block_; block++) {
      double in_block = 0;
      for (uint32_t i = block * kBlock; i < std::min(n_, (block + 1) * kBlock); i++) in_block += term(i);
      s_.block_costs[size_t{block} * kLineDoubles] = in_block;
    }
    wait();
    double whole = 0;
    for (uint32_t block = 0; block < blocks_of(n_); block++) whole += s_.block_costs[size_t{block} * kLineDoubles];
    return whole;
  }

  double total_cost() {
    wait();
    return sum([&](uint32_t i) { return s_.cost[i]; });
  }

  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  // Meyerson's first solution. Between two openings every thread looks for the next by itself.
  void open_first(double z) {
    if (thread_ == 0) s_.medians.clear();
    uint32_t opened = 0;
    for (uint32_t next = 0; next < n_;) {
      if (thread_ == 0) s_.medians.push_back(next);
      wait();  // nobody reads costs any more
      for_own_points([&](uint32_t i) {
        const double cost = s_.points.weighted_distance(i, next);
        if (opened > 0 && cost >= s_.cost[i]) return;
        s_.cost[i] = cost;
        s_.slot_of[i] = opened;
      });
      opened++;
      wait();
      for (++next; next < n_ && uniform() * z >= s_.cost[next];) ++next;
    }
    if (thread_ == 0) s_.hold(opened + 1);
    wait();
  }

  // Opens x if that saves anything, and returns what it saved.
  double try_candidate(uint32_t x, double z) {
    const auto slots = static_cast<uint32_t>(s_.medians.size());
    for (uint32_t block = first_block_; block < end_block_; block++) {
      double* const row = &s_.rows[block * s_.row_length];
      std::fill_n(row, 1 + slots, 0.0);
      for (uint32_t i = block * kBlock; i < std::min(n_, (block + 1) * kBlock); i++) {
        const double cost = s_.points.weighted_distance(i, x), saved = s_.cost[i] - cost;
        s_.to_candidate[i] = cost;
        row[saved > 0 ? 0 : 1 + s_.slot_of[i]] += saved;
      }
    }
    wait();
    for (uint32_t column = share(1 + slots, thread_, s_.threads); column < share(1 + slots, thread_ + 1, s_.threads);
         column++) {
      double whole = 0;
      for (uint32_t block = 0; block < blocks_of(n_); block++) whole += s_.rows[block * s_.row_length + column];
      s_.column_sums[column] = whole;
    }
    wait();
    uint32_t own = slots;  // x's slot: a new one, unless it is open already
    for (uint32_t slot = 0; slot < slots; slot++)
      if (s_.medians[slot] == x) own = slot;
    double gain = s_.column_sums[0] - (own == slots ? z : 0);
    for (uint32_t slot = 0; slot < slots; slot++)
      if (closes(slot, own, z)) gain += z + s_.column_sums[1 + slot];
    if (gain <= 0) return 0;

    wait();  // nobody reads the medians any more
    if (thread_ == 0) open(x, own, z);
    wait();
    const uint32_t new_slot = s_.renumbered[own];
    for_own_points([&](uint32_t i) {
      const uint32_t slot = s_.renumbered[s_.slot_of[i]];
      const bool moves = slot == kClosed || s_.to_candidate[i] < s_.cost[i];
      s_.slot_of[i] = moves ? new_slot : slot;
      if (moves) s_.cost[i] = s_.to_candidate[i];
    });
    return gain;
  }

  bool closes(uint32_t slot, uint32_t own, double z) const { return slot != own && z + s_.column_sums[1 + slot] > 0; }

  // Thread 0: the medians without those that close, and with x.
  void open(uint32_t x, uint32_t own, double z) {
    std::vector<uint32_t> open;
    s_.renumbered.resize(s_.medians.size() + 1);
    for (uint32_t slot = 0; slot < s_.medians.size(); slot++) {
      const bool stays = !closes(slot, own, z);
      s_.renumbered[slot] = stays ? static_cast<uint32_t>(open.size()) : kClosed;
      if (stays) open.push_back(s_.medians[slot]);
    }
    if (own == s_.medians.size()) {
      s_.renumbered[own] = static_cast<uint32_t>(open.size());
      open.push_back(x);
    }
    s_.medians = std::move(open);
    s_.hold(static_cast<uint32_t>(s_.medians.size()) + 1);
  }

  // Until a turn saves less than 1 %.
  void search(std::vector<uint32_t>& candidates, double z) {
    for (;;) {
      for (size_t left = candidates.size(); left > 1; left--)
        std::swap(candidates[left - 1], candidates[random_() % left]);
      double saved = 0;
      for (const uint32_t x : candidates) saved += try_candidate(x, z);
      if (saved <= 0.01 * (total_cost() + z * static_cast<double>(s_.medians.size()))) return;
    }
  }

  // The points of Shared: at its end every point has a median.
  void cluster() {
    const Problem& problem = s_.problem;
    if (n_ <= problem.most_centers) {  // as many medians as points
      if (thread_ == 0) s_.medians.clear();
      for (uint32_t i = 0; thread_ == 0 && i < n_; i++) s_.medians.push_back(i);
      for_own_points([&](uint32_t i) {
        s_.cost[i] = 0;
        s_.slot_of[i] = i;
      });
      return wait();
    }
    double low = 0, high = sum([&](uint32_t i) { return s_.points.weighted_distance(i, 0); });
    double z = high / 2;
    open_first(z);
    std::vector<uint32_t> candidates;
    const uint32_t wanted = std::min(n_, candidates_for(problem.most_centers));
    for (uint32_t i = 0; i < wanted; i++) candidates.push_back(static_cast<uint32_t>(random_() % n_));
    for (int halvings = 0; halvings < kMostHalvings; halvings++) {
      search(candidates, z);
      const size_t open = s_.medians.size();
      if (open >= problem.least_centers && open <= problem.most_centers) break;
      (open > problem.most_centers ? low : high) = z;
      z = (low + high) / 2;
    }
    wait();
  }

  static constexpr uint32_t kClosed = ~0u;
  static constexpr int kMostHalvings = 40;

  Shared& s_;
  Barrier& barrier_;
  const uint32_t thread_;
  std::mt19937_64 random_;
  uint64_t barriers_ = 0;
  uint32_t n_ = 0, first_block_ = 0, end_block_ = 0;
};

}  // namespace smelt::bench
