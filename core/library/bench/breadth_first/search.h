// A graph searched, nearest vertices first, by two processes of many threads: the kernel of Graph500, in the form that
// Dang, Snir and Gropp give it (EuroMPI 2016, section 4.3.3).
//
//   searchers   each owns some of its process's vertices, and has a queue of those of them that are at the present
//               distance. Their neighbours go to the queues of their owners, for the next distance; those of the other
//               process are collected, and sent when there are enough of them
//   receivers   wait for what the other process sends, and put it into the queues of its owners
//
// A distance is over when the other process has said so to all receivers, behind all that it had to send. The threads
// are begun anew for each distance, of which such graphs have six or seven.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "graph.h"

namespace smelt::breadth_first {

// The other process's `vertex` has been reached from `from`.
struct Reached {
  Vertex vertex, from;
};
inline constexpr size_t kAtOnce = 256;  // as Graph500's own send

// The vertices collected for the other process.
struct Outgoing {
  Reached reached[kAtOnce];
  size_t count = 0;
  // True: it is full.
  bool add(Reached one) {
    reached[count++] = one;
    return count == kAtOnce;
  }
  size_t bytes() const { return count * sizeof(Reached); }
};

struct Totals {
  uint64_t next, ends;
};
inline constexpr int kTotalsKey = 0;  // receiver r gets its own under 1 + r

// `Threads`: waiting_threads.
template <typename Threads>
class Search {
 public:
  Search(const Part& part, uint32_t me, Threads* threads, int searchers, int receivers)
      : part_(part),
        me_(me),
        threads_(threads),
        searchers_(searchers),
        receivers_(receivers),
        queues_(new Queue[static_cast<size_t>(searchers)]),
        seen_(new std::atomic<uint64_t>[part.count() / 64 + 1] {}),
        parents_(new Vertex[part.count()]) {}

  Found search(Vertex root) {
    Found found;
    if (root % 2 == me_) reach({root, root});
    for (;;) {
      Totals mine{0, 0}, theirs{};
      for (int i = 0; i < searchers_; ++i) {
        queues_[i].now.swap(queues_[i].next);
        queues_[i].next.clear();
        mine.next += queues_[i].now.size();
        mine.ends += queues_[i].ends;
      }
      threads_->run(1, [&](int) {
        threads_->send(kTotalsKey, &mine, sizeof mine);
        threads_->receive(kTotalsKey, &theirs, sizeof theirs);
      });
      found.ends = mine.ends + theirs.ends;
      if (mine.next + theirs.next == 0) return found;
      found.at.push_back(mine.next + theirs.next);
      busy_ = searchers_;
      threads_->run(searchers_ + receivers_, [&](int thread) {
        if (thread < searchers_)
          explore(thread);
        else
          take(thread - searchers_);
      });
    }
  }

 private:
  struct alignas(64) Queue {
    typename Threads::Lock lock;
    std::vector<Vertex> next;
    // Of its searcher
    std::vector<Vertex> now;
    Outgoing out;
    uint64_t ends = 0;
  };

  void reach(Reached what) {
    const Vertex own = what.vertex / 2;
    std::atomic<uint64_t>& seen = seen_[own / 64];
    const uint64_t bit = uint64_t{1} << own % 64;
    // relaxed, both: which thread is first, and no more; the queue is handed on by its lock, and read when all threads
    // have ended
    if ((seen.load(std::memory_order_relaxed) & bit) || (seen.fetch_or(bit, std::memory_order_relaxed) & bit)) return;
    parents_[own] = what.from;
    Queue& queue = queues_[own % static_cast<Vertex>(searchers_)];
    queue.lock.lock();
    queue.next.push_back(own);
    queue.lock.unlock();
  }

  void explore(int me) {
    constexpr size_t kTurn = 2;  // vertices, until others have theirs: and the poller is asked each 64 turns
    Queue& queue = queues_[me];
    const int key = 1 + me % receivers_;
    for (size_t i = 0; i < queue.now.size(); ++i) {
      const Vertex own = queue.now[i], from = own * 2 + me_;
      queue.ends += static_cast<uint64_t>(part_.end(own) - part_.begin(own));
      for (const Vertex* to = part_.begin(own); to != part_.end(own); ++to) {
        if (*to % 2 == me_) {
          reach({*to, from});
        } else if (queue.out.add({*to, from})) {
          flush(&queue, key);
        }
      }
      if (i % kTurn == kTurn - 1) threads_->yield();
    }
    if (queue.out.count != 0) flush(&queue, key);
    if (busy_.fetch_sub(1) != 1) return;
    for (int r = 0; r < receivers_; ++r) threads_->send(1 + r, nullptr, 0);
  }

  void flush(Queue* queue, int key) {
    threads_->send(key, queue->out.reached, queue->out.bytes());
    queue->out.count = 0;
  }

  void take(int which) {
    Reached got[kAtOnce];
    while (const size_t bytes = threads_->receive(1 + which, got, sizeof got))
      for (size_t i = 0; i < bytes / sizeof(Reached); ++i) reach(got[i]);
  }

  const Part& part_;
  const Vertex me_;
  Threads* const threads_;
  const int searchers_, receivers_;
  const std::unique_ptr<Queue[]> queues_;
  const std::unique_ptr<std::atomic<uint64_t>[]> seen_;  // bits
  const std::unique_ptr<Vertex[]> parents_;
  std::atomic<int> busy_{0};
};

}  // namespace smelt::breadth_first
