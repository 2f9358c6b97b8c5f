// From whom does a thread without work steal first? From its neighbours, in the order of the cost of a message there
// and back: a theft brings over the victim's line and then the work itself, and both come the cheaper the nearer.
//
// Threads that are equally far would all go for the same one, so those of about the same cost are taken in turn from
// the thief's own number on: every thief begins with another. On 2 packages of 2 caches of 2 CPUs each:
//
//   thief 0:   1 | 2 3 | 4 5 6 7            thief 5:   4 | 6 7 | 0 1 2 3
//   thief 3:   2 | 0 1 | 4 5 6 7            thief 6:   7 | 4 5 | 0 1 2 3
//
// and on one cache of 4 CPUs: 1 2 3, 2 3 0, 3 0 1, 0 1 2.
//
// Stealing from the nearest first: Min, Iancu and Yelick, "Hierarchical Work Stealing on Manycore Clusters", PGAS 2011.
#pragma once

#include <cstdint>
#include <span>

#include "model/cost_model.h"

namespace smelt::openmp {

// All thieves' orders, behind it, one after the other: thief i's is [i * (threads - 1), (i + 1) * (threads - 1)).
// Written where a team's barrier is built, and only read while its threads are at work.
struct Victims {
  uint64_t bytes;  // of the mapping
  uint32_t threads;
  uint16_t* order() { return reinterpret_cast<uint16_t*>(this + 1); }
  const uint16_t* order() const { return reinterpret_cast<const uint16_t*>(this + 1); }
};

// The order for each of threads 0, 1, ... on CPUs `members` (indices into `machine`, different ones). It lies in pages
// of its own; nullptr: no memory. free_victims() takes nullptr, too.
Victims* order_victims(const Costs& machine, std::span<const uint16_t> members);
void free_victims(Victims* victims);

// The i-th victim of thread `me`, 0 <= i < threads - 1. If there is no order for so many threads, these are its
// successors.
inline uint32_t victim_of(const Victims* victims, uint32_t me, uint32_t threads, uint32_t i) {
  if (victims && victims->threads == threads) return victims->order()[uint64_t{me} * (threads - 1) + i];
  const uint32_t next = me + 1 + i;
  return next < threads ? next : next - threads;
}

}  // namespace smelt::openmp
