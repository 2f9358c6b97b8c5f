// Scatterv: to everybody its block of the root's row, of any length and from any place. Only the root knows all
// lengths, and everybody its own; so the root tells the longest length with its first line, and all blocks get as much
// room.
//
//   inline  up to 280 bytes for all together: that line and its likes carry the data already
//   shelf   over the root's shelf: several blocks in a piece, or several pieces for a block
//   single  long ones are read straight from the root's memory; its first lines tell where each block is
//
// Every participant but the root looks only at the pieces that are its own, and says at once that it has done with the
// others. The root waits for nobody to receive, unless its memory is being read; it may be up to kRing calls, or
// kPieceRing pieces, ahead.
#include <algorithm>
#include <cerrno>

#include "group/engine.h"
#include "group/fold.h"
#include "group/single_copy.h"

namespace smelt {
namespace {

// A scatterv, as its caller put it. `row` and `blocks` are the root's.
struct Scattering {
  const smelt_data& own;  // our block
  size_t bytes;           // of it
  char* row;
  const smelt_place* blocks;
  uint32_t root;

  char* block(uint32_t i) const { return row + blocks[i].offset; }
  // The root's own, which in place is where it belongs.
  void keep_own() const {
    if (own.base != block(root)) unpack(own, 0, blocks[root].bytes, block(root));
  }
};

// The root first.
uint32_t turn_of(const Group& group, uint32_t root, uint32_t i) { return (i + group.n - root) % group.n; }

// The root's announcement if the blocks are not in its lines: the longest one's length and, where single copy may
// serve, a BlockPlace for each participant.
struct RowHeading {
  uint64_t longest;
};
struct BlockPlace {
  uint64_t address;  // in the root's memory
  uint64_t bytes;
};
constexpr size_t heading_bytes(size_t places) { return sizeof(RowHeading) + places * sizeof(BlockPlace); }
static_assert(heading_bytes(kDirectCopyParticipants) <= kInlineBytes);

struct ScattervShelf : Machine {
  const Scattering job;
  uint64_t first = 0, count = 0;          // pieces of this call
  uint64_t per_piece = 1, per_block = 1;  // blocks in a piece, or pieces for a block
  uint32_t turn = 1;
  uint64_t number = 0;
  size_t length = 0;

  explicit ScattervShelf(const Scattering& job) : job(job) {}

  template <typename How>
  bool step(How how, size_t longest) {
    Group& group = how.group;
    const size_t piece_bytes = group.piece_bytes;
    switch (resume_at(how)) {
      case 0:
        if (longest <= piece_bytes)
          per_piece = piece_bytes / longest;
        else
          per_block = (longest + piece_bytes - 1) / piece_bytes;
        first = group.pieces;
        count = per_block * ((group.n - 1 + per_piece - 1) / per_piece);
        group.pieces += count;
        if (group.me == job.root) {
          for (; turn < group.n; turn += static_cast<uint32_t>(per_piece)) {
            // At least one piece of each, so that nobody waits for a piece that does not come.
            length = per_block == 1 ? 1 : std::max<size_t>(1, job.blocks[of_turn(group)].bytes);
            for (number = 0; number * piece_bytes < length; ++number) {
              SMELT_AWAIT(how.piece_free(piece_of(turn) + number));
              put(group, longest);
            }
          }
          job.keep_own();
        } else {
          turn = turn_of(group, job.root, group.me);
          if (piece_of(turn) > 0) group.consume(piece_of(turn) - 1);
          length = job.bytes;
          for (number = 0; number * piece_bytes < length; ++number) {
            SMELT_AWAIT(how.filled(job.root, &Desk::filled_down, piece_of(turn) + number));
            take(group, longest);
            group.consume(piece_of(turn) + number);
          }
        }
        group.consume(first + count - 1);
    }
    return true;
  }

 private:
  uint32_t of_turn(const Group& group) const { return (job.root + turn) % group.n; }
  uint64_t piece_of(uint32_t turn) const { return first + (turn - 1) / per_piece * per_block; }

