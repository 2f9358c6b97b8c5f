// What anybody would write first, and libgomp's barrier: one shared line that all poll, one counter that all add to,
// one buffer that all read. Operands are copied to a buffer of each rank's, and the root adds them up. A row of blocks
// is copied whole, and each takes its own. Each buffer has two halves in turn.
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
  void scatter(int me, const char* in, char* out, size_t bytes) override {
    const uint64_t k = ++rank_[me].down;
    char* const shared = rank_[0].row[k % 2];
    if (me == 0) {
      if (k > 2) wait_for(shared_.taken[k % 2], (k - 1) / 2 * (cores - 1));
      std::memcpy(shared, in, bytes * cores);
      tell(shared_.published, k);
      std::memcpy(out, in, bytes);
    } else {
      wait_for(shared_.published, k);
      std::memcpy(out, shared + me * bytes, bytes);
      add(shared_.taken[k % 2], 1);
    }
  }
  void alltoall(int me, const char* in, char* out, size_t bytes) override {
    // Nobody has the next row but one before all have told of this one, and so have left the row before.
    const uint64_t k = ++rank_[me].rows;
    std::memcpy(rank_[me].row[k % 2], in, bytes * cores);
    add(shared_.rows, 1);
    wait_for(shared_.rows, k * cores);
    for (int i = 0; i < cores; i++) std::memcpy(out + i * bytes, rank_[i].row[k % 2] + me * bytes, bytes);
  }

 private:
  struct Rank {
    uint64_t epoch, down, up, rows;
    alignas(64) char room[2][2][kPiece], row[2][kRow];
  };
  OfEach<Rank> rank_;
  struct {
    SharedLine arrived, released, published, freed, taken[2], filled[2], rows;
  } shared_{};
};

}  // namespace simulated
