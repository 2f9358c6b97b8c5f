// The methods that gather(v), scatter(v) and allgather(v) share. A row is a block for each participant; each
// participant has a block of its own besides, which in place lies in the row already.
//
//   Rooted           the root has the row: gather and gatherv take the blocks into it, scatter and scatterv hand them
//                    out
//   ToAll            everybody has a row and takes the blocks into it: allgather and allgatherv
//
//   CollectInline    everybody writes its block into its lines, and those with a row read all others'
//   CollectShelf     the same over the shelves, in pieces; a participant that has less than the longest block has
//                    nothing in the last ones
//   DistributeShelf  the root writes the row to its shelf, as a cut says, and everybody looks at its block's pieces
#pragma once

#include <algorithm>
#include <cerrno>

#include "group/describe.h"
#include "group/single_copy.h"
#include "group/started.h"

namespace smelt {

inline smelt_data at(const void* base) { return {const_cast<void*>(base), nullptr, nullptr, nullptr}; }

inline size_t sum_of(const Group& group, const smelt_place* blocks) {
  size_t sum = 0;
  for (uint32_t i = 0; i < group.n; ++i) sum += blocks[i].bytes;
  return sum;
}
// Nothing lies anywhere.
inline bool is_row(const Group& group, const void* row, const smelt_place* blocks) {
  return blocks && (row || sum_of(group, blocks) == 0);
}

// Blocks of one length, one after the other ...
struct EqualRow {
  char* base;
  size_t bytes;  // of each

  size_t longest() const { return bytes; }
  size_t length(uint32_t) const { return bytes; }
  char* block(uint32_t i) const { return base + i * bytes; }
};
// ... or of any length, anywhere.
struct VariousRow {
  char* base;
  const smelt_place* places;
  size_t most;

  size_t longest() const { return most; }
  size_t length(uint32_t i) const { return places[i].bytes; }
  char* block(uint32_t i) const { return base + places[i].offset; }
};

// The k-th participant that `me` serves: everybody begins with its neighbour, so that not all do so with the same one.
inline uint32_t neighbour(const Group& group, uint32_t k) { return (group.me + k) % group.n; }

// A row of equal blocks as its owner sends it: from behind its own block on, and round, without that one.
struct Stream {
  const char* row;
  size_t bytes;  // of a block
  uint32_t owner, n;

  size_t length() const { return (n - 1) * bytes; }
  // Where participant i's block begins in it.
  size_t place(uint32_t i) const { return ((i + n - owner) % n - 1) * bytes; }
  // A part of it: where it lies, or a copy in `room` if it takes both ends of the row.
  const char* part(size_t offset, size_t length, char* room) const {
    const size_t wrap = (n - 1 - owner) * bytes;  // here participant 0's begins
    if (offset >= wrap) return row + offset - wrap;
    const char* const from = row + (owner + 1) * bytes + offset;
    if (offset + length <= wrap) return from;
    copy_piece(room, from, wrap - offset);
    copy_piece(room + (wrap - offset), row, offset + length - wrap);
    return room;
  }
  void copy(size_t offset, size_t length, char* to) const {
    const char* const from = part(offset, length, to);
    if (from != to) copy_piece(to, from, length);
  }
};

// Scatter's and alltoall's: the limits are those of a block, but inline is all that one sends to the others.
inline Words of_all_blocks(const Group& group, const char* how) {
  return {.how = how, .upto_inline = kInlineBytes / (group.n - 1)};
}

enum class Towards : uint8_t { kRoot, kOthers };  // gather, scatter

// A collective of rows, as its caller put it: of a root ...
template <typename Row>
struct Rooted {
  static constexpr bool kToAll = false;
  const smelt_data& own;  // our block
  size_t bytes;           // of it
  Row row;                // the root's
  uint32_t root;

  bool sends(uint32_t me) const { return me != root; }
  bool collects(uint32_t me) const { return me == root; }
  size_t longest() const { return row.longest(); }
  size_t length(const Group&, uint32_t i) const { return row.length(i); }
  bool takes(const Group&, uint32_t) const { return true; }
  char* block(uint32_t i) const { return row.block(i); }
  bool in_place() const { return own.base == block(root); }
  // The root's own block, between its place in the row and where the caller has it.
  void keep_own(Towards towards) const {
    if (in_place()) return;
    const bool is_short = bytes < kLongOwnBlock;
    if (towards == Towards::kRoot)
      is_short ? pack(own, 0, bytes, block(root)) : pack<copy_piece>(own, 0, bytes, block(root));
    else
      is_short ? unpack(own, 0, row.length(root), block(root))
               : unpack<copy_piece>(own, 0, row.length(root), block(root));
  }
  void keep_own_part(uint32_t, size_t, size_t, const void*) const {}
  // It is called before the pieces.
  void begin_pieces(uint32_t me) const {
    if (me == root) keep_own(Towards::kRoot);
  }
};
// ... or of all.
template <typename Row>
struct ToAll {
  static constexpr bool kToAll = true;
  const smelt_data& own;
  Row row;

