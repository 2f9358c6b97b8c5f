// An unbalanced tree, searched by many threads of two processes that steal from each other: UTS (Olivier et al., LCPC
// 2006) in the form that Dang, Snir and Gropp give it (EuroMPI 2016, section 4.3.4): threads that wait for messages in
// place of a process that polls for them.
//
//   explorers   each has a stack of nodes that are to be visited. One that is empty is filled from the stack of another
//               thread of the process, or else by asking the other process
//   a server    in each process, answers who asks: with half of somebody's stack, or with nothing
//
// It is over when as many nodes have been visited as were made. Nobody can look at both processes at once; but if as
// many had been visited, counted here and then there, as were made, counted after that, then all were (Mattern, 1987).
// A process that asks in vain is told both numbers.
//
// The tree is UTS's binomial one, with another generator of random numbers, so its sizes are not the published ones:
// the root has many children, any other node a fixed number with a chance that makes trees large and of all shapes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace smelt::tree_search {

struct Tree {
  uint32_t root_children = 2000, children = 8;
  double chance = 0.1249;
  uint32_t work = 20;  // rounds of the generator for each node: 20 take about what UTS's SHA-1 does
  uint64_t seed = 42;
};

using Node = uint64_t;  // all of it: the generator goes on from it

inline Node child_of(const Tree& tree, Node parent, uint32_t which) {
  uint64_t state = parent + (which + 1) * 0x9e3779b97f4a7c15;
  for (uint32_t i = 0; i < tree.work; ++i) {  // SplitMix64's
    state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
    state = (state ^ state >> 27) * 0x94d049bb133111eb;
    state = (state ^ state >> 31) + 0x9e3779b97f4a7c15;
  }
  return state;
}
inline uint32_t children_of(const Tree& tree, Node node) {
  return static_cast<double>(node >> 11) * 0x1p-53 < tree.chance ? tree.children : 0;
}
inline void push_children(const Tree& tree, Node node, uint32_t count, std::vector<Node>* to) {
  for (uint32_t i = 0; i < count; ++i) to->push_back(child_of(tree, node, i));
}

// By one thread: how many nodes.
inline uint64_t count_alone(const Tree& tree) {
  std::vector<Node> stack;
  push_children(tree, tree.seed, tree.root_children, &stack);
  uint64_t visited = 1;
  for (; !stack.empty(); ++visited) {
    const Node node = stack.back();
    stack.pop_back();
    push_children(tree, node, children_of(tree, node), &stack);
  }
  return visited;
}

inline constexpr int kServerKey = 0;  // explorer t gets its answers under 1 + t
inline constexpr uint32_t kMostStolen = 64;

struct Question {
  int32_t explorer;  // -1: there are none any more
  uint64_t visited;  // then: by all of that process
};
struct Answer {
  uint64_t visited, made;
  uint32_t count;
  Node nodes[kMostStolen];
};

// `Threads` runs threads of a process and lets them talk to the other one (waiting_threads).
template <typename Threads>
class Search {
 public:
  Search(const Tree& tree, Threads* threads, int explorers)
      : tree_(tree), threads_(threads), explorers_(explorers), stacks_(new Stack[static_cast<size_t>(explorers)]) {}

  // Counts the nodes of both processes. If `first`, this one has the root.
  uint64_t count(bool first) {
    if (first) {
      push_children(tree_, tree_.seed, tree_.root_children, &stacks_[0].nodes);
      stacks_[0].made = tree_.root_children + 1;
      stacks_[0].visited = 1;
    }
    uint64_t others = 0;
    std::atomic<int> busy{explorers_};
    threads_->run(explorers_ + 1, [&](int thread) {
      if (thread == explorers_) {
        others = serve();
        return;
      }
      explore(thread);
      if (busy.fetch_sub(1) != 1) return;
      const Question last = {-1, sum(&Stack::visited)};
      threads_->send(kServerKey, &last, sizeof last);
    });
    return sum(&Stack::visited) + others;
  }