  void put(Group& group, size_t longest) {
    const uint64_t piece = piece_of(turn) + number;
    char* to = group.down_piece(group.me, piece);
    if (per_block > 1) {
      const smelt_place& block = job.blocks[of_turn(group)];
      const size_t offset = number * group.piece_bytes;
      std::memcpy(to, job.row + block.offset + offset, std::min<size_t>(group.piece_bytes, block.bytes - offset));
      group.fill(&Desk::filled_down, piece, block.bytes);
      return;
    }
    for (uint64_t k = 0; k < per_piece && turn + k < group.n; ++k, to += longest) {
      const smelt_place& block = job.blocks[(job.root + turn + k) % group.n];
      if (block.bytes > 0) std::memcpy(to, job.row + block.offset, block.bytes);
    }
    group.fill(&Desk::filled_down, piece);
  }
  void take(Group& group, size_t longest) {
    const uint64_t piece = piece_of(turn) + number;
    const char* from = group.down_piece(job.root, piece) + (turn - 1) % per_piece * longest;
    if (per_block > 1) {
      const uint64_t sent = group.message_of(job.root, &Desk::filled_down, piece);
      if (sent != job.bytes) error = -EMSGSIZE;
      length = std::min<size_t>(length, sent);
    } else if (length > longest) {
      error = -EMSGSIZE;
      length = longest;
    }
    const size_t offset = number * group.piece_bytes;
    if (offset < length) unpack(job.own, offset, std::min<size_t>(group.piece_bytes, length - offset), from);
  }
};

// The steps of both sides.
struct ScattervSide : Machine {
  static constexpr int kRooms = 1;
  char* const room;
  const Scattering job;
  RowHeading heading{};
  bool is_long = false;
  const void* from = nullptr;
  ScattervShelf shelf;

  ScattervSide(InlineRoom* rooms, const Scattering& job) : room(rooms[0].bytes), job(job), shelf(job) {}

  template <typename How>
  bool begin(How how) {
    if (!how.shelves_agreed()) return false;
    if (how.group.shelves)
      ++how.group.episode;
    else
      error = -ENOTSUP;
    return true;
  }
  template <typename How>
  bool pass_shelf(How how) {
    if (!shelf.step(how, heading.longest)) return false;
    error = shelf.error;
    return true;
  }
  bool reads(const Group& group) const { return may_copy_once(group, SMELT_COLLECTIVE_SCATTERV, heading.longest); }
};

struct ScattervRoot : ScattervSide {
  using ScattervSide::ScattervSide;

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        SMELT_AWAIT(begin(how));
        if (error) return true;
        for (uint32_t i = 0; i < group.n; ++i)
          if (i != job.root) heading.longest = std::max<uint64_t>(heading.longest, job.blocks[i].bytes);
        is_long = heading.longest * (group.n - 1) > kInlineBytes;
        if (is_long) {
          write_heading(group);
          SMELT_AWAIT(how.put(group.desk().down, room, heading_bytes(reads(group) ? group.n : 0), kHeadsLong));
        } else {
          from = group.n == 2 && heading.longest > 0 ? job.block(1 - job.root) : put_together(group);
          SMELT_AWAIT(how.put(group.desk().down, from, heading.longest * (group.n - 1)));
          job.keep_own();
        }
        if (is_long && reads(group)) {
          SMELT_AWAIT(how.single_copy_agreed());
          if (group.single_copy()) {
            job.keep_own();
            group.finish_now();
            SMELT_AWAIT(how.all_finished(group, group.episode));
            return true;
          }
        }
        if (is_long) {
          SMELT_AWAIT(pass_shelf(how));
        }
        group.finish();
    }
    return true;
  }

