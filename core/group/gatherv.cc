// Gatherv: everybody's data to the root, of any length and to any place. Only the root knows all lengths, and everybody
// its own; so everybody tells its length with its first line.
//
//   inline  up to 280 bytes: that line and its likes carry the data already
//   ahead   a longer one that fits into a piece is on its owner's shelf by then: each gatherv has one piece, used or
//           not
//   single  one that single copy serves better is read by the root straight from its owner's memory, and that one waits
//           for it
//   shelf   where single copy does not serve: all must count pieces alike, so the root tells the longest length, and
//           everybody waits for that; then as gather.cc
//
// With single copy only the owner of a block that is read waits for the root. The others wait for flow control alone: a
// sender may be kPieceRing calls ahead.
#include <algorithm>
#include <cerrno>

#include "group/engine.h"
#include "group/fold.h"
#include "group/single_copy.h"

namespace smelt {
namespace {

// A greater limit for shared memory means that the user wants no single copy.
constexpr uint64_t kGreatestLimit = 1 << 20;
// Instead of an address: the block lies on the shelf already.
constexpr uint64_t kAhead = 0;

// A gatherv, as its caller put it. `row` and `blocks` are the root's.
struct Collecting {
  const char* own;  // our block
  size_t bytes;     // of it
  char* row;
  const smelt_place* blocks;
  uint32_t root;

  char* block(uint32_t i) const { return row + blocks[i].offset; }
};

// The steps of both sides.
struct GathervSide : Machine {
  static constexpr int kRooms = 1;
  char* const room;
  const Collecting job;
  bool reads = false;  // the root does
  Heading heading{};
  uint64_t longest = 0, number = 0, piece = 0;

  GathervSide(InlineRoom* rooms, const Collecting& job) : room(rooms[0].bytes), job(job) {}

  // Does the root read? Then each gatherv has one piece.
  template <typename How>
  bool begin(How how) {
    Group& group = how.group;
    if (!how.shelves_agreed()) return false;
    if (!group.shelves) {
      error = -ENOTSUP;
      return true;
    }
    reads = group.plan.limits.of[SMELT_COLLECTIVE_GATHERV].copy <= kGreatestLimit;
    if (reads) {
      if (!how.single_copy_agreed()) return false;
      reads = group.single_copy();
    }
    ++group.episode;
    if (reads) piece = group.pieces++;
    return true;
  }
  // Is there one more piece through the shelf? A participant that has less than the longest has nothing in the last
  // ones.
  bool has_piece(const Group& group) const { return !reads && number * group.piece_bytes < longest; }
  size_t part(const Group& group, size_t bytes) const {
    const size_t offset = number * group.piece_bytes;
    return bytes > offset ? std::min<size_t>(bytes - offset, group.piece_bytes) : 0;
  }
};

struct GathervSender : GathervSide {
  using GathervSide::GathervSide;

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        SMELT_AWAIT(begin(how));
        if (error) return true;
        if (job.bytes <= kInlineBytes) {
          SMELT_AWAIT(how.put(group.desk().up, job.bytes > 0 ? job.own : room, job.bytes));
        } else {
          heading = {job.bytes, reinterpret_cast<uint64_t>(job.own)};
          if (reads && job.bytes <= sent_ahead(group)) {
            SMELT_AWAIT(how.piece_free(piece));
            std::memcpy(group.up_piece(group.me, piece), job.own, job.bytes);
            heading.address = kAhead;
          }
          SMELT_AWAIT(how.put_special(group.desk().up, heading, kHeadsLong));  // releases the piece, too
        }
        if (!reads) {
          SMELT_AWAIT(how.is_here(job.root, group.desks[job.root].down));
          std::memcpy(&longest, group.payload(group.desks[job.root].down), sizeof longest);
        } else if (job.bytes > kInlineBytes && heading.address != kAhead) {
          SMELT_AWAIT(how.until(job.root, [&] { return group.has_finished(job.root, group.episode); }));
        }
        for (; has_piece(group); ++number) {
          piece = group.pieces++;
          if (job.bytes > kInlineBytes && part(group, job.bytes) > 0) {
            SMELT_AWAIT(how.piece_free(piece));
            std::memcpy(group.up_piece(group.me, piece), job.own + number * group.piece_bytes, part(group, job.bytes));
            group.fill(&Desk::filled_up, piece, job.bytes);
          }
          group.consume(piece);
        }
        if (reads) group.consume(piece);
        group.finish();
    }
    return true;
  }
};

