// Scan and exscan: to everybody the operands of all up to itself, combined; exscan's without its own, and to
// participant 0 nothing.
//
//   inline  up to 280 bytes, in lines that carry their own flags: everybody reads those of all before it: one hop
//   chain   longer ones over the shelves, in pieces: everybody takes the partial result of the one before it, combines
//           it with its own operands and puts that on its shelf for the next. The pieces follow each other down the
//           chain, so that all combine at the same time: n - 1 pieces more than one participant alone would take
//   single  of two participants long ones are read straight from the first one's memory (single_copy.h), as there is
//           no chain to gain from
//
// All combine from the left, (a_0 op a_1) op a_2, so a result has the same bits by any. That is what a chain gives,
// the pipelined scan of Sanders and Träff (Parallel prefix (scan) algorithms for MPI, EuroPVM/MPI 2006): one
// combination for each operand, where doubling (Hillis and Steele, CACM 29, 1986) takes log n of them to save hops, and
// reading all operands takes n. For short ones the hops cost and combining does not, so there all are read.
//
// Only the next participant reads a participant's shelf. So a participant waits for the next one alone before it uses a
// place again. The first pieces of a call are an exception, because their places held something else. As many pieces
// may be under way as the chain is long.
#include <algorithm>
#include <cerrno>

#include "group/describe.h"
#include "group/fold.h"
#include "group/single_copy.h"
#include "group/started.h"
#include "policy/thresholds.h"

namespace smelt {
namespace {

enum class Prefix : bool { kInclusive, kExclusive };

// A scan, as its caller put it.
struct Scanning {
  const smelt_data& in;
  const smelt_data& out;
  size_t elements;
  const smelt_fold& fold;
  Prefix prefix;

  size_t bytes() const { return elements * fold.element_bytes; }
  bool takes_own() const { return prefix == Prefix::kInclusive; }
  smelt_collective collective() const { return takes_own() ? SMELT_COLLECTIVE_SCAN : SMELT_COLLECTIVE_EXSCAN; }
};

struct ScanInline : Resumable {
  static constexpr int kRooms = 4;
  const Scanning job;
  char *const packed, *const operand_room;
  InlineRoom* const partial_rooms;  // [2]: a partial result, and the place of the next
  uint32_t i = 0;
  const void* own = nullptr;
  const void* operand = nullptr;
  const void* partial = nullptr;  // of those before i

  ScanInline(InlineRoom* rooms, const Scanning& job)
      : job(job), packed(rooms[0].bytes), operand_room(rooms[1].bytes), partial_rooms(rooms + 2) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        own = packed_view(job.in, 0, job.bytes(), packed);
        if (group.me + 1 < group.n) {
          SMELT_AWAIT(group.put(how, group.desk().up, own, job.bytes()));
        }
        for (; i < group.me; ++i) {
          SMELT_AWAIT((operand = group.get(how, i, group.desks[i].up, job.bytes(), room_of_operand())) != nullptr);
          combine(operand, job.takes_own() ? group.me + 1 : group.me);
        }
        if (job.takes_own()) combine(own, group.me + 1);
        if (partial && partial != job.out.base) unpack(job.out, 0, job.bytes(), partial);
        group.finish();
    }
    return true;
  }

 private:
  // The first operand stays until it has been combined with the second.
  char* room_of_operand() const { return i == 0 ? partial_rooms[1].bytes : operand_room; }
  // It combines with operand i, of so many.
  void combine(const void* operand, uint32_t count) {
    if (i > 0) {
      char* const room = partial_rooms[i % 2 == 0].bytes;
      void* const to = i + 1 == count && job.out.base ? job.out.base : room;
      Combiner(job.fold, job.elements, nullptr, nullptr).combine(partial, operand, to, room);
      operand = to;
    }
    partial = operand;
  }
};

// Two participants take this way. The owner does not write to the memory that is read, in place or not, because its
// scan is its operand. A long exscan is shared as CopyRooted shares (rooted_copy.h).
struct ScanWork : InOnePiece<SMELT_COLLECTIVE_SCAN> {
  using Job = Scanning;

  static smelt_collective which(const Scanning& job) { return job.collective(); }
  static size_t longest(const Group& group, const Scanning& job) { return group.n == 2 ? job.bytes() : 0; }
  static Notice notice(const Group& group, const Scanning& job) {
    // Participant 0 has no result of an exscan.
    return {address(job.in), group.me == 0 ? 0 : address(job.out), job.bytes()};
  }
  static bool may_copy(const Notice& theirs, const Scanning&, uint32_t i) { return i != 0 || theirs.in != 0; }
  static void copy(Group& group, const Scanning& job, const Notice* all, int* error) {
    const size_t to_write = written(job, all);
    if (group.me == 1)
      combine(group, job, all, error);
    else if (to_write > 0)
      note(write_to(group.introduction(1), job.in.base, all[1].out, to_write), error);
    else if (job.takes_own() && job.in.base != job.out.base)
      unpack(job.out, 0, job.bytes(), job.in.base);
  }

