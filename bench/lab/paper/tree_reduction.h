// A reduction of vectors over a tree between threads, as HotPar'09 has it (Nishtala and Yelick, sections 2 and 3).
//
// One-sided: nobody sends data, a parent reads it where its child has left it. A thread copies its vector into a shelf
// of its own, adds to it what its children have on theirs as each says it is ready, and says so to its parent by a
// flag; the root's shelf is the result. Loose: the next reduction may begin as soon as a shelf is free, which the
// parent says by a second flag; with kShelves of them so many reductions are under way at once, as in a pipeline.
// Strict is the same with a barrier after each call, which is the caller's.
//
//        0        1, 2 and 4 are 0's children in a 2-nomial tree of 8: 0 reads their shelves, 2 reads 3's, 4 those of
//      / | \      5 and 6, 6 that of 7.
//     1  2  4
#pragma once

#include <smelt/tree.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "library/bench/peers.h"

namespace smelt::paper {

class TreeReduction {
 public:
  // The tree of `pattern` ("knomial:4"; "sequential" is flat) under participant 0, by smelt/tree.h, for threads on
  // these CPUs in turn; with more threads than CPUs they yield while they wait. Vectors of `words` doubles. Throws
  // UserError.
  TreeReduction(const std::string& pattern, uint32_t threads, const std::vector<uint32_t>& cpus, size_t words);

  // Thread's contribution to the next reduction: the sum of everybody's lies in `result` of thread 0, which may pass
  // it.
  void reduce(uint32_t thread, const double* in, double* result);

 private:
  static constexpr uint32_t kShelves = 4;

  struct alignas(kLineBytes) Place {
    uint32_t episodes = 0;  // that this thread has begun
    std::vector<unsigned> children;
    std::vector<double> shelves;  // [kShelves][words]
    bench::Flag ready;            // the owner: its subtree's sum of this episode is on the shelf
    bench::Flag taken;            // the parent: it has read the shelf of this episode
  };
  double* shelf(Place& place, uint32_t episode) { return &place.shelves[(episode % kShelves) * words_]; }

  const size_t words_;
  const bench::Spinner spinner_;
  std::vector<Place> places_;
};

}  // namespace smelt::paper