  bool sends(uint32_t) const { return true; }
  bool collects(uint32_t) const { return true; }
  size_t longest() const { return row.longest(); }
  size_t length(const Group&, uint32_t i) const { return row.length(i); }
  bool takes(const Group&, uint32_t) const { return true; }
  char* block(uint32_t i) const { return row.block(i); }
  // Our own block, of which a part has been packed for the others.
  void keep_own_part(uint32_t me, size_t offset, size_t length, const void* packed) const {
    if (length > 0 && own.base != block(me)) copy_piece(block(me) + offset, packed, length);
  }
  void begin_pieces(uint32_t) const {}
};

template <typename Job>
struct CollectInline : Resumable {
  char* const room;
  const Job job;
  const void* own = nullptr;
  uint32_t k = 1;

  CollectInline(InlineRoom* rooms, const Job& job) : room(rooms[0].bytes), job(job) {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        if (job.sends(group.me)) {
          own = packed_view(job.own, 0, job.length(group, group.me), room);
          SMELT_AWAIT(group.put(how, group.desk().up, own, job.length(group, group.me)));
        }
        if (job.collects(group.me)) {
          keep_own(group);
          for (; k < group.n; ++k) {
            SMELT_AWAIT(get(how, neighbour(group, k)));
          }
          group.finish_together();  // a participant that has heard everybody knows that all have left what was before
        }
        if (!Job::kToAll) group.finish();
    }
    return true;
  }

 private:
  void keep_own(const Group& group) const {
    if constexpr (Job::kToAll)
      job.keep_own_part(group.me, 0, job.length(group, group.me), own);
    else
      job.keep_own(Towards::kRoot);
  }
  template <typename How>
  [[gnu::always_inline]] bool get(How how, uint32_t i) {
    char* const to = job.block(i);
    const void* const from = how.group.get(how, i, how.group.desks[i].up, job.length(how.group, i), to);
    if (!from) return false;
    if (from != to) copy_inline(to, from, job.length(how.group, i));
    return true;
  }
};

template <typename Job>
struct CollectShelf : Resumable {
  Job job;
  uint64_t number = 0, piece = 0;
  size_t offset = 0;
  uint32_t k = 1, i = 0;

  CollectShelf(InlineRoom*, const Group&, const Job& job) : job(job) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        job.begin_pieces(group.me);
        for (; number * group.piece_bytes < job.longest(); ++number) {
          piece = group.pieces++;
          offset = number * group.piece_bytes;
          if (job.sends(group.me) && part(group, group.me) > 0) {
            SMELT_AWAIT(group.piece_free(how, piece));
            pack<copy_piece>(job.own, offset, part(group, group.me), group.up_piece(group.me, piece));
            group.fill(&Desk::filled_up, piece);
            // Our own part is not taken from the shelf: others read there at the same time, and its lines may have left
            // our own cache (measured, allgather of two, 64 KiB / 1 MiB, near: 3.2 / 71 us from the shelf, 2.6 / 55
            // so).
            const char* const packed =
                job.own.base ? static_cast<const char*>(job.own.base) + offset : group.up_piece(group.me, piece);
            job.keep_own_part(group.me, offset, part(group, group.me), packed);
          }
          if (job.collects(group.me)) {
            for (k = 1; k < group.n; ++k) {
              i = neighbour(group, k);
              if (part(group, i) == 0) continue;
              SMELT_AWAIT(group.filled(how, i, &Desk::filled_up, piece));
              if (job.takes(group, i)) copy_piece(job.block(i) + offset, group.up_piece(i, piece), part(group, i));
            }
          }
          group.consume(piece);
        }
    }
    return true;
  }

 private:
  // Somebody's bytes in this piece.
  size_t part(const Group& group, uint32_t i) const {
    const size_t length = job.length(group, i);
    return length > offset ? std::min<size_t>(length - offset, group.piece_bytes) : 0;
  }
};

// A Cut says how the row lies in `pieces` pieces: put() writes the root's into one, and says with which message to
// announce it; has() is whether there is anything in it at all; take() copies the part of our block that is in a piece,
// of the pieces from `begin` to before `end` that hold it. False: it is not as long as the root's.
template <typename Cut>
struct DistributeShelf : Resumable {
  Cut cut;
  uint64_t first = 0;  // piece of this call
  uint64_t number = 0;

  template <typename Job>
  DistributeShelf(InlineRoom*, const Group& group, const Job& job) : cut(group, job) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        first = group.pieces;
        group.pieces += cut.pieces;
        if (group.me == cut.job.root) {
          for (; number < cut.pieces; ++number) {
            if (!cut.has(group, number)) continue;
            SMELT_AWAIT(group.piece_free(how, first + number));
            group.fill(&Desk::filled_down, first + number,
                       cut.put(group, number, group.down_piece(group.me, first + number)));
          }
          cut.job.keep_own(Towards::kOthers);
        } else {
          number = cut.begin;
          if (number > 0) group.consume(first + number - 1);
          for (; number < cut.end; ++number) {
            SMELT_AWAIT(group.filled(how, cut.job.root, &Desk::filled_down, first + number));
            if (!cut.take(group, number, group.down_piece(cut.job.root, first + number),
                          group.message_of(cut.job.root, &Desk::filled_down, first + number)))
              error = -EMSGSIZE;
            group.consume(first + number);
          }
        }
        group.consume(first + cut.pieces - 1);
    }
    return true;
  }
};

}  // namespace smelt
