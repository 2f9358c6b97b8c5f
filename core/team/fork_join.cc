#include "team/fork_join.h"

#include <new>

#include "base/os/os.h"
#include "base/seat.h"

namespace smelt {

size_t ForkJoin::bytes(uint32_t n) { return sizeof(ForkJoin) + n * (sizeof(Node) + sizeof(uint16_t)); }

ForkJoin* ForkJoin::create(const Tree& join, const Tree& fork, const WaitPolicy& policy, void* memory) {
  auto* made = new (memory) ForkJoin;
  made->n_ = fork.n;
  made->policy_ = policy;
  made->nodes_ = reinterpret_cast<Node*>(made + 1);
  auto* const children = reinterpret_cast<uint16_t*>(made->nodes_ + fork.n);
  made->children_ = children;
  uint32_t next = 0;
  for (uint32_t i = 0; i < fork.n; ++i) {
    Node* node = new (made->nodes_ + i) Node{};
    node->parent = fork.parent[i] == kNobody ? 0 : fork.parent[i];
    node->forks = fork.first[i] != kNobody;
    node->first_child = next;
    node->children = static_cast<uint16_t>(children_of(join, static_cast<uint16_t>(i), children + next));
    next += node->children;
  }
  return made;
}

bool ForkJoin::wait_long(Flag flag, uint32_t me, uint64_t epoch, const std::atomic<uint64_t>* stop, bool asleep) {
  const uint32_t cpu = os::current_cpu() + 1;
  for (Bell* own : {&nodes_[me].release.bell, &nodes_[me].arrival.bell}) place::note(own->cpu, cpu);
  if (!asleep) return wait_slowly(flag, epoch, stop, policy_);
  WaitPolicy sleep = policy_;
  sleep.spin_ns = sleep.yield_ns = 0;
  return wait_slowly(flag, epoch, stop, sleep);
}

void ForkJoin::wake_all() {
  for (uint32_t i = 0; i < n_; ++i) {
    for (Bell* bell : {&nodes_[i].release.bell, &nodes_[i].arrival.bell})
      if (bell->sleepers.load(std::memory_order_relaxed) != 0) wake_sleepers(*bell);
  }
}

}  // namespace smelt
