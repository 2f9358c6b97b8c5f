// Counts a tree that nobody can cut in equal parts beforehand: how many children a node has is a hash of its place, and
// some subtrees are hundreds of times larger than others. After UTS, the Unbalanced Tree Search benchmark (Olivier et
// al., LCPC 2006), whose geometric and binomial trees these are in kind; the hash is another.
//
//   unbalanced_tree [ROOT'S CHILDREN] [ROUNDS]
//
// A task for each node. The same tree is counted with parents that wait for their children and add them up, and by
// tasks that nobody waits for. Nodes, leaves and depth must be what a serial walk finds.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <vector>

#include "program.h"

namespace {

struct Sum {
  long nodes = 0, leaves = 0, depth = 0;
  void add(const Sum& other) {
    nodes += other.nodes;
    leaves += other.leaves;
    depth = std::max(depth, other.depth);
  }
  bool operator==(const Sum&) const = default;
};

struct Node {
  uint64_t hash;
  long depth;
};

long root_children;

// Binomial below the root, of almost one child in the mean; geometric for every other round.
int children_of(const Node& node, bool geometric) {
  if (node.depth == 0) return static_cast<int>(root_children);
  if (node.depth > 200) return 0;
  if (geometric) return node.depth < 8 ? static_cast<int>(node.hash >> 8 & 3) : 0;
  return (node.hash >> 8) % 1000 < 120 ? 8 : 0;
}
Node child(const Node& node, int index) {
  return {random_number(node.hash ^ random_number(static_cast<uint64_t>(index))), node.depth + 1};
}

Sum in_serial(const Node& root, bool geometric) {
  Sum sum;
  std::vector<Node> open{root};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    const int children = children_of(node, geometric);
    sum.add({1, children == 0, node.depth});
    for (int i = 0; i < children; ++i) open.push_back(child(node, i));
  }
  return sum;
}

Sum waiting(const Node node, bool geometric) {
  const int children = children_of(node, geometric);
  Sum sum{1, children == 0, node.depth};
  std::vector<Sum> found(static_cast<size_t>(children));
  for (int i = 0; i < children; ++i) {
    Sum* const here = &found[static_cast<size_t>(i)];
    const Node next = child(node, i);
#pragma omp task firstprivate(here, next, geometric) untied
    *here = waiting(next, geometric);
  }
#pragma omp taskwait
  for (const Sum& one : found) sum.add(one);
  return sum;
}

struct Shared {
  std::atomic<long> nodes{0}, leaves{0}, depth{0};
};

void running_away(const Node node, bool geometric, Shared& sum) {
  const int children = children_of(node, geometric);
  ++sum.nodes;
  sum.leaves += children == 0;
  for (long before = sum.depth; before < node.depth && !sum.depth.compare_exchange_weak(before, node.depth);) {
  }
  for (int i = 0; i < children; ++i) {
    const Node next = child(node, i);
#pragma omp task firstprivate(next, geometric) shared(sum)
    running_away(next, geometric, sum);
  }
}

}  // namespace

int main(int argc, char** argv) {
  root_children = size_argument(argc, argv, 1, 100, 1, 100000);
  const long rounds = size_argument(argc, argv, 2, 4, 1, 100000);
  for (long round = 1; round <= rounds; ++round) {
    const bool geometric = round % 2 == 0;
    const Node root{random_number(static_cast<uint64_t>(round)), 0};
    const Sum expected = in_serial(root, geometric);
    Sum found;
    Shared shared;
#pragma omp parallel
    {
#pragma omp single
      found = waiting(root, geometric);
#pragma omp single nowait
      running_away(root, geometric, shared);
#pragma omp barrier
      if (shared.nodes != expected.nodes) {
#pragma omp critical
        fail("nodes are missing at the barrier");
      }
    }
    if (found != expected) fail("another tree than in serial");
    if (Sum{shared.nodes, shared.leaves, shared.depth} != expected) fail("another tree than in serial, unwaited for");
    std::printf("round %ld: %ld nodes, %ld leaves, depth %ld\n", round, found.nodes, found.leaves, found.depth);
  }
}
