// Reduce-scatter: the operands of all, combined, and of the result everybody gets its own block.
//
//   inline  the whole operand up to 280 bytes, in lines that carry their own flags: everybody reads everybody's and
//           combines its own block: one hop
//   shelf   longer ones in pieces: everybody puts its operands on its shelf, but for its own block, and combines its
//           block of all operands straight into its result
//   single  its block of everybody's operands, read straight from the others' memory (single_copy.h)
//
// This is the first half of the allreduce of Rabenseifner (Optimization of collective reduction operations, ICCS 2004),
// without its log n rounds of halving: those save messages where each has its price, and in shared memory who combines
// may read all operands where they were written. It is also reduce_sliced.h without its third stage.
//
// All know all counts, so all cut alike. A piece holds a slice of every block, so that everybody has something to
// combine in every piece; only where a piece has room for hardly more than one element of each block (very large
// elements, or very many participants) the pieces follow the row as it is. The stages of two successive pieces overlap:
// put k+1, combine k. The order of combination is that of every reduction, so a result has the bits of an allreduce's.
#include <algorithm>
#include <cerrno>

#include "group/describe.h"
#include "group/fold.h"
#include "group/single_copy.h"
#include "group/started.h"

namespace smelt {
namespace {

// How long everybody's block of a row is, in elements: as the array says, or all alike.
struct Blocks {
  const size_t* counts;  // [n]; nullptr: `each`
  size_t each;

  size_t of(uint32_t i) const { return counts ? counts[i] : each; }
  // The sum of all those before block i.
  size_t before(uint32_t i) const {
    if (!counts) return each * i;
    size_t sum = 0;
    for (uint32_t k = 0; k < i; ++k) sum += counts[k];
    return sum;
  }
};

// A reduce-scatter, as its caller put it. `in` is a row of all blocks; `out` does not overlap it.
struct Scattering {
  const char* in;
  char* out;
  Blocks blocks;
  size_t elements;  // of the row
  const smelt_fold& fold;

  size_t bytes() const { return elements * fold.element_bytes; }
  size_t longest() const { return bytes(); }
};

struct ReduceScatterInline : Resumable {
  static constexpr int kRooms = 3 + InlineOperands::kRooms;
  const Scattering job;
  const size_t count, offset;  // of our block; the offset in bytes
  uint32_t i = 0;
  char *const block_room, *const total_room, *const last_room;
  InlineOperands operands;
  Whole whole;

  ReduceScatterInline(InlineRoom* rooms, const Group& group, const Scattering& job)
      : job(job),
        count(job.blocks.of(group.me)),
        offset(job.blocks.before(group.me) * job.fold.element_bytes),
        block_room(rooms[0].bytes),
        total_room(rooms[1].bytes),
        last_room(rooms[2].bytes),
        operands(rooms + 3),
        whole(group.n) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        SMELT_AWAIT(group.put(how, group.desk().up, job.in, job.bytes()));
        if (count > 0) {
          SMELT_AWAIT(combine(how));
        } else {
          // Nothing to combine; but the end of this method is that everybody has heard everybody.
          for (; i < group.n; ++i) {
            SMELT_AWAIT(i == group.me || group.is_here(how, i, group.desks[i].up));
          }
        }
        group.finish_together();
    }
    return true;
  }

 private:
  template <typename How>
  [[gnu::always_inline]] bool combine(How how) {
    Group& group = how.group;
    // The last participant's may be a block of combinations by itself, and is then kept while the next block is read.
    const auto operand = [&](uint32_t i) -> const void* {
      const void* const from = i + 1 == group.n && i != group.me
                                   ? group.get(how, i, group.desks[i].up, job.bytes(), last_room)
                                   : operands.get(how, i, job.in, job.bytes());
      return from ? static_cast<const char*>(from) + offset : nullptr;
    };
    return Combiner(job.fold, count, block_room, total_room).all(whole, group.n, operand, job.out);
  }
};

// Says which elements of which block go into which piece, and where there.
struct Cut {
  size_t room = 0;  // elements of a piece
  uint64_t pieces = 0;
  bool sliced = false;                    // a piece has a slice of every block; else the row is cut as it is
  size_t last_count = 0, last_width = 0;  // of the division that was done last: most blocks are as long as others

  struct Part {
    size_t begin, end;  // elements of the block
    size_t at;          // in the piece
    size_t count() const { return end - begin; }
  };

  Cut(const Scattering& job, uint32_t n, uint32_t piece_bytes) {
    room = piece_bytes / job.fold.element_bytes;
    pieces = (job.elements + room - 1) / room;
    sliced = room >= 2 * size_t{n};
    if (!sliced || width_of_all(job.blocks, n) <= room) return;
    // Rounding up adds less than an element of each block: (room - n) + n.
    pieces = (job.elements + room - n - 1) / (room - n);
    last_count = 0;
  }
  // A block of `count` elements has so many in a piece if it is sliced, else in the row; `before` below is the sum of
  // these.
  size_t width(size_t count) {
    if (!sliced) return count;
    if (count != last_count) last_count = count, last_width = (count + pieces - 1) / pieces;
    return count > 0 ? last_width : 0;
  }
  // Piece k's part of that block. before: the widths of all blocks before it.
  Part part(uint64_t k, size_t count, size_t before) {
    if (sliced) return {std::min(k * width(count), count), std::min((k + 1) * width(count), count), before};
    const size_t first = k * room;
    const auto within = [&](size_t element) { return element <= before ? 0 : std::min(element - before, count); };
    const size_t begin = within(first);
    return {begin, within(first + room), before + begin - std::min(first, before + begin)};
  }

