// Scatter: to everybody its block of the root's row.
//
//   inline  up to 280 bytes for all together, in lines that carry their own flags: the root writes the row once, and
//           everybody takes its block out of it
//   shelf   the same over the root's shelf, in pieces
//   single  longer ones go straight from memory to memory (rooted.h)
//
// The row begins behind the root's block and goes round, so the root's own block is not sent. Every other participant
// looks only at the pieces that have something of its block, and says at once that it has done with the others. So the
// first leave while the root still writes for the last. The root waits for nobody to receive; it may be up to kRing
// calls, or kPieceRing pieces, ahead.
#include <algorithm>

#include "group/rooted.h"

namespace smelt {
namespace {

// The row as it is sent.
size_t sent_bytes(const Group& group, size_t bytes) { return (group.n - 1) * bytes; }
// Where the block of that participant begins in it.
size_t place_of(const Group& group, const Rooted& job, uint32_t i) {
  return ((i + group.n - job.root) % group.n - 1) * job.bytes;
}
// A part of it, from the root's own memory.
void copy_part(const Group& group, const Rooted& job, size_t offset, size_t length, char* to) {
  const size_t behind = (group.n - 1 - job.root) * job.bytes;  // so much of it lies behind the root's block
  if (offset < behind) {
    const size_t first = std::min(length, behind - offset);
    std::memcpy(to, job.block(job.root + 1) + offset, first);
    to += first, offset += first, length -= first;
  }
  if (length > 0) std::memcpy(to, job.row + (offset - behind), length);
}

struct ScatterInline : Machine {
  static constexpr int kRooms = 1;
  char* const room;
  const Rooted job;
  const void* from = nullptr;

  ScatterInline(InlineRoom* rooms, const Rooted& job) : room(rooms[0].bytes), job(job) {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        if (group.me == job.root) {
          copy_part(group, job, 0, group.operand_bytes, room);
          SMELT_AWAIT(how.put(group.desk().down, room, group.operand_bytes));
          job.keep_own(Towards::kOthers);
        } else {
          SMELT_AWAIT((from = how.get(job.root, group.desks[job.root].down, group.operand_bytes, room)) != nullptr);
          unpack(job.own, 0, job.bytes, static_cast<const char*>(from) + place_of(group, job, group.me));
          // Of two participants, the one that hears the other knows that it has finished everything before.
          if (group.n == 2) group.settled = group.episode - 1;
        }
        group.finish();
    }
    return true;
  }
};

struct ScatterShelf : Machine {
  const Rooted job;
  const Pieces pieces;
  const size_t sent;
  uint64_t first = 0;             // piece of this call
  uint64_t number = 0, last = 0;  // of the pieces that we look at
  size_t offset = 0, length = 0;

  ScatterShelf(InlineRoom*, const Group& group, const Rooted& job)
      : job(job), pieces(sent_bytes(group, job.bytes), 1, group.piece_bytes), sent(sent_bytes(group, job.bytes)) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        first = group.pieces;
        group.pieces += pieces.count;
        if (group.me == job.root) {
          for (; number < pieces.count; ++number) {
            SMELT_AWAIT(how.piece_free(first + number));
            copy_part(group, job, number * pieces.elements, pieces.in(number, sent),
                      group.down_piece(group.me, first + number));
            group.fill(&Desk::filled_down, first + number);
            group.consume(first + number);
          }
          job.keep_own(Towards::kOthers);
        } else {
          offset = place_of(group, job, group.me);
          number = offset / pieces.elements, last = (offset + job.bytes - 1) / pieces.elements;
          if (number > 0) group.consume(first + number - 1);
          for (offset = 0; number <= last; ++number, offset += length) {
            SMELT_AWAIT(how.filled(job.root, &Desk::filled_down, first + number));
            length = take(group);
            group.consume(first + number);
          }
          group.consume(first + pieces.count - 1);
        }
    }
    return true;
  }

 private:
  // Copies the part of our block that is in this piece; its length.
  size_t take(Group& group) const {
    const size_t begin = place_of(group, job, group.me) + offset - number * pieces.elements;
    const size_t bytes = std::min(job.bytes - offset, pieces.in(number, sent) - begin);
    unpack(job.own, offset, bytes, group.down_piece(job.root, first + number) + begin);
    return bytes;
  }
};

using ScatterLong = LongMessage<SMELT_COLLECTIVE_SCATTER, ScatterShelf, RootedSingle<Towards::kOthers>>;

template <typename Way>
int scatter(Way way, const Rooted& job) {
  if (sent_bytes(way.group, job.bytes) <= kInlineBytes) return way.template run<ScatterInline>(job);
  return way.template run<ScatterLong>(way.group, job);
}

}  // namespace

int group_scatter(Group& group, const void* in, const smelt_data& out, size_t bytes, uint32_t root) {
  group.begin(sent_bytes(group, bytes));
  return scatter(Running{group}, {out, static_cast<char*>(const_cast<void*>(in)), bytes, root});
}
int start_scatter(Group& group, Pending& place, size_t bytes, uint32_t root) {
  return scatter(Starting{group, place, sent_bytes(group, bytes)},
                 {place.out, static_cast<char*>(place.in.base), bytes, root});
}

}  // namespace smelt
