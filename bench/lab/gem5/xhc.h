// Open MPI's coll/xhc (Katevenis, Ploumidis, Marazakis: A framework for hierarchical single-copy MPI collectives on
// multicore nodes, CLUSTER 2022) where nothing but copying in and out is to be had: the ranks of a node have a leader,
// the leaders rank 0. Every line has one writer. Data go from a leader's buffer to all members; a leader fills its own
// from its leader's. Operands are copied into buffers of all ranks'; up to 1 KiB the leader adds them up, of longer
// ones each other member a slice. Pieces follow each other through two halves of a buffer.
#pragma once

#include "way.h"

namespace simulated {

class Xhc : public Way {
 public:
  void enter(int me) override { rank_.touch(me); }
  void barrier(int me) override {
    const uint64_t epoch = ++rank_[me].epoch;
    for (int level = 0; level < 2; level++)
      if (leads(me, level)) for_members(me, level, [&](Rank& member) { wait_for(member.on[level].arrived, epoch); });
    if (me != 0) {
      tell(rank_[me].on[top(me)].arrived, epoch);
      wait_for(rank_[leader(me)].on[top(me)].released, epoch);
    }
    for (int level = 1; level >= 0; level--)
      if (leads(me, level)) tell(rank_[me].on[level].released, epoch);
  }
  void broadcast(int me, char* data, size_t bytes) override {
    in_pieces(bytes, kPiece, [&](size_t at, size_t length) { broadcast_piece(me, data + at, length); });
  }
  void reduce(int me, const double* in, double* out, size_t count) override {
    in_pieces(count, kPiece / sizeof *in,
              [&](size_t at, size_t length) { reduce_piece(me, in + at, out + at, length); });
  }
  void allreduce(int me, const double* in, double* out, size_t count) override {
    in_pieces(count, kPiece / sizeof *in, [&](size_t at, size_t length) {
      reduce_piece(me, in + at, out + at, length);
      broadcast_piece(me, reinterpret_cast<char*>(out + at), length * sizeof *in);
    });
  }

 private:
  static constexpr size_t kLeaderAlone = 1 << 10;
  struct Rank {
    uint64_t epoch, down, up;
    // As a member: arrived, acknowledged, ready, sliced; as a leader: released, published, taken.
    struct {
      SharedLine arrived, released, published, acknowledged, ready, sliced, taken;
    } on[2];
    alignas(64) char down_room[2][kPiece], up_room[2][kPiece];
  };

  // Level 0 is the ranks of a node, level 1 the leaders of nodes. The highest on which this one is a member, or leads:
  static int size() { return cores / nodes; }
  static int top(int me) { return me % size() == 0 && nodes > 1 ? 1 : 0; }
  static int leader(int me) { return me % size() == 0 ? 0 : me / size() * size(); }
  static bool leads(int me, int level) { return me % size() == 0 && (level == 0 || me == 0); }
  static int stride(int level) { return level == 0 ? 1 : size(); }
  static int members(int level) { return level == 0 ? size() : nodes; }
  template <class Visit>
  void for_members(int leader, int level, Visit visit) {
    for (int i = 1; i < members(level); i++) visit(rank_[leader + i * stride(level)]);
  }

  void broadcast_piece(int me, char* data, size_t length) {
    Rank& mine = rank_[me];
    const uint64_t k = ++mine.down;
    const char* from = rank_[leader(me)].down_room[k % 2];
    if (me != 0) wait_for(rank_[leader(me)].on[top(me)].published, k);
    if (me % size() == 0) {
      for (int level = 0; level < 2 && k > 2; level++)
        if (leads(me, level))
          for_members(me, level, [&](Rank& member) { wait_for(member.on[level].acknowledged, k - 2); });
      std::memcpy(mine.down_room[k % 2], me == 0 ? data : from, length);
      if (me != 0) tell(mine.on[1].acknowledged, k);
      for (int level = 1; level >= 0; level--)
        if (leads(me, level)) tell(mine.on[level].published, k);
      if (me != 0) std::memcpy(data, mine.down_room[k % 2], length);
    } else {
      std::memcpy(data, from, length);
      tell(mine.on[0].acknowledged, k);
    }
  }

  void reduce_piece(int me, const double* in, double* out, size_t count) {
    Rank& mine = rank_[me];
    const uint64_t k = ++mine.up;
    const auto room = [&](Rank& rank) { return reinterpret_cast<double*>(rank.up_room[k % 2]); };
    if (me != 0 && k > 2) wait_for(rank_[leader(me)].on[top(me)].taken, k - 2);
    std::memcpy(room(mine), in, count * sizeof *in);
    const bool sliced = count * sizeof *in > kLeaderAlone;
    for (int level = 0; level < 2; level++) {
      if (members(level) == 1) continue;
      Rank& head = leads(me, level) ? mine : rank_[leader(me)];
      const int first = leads(me, level) ? me : leader(me);
      tell(mine.on[level].ready, k);
      if (&head != &mine && sliced) {
        wait_for(head.on[level].ready, k);
        for_members(first, level, [&](Rank& member) { wait_for(member.on[level].ready, k); });
        const size_t others = members(level) - 1, i = (me - first) / stride(level) - 1;
        const size_t begin = count * i / others, end = count * (i + 1) / others;
        for_members(first, level, [&](Rank& member) { add(room(head) + begin, room(member) + begin, end - begin); });
        tell(mine.on[level].sliced, k);
      }
      if (&head != &mine) return;
      for_members(me, level, [&](Rank& member) {
        wait_for(sliced ? member.on[level].sliced : member.on[level].ready, k);
        if (!sliced) add(room(mine), room(member), count);
      });
      tell(mine.on[level].taken, k);
    }
    std::memcpy(out, room(mine), count * sizeof *in);  // Only the root comes here.
  }

  OfEach<Rank> rank_;
};

}  // namespace simulated