 private:
  size_t width_of_all(const Blocks& blocks, uint32_t n) {
    size_t sum = 0;
    for (uint32_t i = 0; i < n; ++i) sum += width(blocks.of(i));
    return sum;
  }
};

struct ReduceScatterShelf : Resumable {
  const Scattering job;
  Cut cut;
  uint64_t first = 0;  // number of the first piece
  uint64_t k = 0;
  size_t own_before = 0, own_begin = 0;  // of our block: the argument of Cut::part, and where it begins in the row
  Cut::Part own{};
  Whole whole;

  ReduceScatterShelf(InlineRoom*, const Group& group, const Scattering& job)
      : job(job), cut(job, group.n, group.piece_bytes), own_begin(job.blocks.before(group.me)) {
    for (uint32_t i = 0; i < group.me; ++i) own_before += cut.width(job.blocks.of(i));
  }

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        first = group.pieces;
        group.pieces += cut.pieces;
        SMELT_AWAIT(put(how, 0));
        for (; k < cut.pieces; ++k) {
          if (k + 1 < cut.pieces) {
            SMELT_AWAIT(put(how, k + 1));
          }
          own = cut.part(k, job.blocks.of(group.me), own_before);
          whole = Whole(group.n);
          SMELT_AWAIT(combine(how));
          group.consume(first + k);
        }
    }
    return true;
  }

 private:
  template <typename How>
  bool put(How how, uint64_t k) {
    Group& group = how.group;
    if (!group.piece_free(how, first + k)) return false;
    const size_t width = job.fold.element_bytes;
    char* const to = group.up_piece(group.me, first + k);
    const char* from = job.in;
    size_t before = 0;
    for (uint32_t i = 0; i < group.n; ++i) {
      const size_t count = job.blocks.of(i);
      const Cut::Part part = cut.part(k, count, before);
      if (i != group.me && part.count() > 0)
        copy_piece(to + part.at * width, from + part.begin * width, part.count() * width);
      from += count * width;
      before += cut.width(count);
    }
    group.fill(&Desk::filled_up, first + k);
    return true;
  }

  template <typename How>
  bool combine(How how) {
    Group& group = how.group;
    if (own.count() == 0) return true;
    const size_t width = job.fold.element_bytes;
    const auto operand = [&](uint32_t i) -> const void* {
      if (i == group.me) return job.in + (own_begin + own.begin) * width;
      return group.filled(how, i, &Desk::filled_up, first + k) ? group.up_piece(i, first + k) + own.at * width
                                                               : nullptr;
    };
    return Combiner(job.fold, own.count(), group.scratch, group.scratch + kPieceBytes)
        .all(whole, group.n, operand, job.out + own.begin * width);
  }
};

struct ReduceScatterWork : InOnePiece<SMELT_COLLECTIVE_REDUCE_SCATTER> {
  using Job = Scattering;
  static Notice notice(const Group&, const Scattering& job) {
    return {reinterpret_cast<uint64_t>(job.in), 0, job.bytes()};
  }
  static void copy(Group& group, const Scattering& job, const Notice* all, int* error) {
    combine_range(group, all, job.fold, job.blocks.before(group.me), job.blocks.before(group.me + 1), job.out, error);
  }
};

using ReduceScatterLong = LongMessage<ReduceScatterShelf, ReduceScatterWork>;

struct ReduceScatterCall : AnyCall {
  const void* in;
  void* out;
  Blocks blocks;
  const smelt_fold* fold;
  bool has_counts = true;

  int check(const smelt_group* group) const {
    if (!group || !fold || !has_counts) return -EINVAL;
    return (in && (out || blocks.of(group->me) == 0)) || is_nothing(*group) ? 0 : -EINVAL;
  }
  bool is_nothing(const Group& group) const { return fold->element_bytes == 0 || blocks.before(group.n) == 0; }
  int alone() const { return std::memcpy(out, in, blocks.of(0) * fold->element_bytes), 0; }
  uint64_t operand_bytes(const Group& group) const { return blocks.before(group.n) * fold->element_bytes; }
  template <typename Form>
  int run(Form form) const {
    const size_t elements = blocks.before(form.group.n);
    const Scattering job{static_cast<const char*>(in), static_cast<char*>(out), blocks, elements, form.by(*fold)};
    if (job.bytes() <= kInlineBytes) return form.template run<ReduceScatterInline>(form.group, job);
    if (fold->element_bytes > form.group.plan.limits.piece) return form.refuse(-ENOTSUP);
    return form.template run<ReduceScatterLong>(form.group, job);
  }
};

}  // namespace

void reduce_scatter_table(const Group& group, Table* table) {
  const Words words{.how = "everybody combines its block", .single = "single copy, everybody combines its block"};
  add_methods(group, SMELT_COLLECTIVE_REDUCE_SCATTER, words, table);
}
void reduce_scatter_block_table(const Group& group, Table* table) { reduce_scatter_table(group, table); }

}  // namespace smelt

SMELT_GROUP_CALLS(reduce_scatter_block, (ReduceScatterCall{{}, in, out, {nullptr, elements}, fold}), const void* in,
                  void* out, size_t elements, const smelt_fold* fold)
SMELT_GROUP_CALLS(reduce_scatter, (ReduceScatterCall{{}, in, out, {elements, 0}, fold, elements != nullptr}),
                  const void* in, void* out, const size_t* elements, const smelt_fold* fold)
