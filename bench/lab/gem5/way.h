// What the ways of a collective on a simulated machine have in common (group.cc).
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "clock.h"

namespace simulated {

using Word = std::atomic<uint64_t>;

inline int cores, nodes;
inline constexpr int kMostCores = 64;

struct alignas(64) SharedLine {
  Word word;
};

// Acquire: what the sender wrote before its store is seen after this.
template <class Holds>
void wait_until(const Word& word, Holds holds) {
  for (int polls = 0; !holds(word.load(std::memory_order_acquire)); polls++) {
    relax();
    if (polls > 1000) std::this_thread::yield();  // No simulated core is shared.
  }
}
inline void wait_for(const SharedLine& line, uint64_t value) {
  wait_until(line.word, [value](uint64_t now) { return now >= value; });
}
// Release: pairs with the acquire of wait_until.
inline void tell(SharedLine& line, uint64_t value) { line.word.store(value, std::memory_order_release); }
// Acquire and release: who sees the last addition sees what all wrote before theirs.
inline uint64_t add(SharedLine& line, uint64_t value) {
  return line.word.fetch_add(value, std::memory_order_acq_rel) + value;
}

inline void add(double* to, const double* from, size_t count) {
  for (size_t i = 0; i < count; i++) to[i] += from[i];
}

// A T of each rank's, on pages of its own, which lie on its node once it has touched them first.
template <class T>
class OfEach {
 public:
  OfEach() {
    void* memory = mmap(nullptr, kBytes * cores, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    base_ = static_cast<char*>(memory);
  }
  T& operator[](int rank) { return *reinterpret_cast<T*>(base_ + rank * kBytes); }  // As mmap left it: zeros.
  void touch(int rank) {
    for (size_t at = 0; at < kBytes; at += 4096) base_[rank * kBytes + at] = 0;
  }

 private:
  static constexpr size_t kBytes = (sizeof(T) + 4095) / 4096 * 4096;
  char* base_;
};

// Root is rank 0. What a way does not have is never asked for (lab.py).
class Way {
 public:
  virtual ~Way() = default;
  virtual void enter(int me) = 0;  // once, before all calls
  virtual void barrier(int) {}
  virtual void broadcast(int, char*, size_t) {}
  virtual void reduce(int, const double*, double*, size_t) {}
  virtual void allreduce(int me, const double* in, double* out, size_t count) {
    reduce(me, in, out, count);
    broadcast(me, reinterpret_cast<char*>(out), count * sizeof *out);
  }
  virtual void scatter(int, const char*, char*, size_t) {}   // blocks of so many bytes
  virtual void alltoall(int, const char*, char*, size_t) {}  // likewise
};

// Calls `piece(offset, length)` for each piece of a message.
template <class Piece>
void in_pieces(size_t total, size_t most, Piece piece) {
  for (size_t at = 0; at < total; at += most) piece(at, std::min(most, total - at));
}
inline constexpr size_t kPiece = 16 << 10;
inline constexpr size_t kRow = 64 << 10;  // the longest row of blocks

}  // namespace simulated