 private:
  struct alignas(64) Stack {
    typename Threads::Lock lock;
    std::vector<Node> nodes;
    // By its explorer alone. Sequentially consistent, all: they are rare, and the proof is simple.
    std::atomic<uint64_t> made{0}, visited{0};
  };

  uint64_t sum(std::atomic<uint64_t> Stack::*of) const {
    uint64_t all = 0;
    for (int i = 0; i < explorers_; ++i) all += stacks_[i].*of;
    return all;
  }

  // The oldest of somebody's, which have most below them.
  uint32_t steal_from(Stack* victim, uint32_t most, Node* out) {
    victim->lock.lock();
    const auto count = static_cast<uint32_t>(std::min<size_t>(most, victim->nodes.size() / 2));
    std::copy_n(victim->nodes.begin(), count, out);
    victim->nodes.erase(victim->nodes.begin(), victim->nodes.begin() + count);
    victim->lock.unlock();
    return count;
  }
  uint32_t steal_here(int but, Node* out) {
    uint32_t count = 0;
    for (int i = 1; i <= explorers_ && count == 0; ++i) {
      const int victim = (std::max(but, 0) + i) % explorers_;
      if (victim != but) count = steal_from(&stacks_[victim], kMostStolen, out);
    }
    return count;
  }

  void explore(int me) {
    constexpr size_t kAtOnce = 16;
    Stack& own = stacks_[me];
    std::vector<Node> made;
    Answer answer;
    uint64_t visited_before = 0;
    bool has_asked = false;
    while (!over_) {
      own.lock.lock();
      const size_t count = std::min(kAtOnce, own.nodes.size());
      made.assign(own.nodes.end() - static_cast<ptrdiff_t>(count), own.nodes.end());
      own.nodes.resize(own.nodes.size() - count);
      own.lock.unlock();
      if (count > 0) {
        visit(&own, &made);
        has_asked = false;
        continue;
      }
      answer.count = steal_here(me, answer.nodes);
      if (answer.count == 0) {
        const uint64_t visited = sum(&Stack::visited);
        const Question question = {me, 0};
        threads_->send(kServerKey, &question, sizeof question);
        threads_->receive(1 + me, &answer, sizeof answer);
        if (answer.count == 0) {
          if (has_asked && visited_before == sum(&Stack::made) + answer.made) over_ = true;
          visited_before = visited + answer.visited;
          has_asked = true;
          threads_->yield();
          continue;
        }
      }
      own.lock.lock();
      own.nodes.insert(own.nodes.end(), answer.nodes, answer.nodes + answer.count);
      own.lock.unlock();
      has_asked = false;
    }
  }

  void visit(Stack* own, std::vector<Node>* nodes) {
    const size_t count = nodes->size();
    for (size_t i = 0; i < count; ++i) {
      const Node node = (*nodes)[i];
      push_children(tree_, node, children_of(tree_, node), nodes);
    }
    own->made += nodes->size() - count;
    own->lock.lock();
    own->nodes.insert(own->nodes.end(), nodes->begin() + static_cast<ptrdiff_t>(count), nodes->end());
    own->lock.unlock();
    own->visited += count;
    threads_->yield();
  }

  // Until the other process has no explorers any more: how many nodes they have visited.
  uint64_t serve() {
    for (;;) {
      Question question;
      threads_->receive(kServerKey, &question, sizeof question);
      if (question.explorer < 0) return question.visited;
      Answer answer;
      answer.count = steal_here(-1, answer.nodes);
      answer.visited = sum(&Stack::visited);
      answer.made = sum(&Stack::made);
      threads_->send(1 + question.explorer, &answer, sizeof answer);
    }
  }

  const Tree tree_;
  Threads* const threads_;
  const int explorers_;
  const std::unique_ptr<Stack[]> stacks_;
  std::atomic<bool> over_{false};
};

}  // namespace smelt::tree_search