 private:
  // By participant 0, of a long exscan, which is a copy and no more: half of it, so that both copy at the same time.
  static size_t written(const Scanning& job, const Notice* all) {
    const bool shared = !job.takes_own() && all[1].out && job.bytes() > typical(ThresholdId::kReadAlone);
    return shared ? job.elements / 2 * job.fold.element_bytes : 0;
  }
  static void combine(Group& group, const Scanning& job, const Notice* all, int* error) {
    const size_t width = job.fold.element_bytes, step = group.plan.limits.read_bytes / width;
    char* const theirs = group.scratch;
    char* const room = group.scratch + kReadBytes;
    for (size_t from = written(job, all) / width; from < job.elements; from += step) {
      const size_t count = std::min(step, job.elements - from), bytes = count * width, offset = from * width;
      char* const out = job.out.base ? static_cast<char*>(job.out.base) + offset : nullptr;
      char* const to = out ? out : room;
      char* const read = job.takes_own() ? theirs : to;
      note(read_from(group.introduction(0), read, all[0].in + offset, bytes), error);
      if (job.takes_own())
        Combiner(job.fold, count, nullptr, nullptr).combine(read, packed_view(job.in, offset, bytes, to), to, to);
      if (!out) unpack(job.out, offset, bytes, to);
    }
  }
};

struct ScanShelf : Resumable {
  const Scanning job;
  const Pieces pieces;
  uint64_t k = 0, piece = 0;
  size_t count = 0, offset = 0, length = 0;

  ScanShelf(InlineRoom*, const Group& group, const Scanning& job)
      : job(job), pieces(job.elements, job.fold.element_bytes, group.piece_bytes) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        for (; k < pieces.count; ++k) {
          piece = group.pieces++;
          count = pieces.in(k, job.elements), offset = k * pieces.elements * job.fold.element_bytes;
          length = count * job.fold.element_bytes;
          if (has_next(group)) {
            SMELT_AWAIT(place_free(how));
          }
          if (group.me > 0) {
            SMELT_AWAIT(group.filled(how, group.me - 1, &Desk::filled_up, piece));
          }
          pass_on(group);
          group.consume(piece);
        }
    }
    return true;
  }

 private:
  static bool has_next(const Group& group) { return group.me + 1 < group.n; }

  template <typename How>
  bool place_free(How how) {
    Group& group = how.group;
    if (k < kPieceRing) return group.piece_free(how, piece);
    return how.until(group.me + 1, [&] { return group.has_consumed(group.me + 1, piece - kPieceRing + 1); });
  }

  void pass_on(Group& group) {
    const char* const before = group.me > 0 ? group.up_piece(group.me - 1, piece) : nullptr;
    const void* result = before;
    if (has_next(group) || job.takes_own()) {
      // The next one waits for it, so our own result is a copy of that.
      char* const to = has_next(group) ? group.up_piece(group.me, piece)
                       : job.out.base  ? static_cast<char*>(job.out.base) + offset
                                       : group.scratch;
      const void* const own = packed_view(job.in, offset, length, to);
      if (before)
        Combiner(job.fold, count, nullptr, nullptr).combine(before, own, to, to);
      else if (own != to)
        copy_piece(to, own, length);
      if (has_next(group)) group.fill(&Desk::filled_up, piece);
      if (job.takes_own()) result = to;
    }
    const bool is_there = job.out.base && (result == static_cast<char*>(job.out.base) + offset ||
                                           (!before && job.in.base == job.out.base));
    if (result && !is_there) unpack(job.out, offset, length, result);
  }
};

struct ScanCall : FoldForAll {
  Prefix prefix;

  int alone() const { return prefix == Prefix::kInclusive ? FoldForAll::alone() : 0; }
  template <typename Form>
  int run(Form form) const {
    const Scanning job{form.in(*in), form.out(*out), elements, form.by(*fold), prefix};
    if (job.bytes() <= kInlineBytes) return form.template run<ScanInline>(job);
    if (fold->element_bytes > form.group.plan.limits.piece) return form.refuse(-ENOTSUP);
    return form.template run<LongMessage<ScanShelf, ScanWork>>(form.group, job);
  }
};

}  // namespace

static void add_scan(const Group& group, smelt_collective which, Table* table) {
  const Words words{.how = "down a chain", .how_inline = "everybody reads those before it", .most = 2};
  add_methods(group, which, words, table);
}
void scan_table(const Group& group, Table* table) { add_scan(group, SMELT_COLLECTIVE_SCAN, table); }
void exscan_table(const Group& group, Table* table) { add_scan(group, SMELT_COLLECTIVE_EXSCAN, table); }

}  // namespace smelt

SMELT_GROUP_CALLS(scan, (ScanCall{{{}, in, out, elements, fold}, Prefix::kInclusive}), const smelt_data* in,
                  const smelt_data* out, size_t elements, const smelt_fold* fold)
SMELT_GROUP_CALLS(exscan, (ScanCall{{{}, in, out, elements, fold}, Prefix::kExclusive}), const smelt_data* in,
                  const smelt_data* out, size_t elements, const smelt_fold* fold)
