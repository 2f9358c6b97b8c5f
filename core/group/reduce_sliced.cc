// Reduce-scatter and gather: every participant combines one slice of every piece.
//
// For each piece, three stages, with a flag after each of the first two:
//   put      everybody copies its operands to its up shelf, but for the slice that it will combine itself
//   combine  everybody combines its slice of all operands into its down shelf
//   get      everybody (or the root) copies all slices from the down shelves to where the caller wants them
// Each touches 2 s bytes or less per participant, against n s for combining everything in one place. The stages of
// three successive pieces overlap: put k+1, combine k, get k-1.
#include "group/fold.h"
#include "group/group.h"
#include "group/reduction.h"

namespace smelt {
namespace {

struct Job {
  Group& group;
  const smelt_data& in;
  const smelt_data& out;
  size_t elements;
  const smelt_fold& fold;
  uint32_t root;
  Pieces pieces;
  uint64_t first;  // number of the first piece

  size_t width() const { return fold.element_bytes; }
  size_t offset(uint64_t k) const { return k * pieces.elements * width(); }
  // Slice r of piece k: elements [begin(k, r), begin(k, r + 1)).
  size_t begin(uint64_t k, uint32_t r) const { return pieces.in(k, elements) * r / group.n; }
  bool gets() const { return root == kEverybody || root == group.me; }
};

void put(const Job& job, uint64_t k) {
  Group& group = job.group;
  const uint64_t piece = job.first + k;
  group.open_piece(piece);
  char* const to = group.up_piece(group.me, piece);
  const size_t bytes = job.pieces.in(k, job.elements) * job.width();
  if (job.in.base) {
    const char* from = static_cast<const char*>(job.in.base) + job.offset(k);
    const size_t mine = job.begin(k, group.me) * job.width(), after = job.begin(k, group.me + 1) * job.width();
    std::memcpy(to, from, mine);
    std::memcpy(to + after, from + after, bytes - after);
  } else {
    job.in.pack(job.in.context, job.offset(k), bytes, to);
  }
  group.fill(&Desk::filled_up, piece);
}

void combine(const Job& job, uint64_t k) {
  Group& group = job.group;
  const uint64_t piece = job.first + k;
  const size_t at = job.begin(k, group.me) * job.width(), count = job.begin(k, group.me + 1) - job.begin(k, group.me);
  const char* own =
      job.in.base ? static_cast<const char*>(job.in.base) + job.offset(k) : group.up_piece(group.me, piece);
  if (count > 0) {
    Combiner combiner(job.fold, count, group.scratch, group.scratch + kPieceBytes);
    combiner.all(
        group.n,
        [&](uint32_t i) -> const void* {
          if (i == group.me) return own + at;
          group.wait_filled(i, &Desk::filled_up, piece);
          return group.up_piece(i, piece) + at;
        },
        group.down_piece(group.me, piece) + at);
  }
  group.fill(&Desk::filled_down, piece);
  if (!job.gets()) group.consume(piece);
}

void get(const Job& job, uint64_t k) {
  Group& group = job.group;
  if (!job.gets()) return;
  const uint64_t piece = job.first + k;
  for (uint32_t r = 0; r < group.n; ++r) {
    const size_t at = job.begin(k, r) * job.width(), bytes = job.begin(k, r + 1) * job.width() - at;
    if (bytes == 0) continue;
    if (r != group.me) group.wait_filled(r, &Desk::filled_down, piece);
    unpack(job.out, job.offset(k) + at, bytes, group.down_piece(r, piece) + at);
  }
  group.consume(piece);
}

}  // namespace

void reduce_sliced(Group& group, const smelt_data& in, const smelt_data& out, size_t elements, const smelt_fold& fold,
                   uint32_t root) {
  const Job job{
      group,       in, out, elements, fold, root, Pieces(elements, fold.element_bytes, group.plan.limits.piece),
      group.pieces};
  const uint64_t count = job.pieces.count;
  group.pieces += count;
  put(job, 0);
  for (uint64_t k = 0; k < count; ++k) {
    if (k + 1 < count) put(job, k + 1);
    combine(job, k);
    if (k > 0) get(job, k - 1);
  }
  get(job, count - 1);
}

}  // namespace smelt
