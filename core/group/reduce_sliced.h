// Reduce-scatter and gather: every participant combines one slice of every piece. A root among many has none, as it has
// most to do: with a slice it puts, combines and gets (n - 1) / n of a piece each, without one it moves two whole
// pieces. All together then move a piece's n-th more, which is nothing from eight participants on.
//
// Each piece goes through three stages:
//   put      everybody copies its operands to its up shelf, but for the slice that it will combine itself
//   combine  everybody combines its slice of all operands, where it wants the result and has memory in one piece for it
//            there, and the slice then goes to its down shelf if others want it; else straight into that
//   get      everybody (or the root) copies all other slices from the down shelves to where the caller wants them
// Each touches 2 s bytes or less per participant, against n s for combining everything in one place. The stages of
// three successive pieces overlap. A round is
//
//   combine k    when everybody has put piece k
//   put k+1      and tell of it; get k-1 runs while the others hear of it
//
// so that one counter of each participant says all. A participant that has put piece k has combined k-1 and got k-3
// before. So a piece to get is there, and a piece to put has a free place in a ring of four. Between CPUs that lie
// apart each counter that is read costs a hop, and a round has one of them for each participant.
#pragma once

#include "group/single_copy.h"

namespace smelt {

inline bool is_sliced(const Group& group, const Reduction& job) {
  return job.bytes() > group.plan.limits.of[ReduceWork::which(job)].flat;
}

inline bool root_is_spared(const Group& group, uint32_t root) { return root != kEverybody && group.n >= 8; }

// kAny: the root may be spared. What is compiled for where it is not has nothing of it.
template <bool kAny>
struct ReduceSliced : Resumable {
  const Reduction job;
  uint64_t first = 0;  // number of the first piece
  uint64_t k = 0;
  uint32_t r = 0;
  Whole whole;

  ReduceSliced(InlineRoom*, const Reduction& job) : job(job) {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how) {
    const Call<How> call{how, *this, job, Pieces(job.elements, job.fold.element_bytes, how.group.piece_bytes)};
    const uint64_t count = call.pieces.count;
    switch (resume_at(how)) {
      case 0:
        first = how.group.pieces;
        how.group.pieces += count;
        SMELT_AWAIT(call.is_free(0));
        call.put(0);
        for (; k < count; ++k) {
          whole = Whole(how.group.n);
          r = 0;
          SMELT_AWAIT(call.combine(k));
          if (k + 1 < count) {
            SMELT_AWAIT(call.is_free(k + 1));
            call.put(k + 1);
          } else {
            how.group.fill(&Desk::filled_down, first + k);
          }
          if (k > 0) call.get(k - 1);
        }
        r = 0;
        SMELT_AWAIT(call.all_combined(count - 1));
        call.get(count - 1);
    }
    return true;
  }

 private:
  // The stages, each true when it is done.
  template <typename How>
  struct Call {
    How how;
    ReduceSliced& self;
    const Reduction& job;
    Pieces pieces;

    size_t width() const { return job.fold.element_bytes; }
    size_t offset(uint64_t k) const { return k * pieces.elements * width(); }
    // Slice r of piece k: elements [begin(k, r), begin(k, r + 1)).
    size_t begin(uint64_t k, uint32_t r) const {
      const bool spared = kAny && root_is_spared(how.group, job.root);
      return pieces.in(k, job.elements) * (r - (spared && r > job.root)) / (how.group.n - spared);
    }
    bool gets() const { return job.root == kEverybody || job.root == how.group.me; }
    // Our slice is combined where the caller wants it, and copied to the shelf from there if others want it, too. That
    // is as many moves as the other way round, but the others have read the shelf last, and a copy takes its lines over
    // more cheaply than the combining stores do (transport/copy.h; measured, allreduce of two, 64 KiB, near and far:
    // 3.1 and 11.7 us the other way round, 2.5 and 6.7 so).
    bool is_own_slice_there() const { return job.out.base && gets(); }

    [[gnu::always_inline]] bool is_free(uint64_t k) const { return how.group.piece_free(how, self.first + k); }

    [[gnu::always_inline]] void put(uint64_t k) const {
      Group& group = how.group;
      const uint64_t piece = self.first + k;
      char* const to = group.up_piece(group.me, piece);
      const size_t bytes = pieces.in(k, job.elements) * width();
      if (job.in.base) {
        const char* from = static_cast<const char*>(job.in.base) + offset(k);
        const size_t mine = begin(k, group.me) * width(), after = begin(k, group.me + 1) * width();
        copy_piece(to, from, mine);
        copy_piece(to + after, from + after, bytes - after);
      } else {
        job.in.pack(job.in.context, offset(k), bytes, to);
      }
      group.fill(&Desk::filled_up, piece);
    }

    [[gnu::always_inline]] bool has_put(uint32_t i, uint64_t k) const {
      return i == how.group.me || how.group.filled(how, i, &Desk::filled_up, self.first + k);
    }

    [[gnu::always_inline]] bool combine(uint64_t k) const {
      Group& group = how.group;
      const uint64_t piece = self.first + k;
      const size_t at = begin(k, group.me) * width(), count = begin(k, group.me + 1) - begin(k, group.me);
      const char* own =
          job.in.base ? static_cast<const char*>(job.in.base) + offset(k) : group.up_piece(group.me, piece);
      const auto operand = [&](uint32_t i) -> const void* {
        if (i == group.me) return own + at;
        return has_put(i, k) ? group.up_piece(i, piece) + at : nullptr;
      };
      if (count > 0) {
        Combiner combiner(job.fold, count, group.scratch, group.scratch + kPieceBytes);
        char* const shelf = group.down_piece(group.me, piece) + at;
        char* const to = is_own_slice_there() ? static_cast<char*>(job.out.base) + offset(k) + at : shelf;
        if (!combiner.all(self.whole, group.n, operand, to)) return false;
        if (to != shelf && job.root == kEverybody) copy_piece(shelf, to, count * width());
      } else {
        for (; self.r < group.n; ++self.r)
          if (!has_put(self.r, k)) return false;
      }
      if (k >= 2) group.note_drained(piece - 2);
      if (!gets()) group.consume(piece);
      return true;
    }

    [[gnu::always_inline]] bool all_combined(uint64_t k) const {
      if (!gets()) return true;
      for (; self.r < how.group.n; ++self.r)
        if (self.r != how.group.me && !how.group.filled(how, self.r, &Desk::filled_down, self.first + k)) return false;
      return true;
    }

    [[gnu::always_inline]] void get(uint64_t k) const {
      Group& group = how.group;
      if (!gets()) return;
      const uint64_t piece = self.first + k;
      for (uint32_t r = 0; r < group.n; ++r) {
        if (r == group.me && is_own_slice_there()) continue;
        const size_t at = begin(k, r) * width(), bytes = begin(k, r + 1) * width() - at;
        if (bytes > 0) unpack<copy_piece>(job.out, offset(k) + at, bytes, group.down_piece(r, piece) + at);
      }
      group.consume(piece);
    }
  };
};

// The long ones that reduce.cc does not serve itself (reduce_long.cc).
int reduce_otherwise(Running form, const Reduction& job);
int reduce_otherwise(struct Starting form, const Reduction& job);

}  // namespace smelt
