// What Open MPI does where nothing better is there (coll/basic's linear scatter and alltoall, over the boxes of
// btl/sm): the root sends each rank its block, and in an alltoall each rank sends to all, the next one first. Every
// ordered pair has two boxes, a word in front of the data; the receiver says in a line of its own what it has taken.
#pragma once

#include "way.h"

namespace simulated {

class Linear : public Way {
 public:
  void enter(int me) override { rank_.touch(me); }
  void scatter(int me, const char* in, char* out, size_t bytes) override {
    if (me != 0) return receive(0, me, out, bytes);
    for (int to = 1; to < cores; to++) send(0, to, in + to * bytes, bytes);
    std::memcpy(out, in, bytes);
  }
  void alltoall(int me, const char* in, char* out, size_t bytes) override {
    for (int i = 1; i < cores; i++) send(me, (me + i) % cores, in + (me + i) % cores * bytes, bytes);
    std::memcpy(out + me * bytes, in + me * bytes, bytes);
    for (int i = 1; i < cores; i++) receive((me + i) % cores, me, out + (me + i) % cores * bytes, bytes);
  }

 private:
  static constexpr size_t kBox = 4 << 10;
  struct Rank {
    uint64_t sent[kMostCores], received[kMostCores];
    SharedLine taken[kMostCores];
    struct alignas(64) {
      Word full;
      char data[kBox];
    } box[kMostCores][2];  // of those to each
  };

  void send(int me, int to, const char* data, size_t bytes) {
    in_pieces(bytes, kBox, [&](size_t at, size_t length) {
      const uint64_t k = ++rank_[me].sent[to];
      auto& box = rank_[me].box[to][k % 2];
      if (k > 2) wait_for(rank_[to].taken[me], k - 2);
      std::memcpy(box.data, data + at, length);
      box.full.store(k, std::memory_order_release);  // Pairs with the acquire of wait_until.
    });
  }
  void receive(int from, int me, char* data, size_t bytes) {
    in_pieces(bytes, kBox, [&](size_t at, size_t length) {
      const uint64_t k = ++rank_[me].received[from];
      const auto& box = rank_[from].box[me][k % 2];
      wait_until(box.full, [k](uint64_t now) { return now == k; });
      std::memcpy(data + at, box.data, length);
      tell(rank_[me].taken[from], k);
    });
  }

  OfEach<Rank> rank_;
};

}  // namespace simulated
