// Open MPI's coll/sm (ompi/mca/coll/sm, by what its sources do): eight segments of an 8 KiB fragment for each rank. An
// operation takes four of them, guarded by a flag that the root raises when all have left it and each rank leaves. A
// broadcast goes down a tree of degree 4, fragment by fragment, each rank told by a control word of its own; operands
// of a reduction all go to the root, which is told by a word for each rank, eight of them in a line. An allreduce is
// a reduction and a broadcast. A barrier counts children up and releases them down the tree.
#pragma once

#include "way.h"

namespace simulated {

class Sm : public Way {
 public:
  void enter(int me) override { rank_.touch(me); }
  void barrier(int me) override {
    const int turn = static_cast<int>(rank_[me].barriers++ % 2);
    Rank& mine = rank_[me];
    const uint64_t children = std::max(0, std::min(kDegree, cores - 1 - kDegree * me));
    if (children > 0) {
      wait_for(mine.in[turn], children);
      tell(mine.in[turn], 0);
    }
    if (me != 0) {
      add(rank_[parent(me)].in[turn], 1);
      wait_for(mine.out[turn], 1);
      tell(mine.out[turn], 0);
    }
    tell_children(
        me, [&](Rank& child) -> SharedLine& { return child.out[turn]; }, 1);
  }
  void broadcast(int me, char* data, size_t bytes) override {
    in_segments(me, bytes, [&](int segment, size_t at, size_t length) {
      const char* from = rank_[me].fragment[segment];
      if (me == 0) {
        std::memcpy(rank_[me].fragment[segment], data + at, length);
      } else {
        SharedLine& told = rank_[me].told[segment];
        wait_for(told, 1);
        tell(told, 0);
        if (kDegree * me + 1 < cores)
          std::memcpy(rank_[me].fragment[segment], rank_[parent(me)].fragment[segment], length);
        else
          from = rank_[parent(me)].fragment[segment];
      }
      tell_children(
          me, [&](Rank& child) -> SharedLine& { return child.told[segment]; }, length);
      if (me != 0) std::memcpy(data + at, from, length);
    });
  }
  void reduce(int me, const double* in, double* out, size_t count) override {
    in_segments(me, count * sizeof *in, [&](int segment, size_t bytes_at, size_t length) {
      const size_t at = bytes_at / sizeof *in;
      if (me != 0) {
        std::memcpy(rank_[me].fragment[segment], in + at, length);
        rank_[0].heard[segment][me].store(length, std::memory_order_release);  // Pairs with wait_until.
        return;
      }
      std::memcpy(out + at, in + at, length);
      for (int i = cores - 1; i > 0; i--) {
        wait_until(rank_[0].heard[segment][i], [](uint64_t now) { return now != 0; });
        rank_[0].heard[segment][i].store(0, std::memory_order_relaxed);  // The flag's next use publishes it.
        add(out + at, reinterpret_cast<double*>(rank_[i].fragment[segment]), length / sizeof *in);
      }
    });
  }

 private:
  static constexpr int kDegree = 4, kSegments = 8, kFlags = 2;
  static constexpr size_t kFragment = 8 << 10;
  struct Rank {
    uint64_t operations, barriers;
    SharedLine in[2], out[2], told[kSegments];
    alignas(64) Word heard[kSegments][kMostCores];
    alignas(64) char fragment[kSegments][kFragment];
  };
  struct alignas(64) Flag {
    Word users, operation;
  };

  static int parent(int me) { return (me - 1) / kDegree; }
  template <class Which>
  void tell_children(int me, Which which, uint64_t value) {
    for (int c = kDegree * me + 1; c <= kDegree * me + kDegree && c < cores; c++) tell(which(rank_[c]), value);
  }
  template <class Segment>
  void in_segments(int me, size_t bytes, Segment segment) {
    constexpr int kOfFlag = kSegments / kFlags;
    in_pieces(bytes, kOfFlag * kFragment, [&](size_t begin, size_t all) {
      const uint64_t operation = rank_[me].operations++;
      Flag& flag = flag_[operation % kFlags];
      if (me == 0) {
        wait_until(flag.users, [](uint64_t users) { return users == 0; });
        flag.users.store(cores - 1, std::memory_order_relaxed);  // Published by the next store.
        flag.operation.store(operation + 1, std::memory_order_release);
      } else {
        wait_until(flag.operation, [&](uint64_t now) { return now > operation; });
      }
      in_pieces(all, kFragment, [&](size_t at, size_t length) {
        segment(static_cast<int>(operation % kFlags * kOfFlag + at / kFragment), begin + at, length);
      });
      // Release: the root's next use of the segments comes after ours.
      if (me != 0) flag.users.fetch_sub(1, std::memory_order_release);
    });
  }

  OfEach<Rank> rank_;
  Flag flag_[kFlags]{};
};

}  // namespace simulated
