// What anybody would write first, and libgomp's barrier: one shared line that all poll, one counter that all add to,
// one buffer that all read. Operands are copied to a buffer of each rank's, and the root adds them up. Each buffer has
// two halves in turn.
#pragma once

#include "way.h"

namespace simulated {

class Flat : public Way {
 public:
  void enter(int me) override { rank_.touch(me); }
  void barrier(int me) override {
    const uint64_t epoch = ++rank_[me].epoch;
    if (add(shared_.arrived, 1) == epoch * cores) tell(shared_.released, epoch);
    wait_for(shared_.released, epoch);
  }
  void broadcast(int me, char* data, size_t bytes) override {
    in_pieces(bytes, kPiece, [&](size_t at, size_t length) {
      const uint64_t k = ++rank_[me].down;
      char* const shared = rank_[0].room[0][k % 2];
      if (me == 0) {
        if (k > 2) wait_for(shared_.taken[k % 2], (k - 1) / 2 * (cores - 1));
        std::memcpy(shared, data + at, length);
        tell(shared_.published, k);
      } else {
        wait_for(shared_.published, k);
        std::memcpy(data + at, shared, length);
        add(shared_.taken[k % 2], 1);
      }
    });
  }
  void reduce(int me, const double* in, double* out, size_t count) override {
    in_pieces(count, kPiece / sizeof *in, [&](size_t at, size_t length) {
      const uint64_t k = ++rank_[me].up;
      if (me != 0) {
        if (k > 2) wait_for(shared_.freed, k - 2);
        std::memcpy(rank_[me].room[1][k % 2], in + at, length * sizeof *in);
        add(shared_.filled[k % 2], 1);
        return;
      }
      std::memcpy(out + at, in + at, length * sizeof *in);
      wait_for(shared_.filled[k % 2], (k + 1) / 2 * (cores - 1));
      for (int i = 1; i < cores; i++) add(out + at, reinterpret_cast<double*>(rank_[i].room[1][k % 2]), length);
      tell(shared_.freed, k);
    });
  }

 private:
  struct Rank {
    uint64_t epoch, down, up;
    alignas(64) char room[2][2][kPiece];
  };
  OfEach<Rank> rank_;
  struct {
    SharedLine arrived, released, published, freed, taken[2], filled[2];
  } shared_{};
};

}  // namespace simulated