 private:
  const char* put_together(const Group& group) {
    std::memset(room, 0, heading.longest * (group.n - 1));
    for (uint32_t i = 0; i < group.n; ++i)
      if (i != job.root && job.blocks[i].bytes > 0)
        std::memcpy(room + (turn_of(group, job.root, i) - 1) * heading.longest, job.block(i), job.blocks[i].bytes);
    return room;
  }
  void write_heading(const Group& group) {
    std::memcpy(room, &heading, sizeof heading);
    for (uint32_t i = 0; reads(group) && i < group.n; ++i) {
      const BlockPlace place{reinterpret_cast<uint64_t>(job.block(i)), job.blocks[i].bytes};
      std::memcpy(room + heading_bytes(i), &place, sizeof place);
    }
  }
};

struct ScattervReceiver : ScattervSide {
  using ScattervSide::ScattervSide;

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        SMELT_AWAIT(begin(how));
        if (error) return true;
        SMELT_AWAIT(how.is_here(job.root, group.desks[job.root].down));
        hear(group);
        if (!is_long) {
          SMELT_AWAIT((from = how.get(job.root, group.desks[job.root].down, heading.longest * (group.n - 1), room)) !=
                      nullptr);
          unpack(job.own, 0, std::min<size_t>(job.bytes, heading.longest),
                 static_cast<const char*>(from) + (turn_of(group, job.root, group.me) - 1) * heading.longest);
          if (job.bytes > heading.longest) error = -EMSGSIZE;
        }
        // Of two, who hears the other knows that it has finished everything before.
        if (group.n == 2) group.settled = group.episode - 1;
        if (is_long && reads(group)) {
          SMELT_AWAIT(how.single_copy_agreed());
          if (group.single_copy()) {
            SMELT_AWAIT(how.until(job.root, [&] { return hear_places(group); }));
            read_own(group);
            group.finish_now();
            return true;
          }
        }
        if (is_long) {
          SMELT_AWAIT(pass_shelf(how));
        }
        group.finish();
    }
    return true;
  }

 private:
  void hear(const Group& group) {
    const InlineSlot* const down = group.desks[job.root].down;
    const uint64_t what = group.what_is_here(down);
    is_long = what == kHeadsLong;
    if (is_long)
      std::memcpy(&heading, group.payload(down), sizeof heading);
    else
      heading.longest = what / (group.n - 1);
  }
  // The heading up to our place, into `room`.
  bool hear_places(Group& group) {
    const InlineSlot* const down = group.desks[job.root].down;
    return group.try_get_lines(group.slot(down), heading_bytes(group.me + 1), room) != nullptr;
  }
  void read_own(Group& group) {
    const Introduction& whose = group.introduction(job.root);
    BlockPlace block;
    std::memcpy(&block, room + heading_bytes(group.me), sizeof block);
    if (block.bytes != job.bytes) error = -EMSGSIZE;
    const size_t length = std::min(block.bytes, job.bytes), step = job.own.base ? length : kReadBytes;
    for (size_t offset = 0; offset < length; offset += step) {
      const size_t part = std::min(step, length - offset);
      char* const to = job.own.base ? static_cast<char*>(job.own.base) : group.scratch;
      note(read_from(whose, to, block.address + offset, part), &error);
      if (!job.own.base) unpack(job.own, offset, part, to);
    }
  }
};

template <typename Way>
int scatterv(Way way, const Scattering& job) {
  return way.group.me == job.root ? way.template run<ScattervRoot>(job) : way.template run<ScattervReceiver>(job);
}

}  // namespace

int group_scatterv(Group& group, const void* in, const smelt_place* blocks, const smelt_data& out, size_t bytes,
                   uint32_t root) {
  group.begin(0);
  return scatterv(Running{group}, {out, bytes, static_cast<char*>(const_cast<void*>(in)), blocks, root});
}
int start_scatterv(Group& group, Pending& place, const smelt_place* blocks, size_t bytes, uint32_t root) {
  return scatterv(Starting{group, place}, {place.out, bytes, static_cast<char*>(place.in.base), blocks, root});
}

}  // namespace smelt
