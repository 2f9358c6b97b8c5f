#include "team/fork_join.h"

#include <new>

#include "base/os/os.h"
#include "base/seat.h"
#include "team/pages.h"

namespace smelt {

size_t ForkJoin::lines_begin(uint32_t n) { return rounded(sizeof(ForkJoin) + n * (sizeof(Place) + sizeof(Lines*))); }

size_t ForkJoin::bytes(uint32_t n, const uint16_t* node) {
  size_t bytes = lines_begin(n);
  for (uint32_t p = 0; p < n; ++p) bytes = lines_from(bytes, node, p) + sizeof(Lines);
  return bytes;
}

ForkJoin* ForkJoin::create(const Tree& join, const Tree& fork, const WaitPolicy& policy, void* memory,
                           const uint16_t* node) {
  const uint32_t n = fork.n;
  auto* made = new (memory) ForkJoin;
  made->n_ = n;
  made->policy_ = policy;
  Place* const places = made->places_ = reinterpret_cast<Place*>(made + 1);
  size_t at = lines_begin(n);
  for (uint32_t p = 0; p < n; ++p, at += sizeof(Lines)) {
    at = lines_from(at, node, p);
    places[p].own = reinterpret_cast<Lines*>(static_cast<char*>(memory) + at);  // they begin as zeros, as the memory is
  }
  auto** child = reinterpret_cast<Lines**>(places + n);
  for (uint32_t p = 0; p < n; ++p) {
    Place& place = places[p];
    place.parent = places[fork.parent[p] == kNobody ? 0 : fork.parent[p]].own;
    place.forks = fork.first[p] != kNobody;
    place.child = child;
    for (uint16_t c = join.first[p]; c != kNobody; c = join.next[c]) *child++ = places[c].own;
    place.children = static_cast<uint16_t>(child - place.child);
  }
  return made;
}

void ForkJoin::publish_cpu(uint32_t me) {
  Lines& own = *places_[me].own;
  const uint32_t cpu = os::current_cpu() + 1;
  for (Bell* bell : {&own.release.bell, &own.arrival.bell}) place::note(bell->cpu, cpu);
}

bool ForkJoin::wait_long(Flag flag, uint32_t me, uint64_t epoch, const std::atomic<uint64_t>* stop, bool asleep) {
  publish_cpu(me);
  if (!asleep) return wait_slowly(flag, epoch, stop, policy_);
  WaitPolicy sleep = policy_;
  sleep.spin_ns = sleep.yield_ns = 0;
  return wait_slowly(flag, epoch, stop, sleep);
}

void ForkJoin::wake_all() {
  for (uint32_t i = 0; i < n_; ++i) {
    for (Bell* bell : {&places_[i].own->release.bell, &places_[i].own->arrival.bell})
      if (bell->sleepers.load(std::memory_order_relaxed) != 0) wake_sleepers(*bell);
  }
}

}  // namespace smelt