struct GathervRoot : GathervSide {
  bool awaited = false;  // by somebody from whom it has read
  uint32_t k = 1, i = 0;
  const void* from = nullptr;

  using GathervSide::GathervSide;

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        SMELT_AWAIT(begin(how));
        if (error) return true;
        keep_own();
        for (; k < group.n; ++k) {
          i = (group.me + k) % group.n;
          SMELT_AWAIT(how.is_here(i, group.desks[i].up));
          heading.bytes = group.what_is_here(group.desks[i].up);
          if (heading.bytes == kHeadsLong) {
            std::memcpy(&heading, group.payload(group.desks[i].up), sizeof heading);
            longest = std::max(longest, heading.bytes);
            awaited |= reads && heading.address != kAhead;
            if (expected() && reads) take(group);
          } else {
            SMELT_AWAIT((from = how.get(i, group.desks[i].up, heading.bytes, room)) != nullptr);
            if (expected()) copy_inline(job.block(i), from, heading.bytes);
          }
        }
        group.settled = group.episode - 1;  // every participant has been heard, so each has finished everything before
        if (!reads) {
          SMELT_AWAIT(how.put_special(group.desk().down, longest, sizeof longest));
        }
        for (; has_piece(group); ++number) {
          piece = group.pieces++;
          for (k = 1; k < group.n; ++k) {
            i = (group.me + k) % group.n;
            if (sent_long(group) <= number * group.piece_bytes) continue;
            SMELT_AWAIT(how.filled(i, &Desk::filled_up, piece));
            if (sent_long(group) == job.blocks[i].bytes)
              std::memcpy(job.block(i) + number * group.piece_bytes, group.up_piece(i, piece),
                          part(group, job.blocks[i].bytes));
          }
          group.consume(piece);
        }
        if (reads) group.consume(piece);
        if (awaited)
          group.finish_now();
        else
          group.finish();
    }
    return true;
  }

 private:
  void keep_own() const {
    if (job.bytes > 0 && job.own != job.block(job.root)) std::memcpy(job.block(job.root), job.own, job.bytes);
  }
  // Copies the block that the i-th has announced, from its shelf or its memory.
  void take(Group& group) {
    if (heading.address == kAhead)
      std::memcpy(job.block(i), group.up_piece(i, piece), std::min<uint64_t>(heading.bytes, group.piece_bytes));
    else
      note(read_from(group.introduction(i), job.block(i), heading.address, heading.bytes), &error);
  }
  // Is what somebody sends as long as the root has been told?
  bool expected() {
    if (heading.bytes == job.blocks[i].bytes) return true;
    error = -EMSGSIZE;
    return false;
  }
  // The length that the i-th has told for this call, if by a heading; else 0. Nobody has gone on since.
  uint64_t sent_long(const Group& group) const {
    const InlineSlot* const up = group.desks[i].up;
    if (group.what_is_here(up) != kHeadsLong) return 0;
    Heading said;
    std::memcpy(&said, group.payload(up), sizeof said);
    return said.bytes;
  }
};

template <typename Way>
int gatherv(Way way, const Collecting& job) {
  return way.group.me == job.root ? way.template run<GathervRoot>(job) : way.template run<GathervSender>(job);
}

}  // namespace

int group_gatherv(Group& group, const void* in, size_t bytes, void* out, const smelt_place* blocks, uint32_t root) {
  group.begin(0);
  return gatherv(Running{group}, {static_cast<const char*>(in), bytes, static_cast<char*>(out), blocks, root});
}
int start_gatherv(Group& group, Pending& place, size_t bytes, const smelt_place* blocks, uint32_t root) {
  return gatherv(Starting{group, place},
                 {static_cast<const char*>(place.in.base), bytes, static_cast<char*>(place.out.base), blocks, root});
}

}  // namespace smelt
