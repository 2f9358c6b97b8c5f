// Reduce-scatter and gather: every participant combines one slice of every piece.
//
// For each piece, three stages, with a flag after each of the first two:
//   put      everybody copies its operands to its up shelf, but for the slice that it will combine itself
//   combine  everybody combines its slice of all operands into its down shelf
//   get      everybody (or the root) copies all slices from the down shelves to where the caller wants them
// Each touches 2 s bytes or less per participant, against n s for combining everything in one place. The stages of
// three successive pieces overlap: put k+1, combine k, get k-1.
#pragma once

#include "group/reduction.h"

namespace smelt {

struct ReduceSliced : Machine {
  uint64_t first = 0;  // number of the first piece
  uint64_t k = 0;
  uint32_t r = 0;
  Whole whole;

  template <typename How>
  [[gnu::always_inline]] bool step(How how, const Reduction& job) {
    const Call<How> call{how, *this, job, Pieces(job.elements, job.fold.element_bytes, how.group.piece_bytes)};
    const uint64_t count = call.pieces.count;
    switch (resume_at(how)) {
      case 0:
        first = how.group.pieces;
        how.group.pieces += count;
        SMELT_AWAIT(call.put(0));
        for (; k < count; ++k) {
          if (k + 1 < count) {
            SMELT_AWAIT(call.put(k + 1));
          }
          whole = Whole(how.group.n);
          SMELT_AWAIT(call.combine(k));
          if (k > 0) {
            r = 0;
            SMELT_AWAIT(call.get(k - 1));
          }
        }
        r = 0;
        SMELT_AWAIT(call.get(count - 1));
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
    size_t begin(uint64_t k, uint32_t r) const { return pieces.in(k, job.elements) * r / how.group.n; }
    bool gets() const { return job.root == kEverybody || job.root == how.group.me; }

    [[gnu::always_inline]] bool put(uint64_t k) const {
      Group& group = how.group;
      const uint64_t piece = self.first + k;
      if (!How(how).piece_free(piece)) return false;
      char* const to = group.up_piece(group.me, piece);
      const size_t bytes = pieces.in(k, job.elements) * width();
      if (job.in.base) {
        const char* from = static_cast<const char*>(job.in.base) + offset(k);
        const size_t mine = begin(k, group.me) * width(), after = begin(k, group.me + 1) * width();
        std::memcpy(to, from, mine);
        std::memcpy(to + after, from + after, bytes - after);
      } else {
        job.in.pack(job.in.context, offset(k), bytes, to);
      }
      group.fill(&Desk::filled_up, piece);
      return true;
    }

    [[gnu::always_inline]] bool combine(uint64_t k) const {
      Group& group = how.group;
      const uint64_t piece = self.first + k;
      const size_t at = begin(k, group.me) * width(), count = begin(k, group.me + 1) - begin(k, group.me);
      const char* own =
          job.in.base ? static_cast<const char*>(job.in.base) + offset(k) : group.up_piece(group.me, piece);
      const auto operand = [&](uint32_t i) -> const void* {
        if (i == group.me) return own + at;
        return How(how).filled(i, &Desk::filled_up, piece) ? group.up_piece(i, piece) + at : nullptr;
      };
      Combiner combiner(job.fold, count, group.scratch, group.scratch + kPieceBytes);
      if (count > 0 && !combiner.all(self.whole, group.n, operand, group.down_piece(group.me, piece) + at))
        return false;
      group.fill(&Desk::filled_down, piece);
      if (!gets()) group.consume(piece);
      return true;
    }

    [[gnu::always_inline]] bool get(uint64_t k) const {
      Group& group = how.group;
      if (!gets()) return true;
      const uint64_t piece = self.first + k;
      for (; self.r < group.n; ++self.r) {
        const uint32_t r = self.r;
        const size_t at = begin(k, r) * width(), bytes = begin(k, r + 1) * width() - at;
        if (bytes == 0) continue;
        if (r != group.me && !How(how).filled(r, &Desk::filled_down, piece)) return false;
        unpack(job.out, offset(k) + at, bytes, group.down_piece(r, piece) + at);
      }
      group.consume(piece);
      return true;
    }
  };
};

}  // namespace smelt
