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
#include "group/describe.h"
#include "group/rows.h"

namespace smelt {
namespace {

using Scattering = Rooted<VariousRow>;

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

// Every block has as much room as the longest: several blocks in a piece, or several pieces for a block.
struct RoomsCut {
  const Scattering job;
  size_t longest = 1;
  uint64_t per_piece = 1, per_block = 1;  // blocks in a piece, or pieces for a block
  uint64_t pieces = 0, begin = 0, end = 0;
  uint32_t turn = 0;  // ours

  RoomsCut(const Group& group, const Scattering& job) : job(job), turn(turn_of(group, job.root, group.me)) {}

  void lay_out(const Group& group, size_t longest_block) {
    longest = longest_block;
    if (longest <= group.piece_bytes)
      per_piece = group.piece_bytes / longest;
    else
      per_block = pieces_of(group, longest);
    pieces = per_block * ((group.n - 1 + per_piece - 1) / per_piece);
    if (group.me == job.root) return;
    begin = (turn - 1) / per_piece * per_block;
    end = begin + (per_block > 1 ? pieces_of(group, job.bytes) : job.bytes > 0);
  }
  // At least one piece of each block is there, so that nobody waits for a piece that does not come.
  bool has(const Group& group, uint64_t piece) const {
    const uint64_t number = piece % per_block;
    return number == 0 || number * group.piece_bytes < job.row.length(at_turn(group, 1 + piece / per_block));
  }
  uint64_t put(const Group& group, uint64_t piece, char* to) const {
    if (per_block > 1) {
      const uint32_t i = at_turn(group, 1 + piece / per_block);
      const size_t offset = piece % per_block * group.piece_bytes, bytes = job.row.length(i);
      if (bytes > 0) copy_piece(to, job.block(i) + offset, std::min<size_t>(group.piece_bytes, bytes - offset));
      return bytes;
    }
    const uint64_t from = 1 + piece * per_piece, upto = std::min<uint64_t>(from + per_piece, group.n);
    for (uint64_t turn = from; turn < upto; ++turn, to += longest) {
      const uint32_t i = at_turn(group, turn);
      if (job.row.length(i) > 0) copy_piece(to, job.block(i), job.row.length(i));
    }
    return group.operand_bytes;
  }
  bool take(const Group& group, uint64_t piece, const char* here, uint64_t sent) {
    const size_t offset = (piece - begin) * group.piece_bytes;
    const size_t room = per_block > 1 ? sent : longest, length = std::min<size_t>(job.bytes, room);
    if (per_block > 1)
      end = std::min(end, begin + pieces_of(group, length));
    else
      here += (turn - 1) % per_piece * longest;
    if (offset < length)
      unpack<copy_piece>(job.own, offset, std::min<size_t>(group.piece_bytes, length - offset), here);
    return per_block > 1 ? sent == job.bytes : job.bytes <= longest;
  }

 private:
  static uint64_t pieces_of(const Group& group, size_t bytes) {
    return (bytes + group.piece_bytes - 1) / group.piece_bytes;
  }
  uint32_t at_turn(const Group& group, uint64_t turn) const { return (job.root + turn) % group.n; }
};

// The part of single copy: the root waits until all have read.
struct ScattervRead : Resumable {
  bool served = true;

  template <typename How, typename Side>
  bool step(How how, Side* side) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        SMELT_AWAIT(side->is_root(group) || how.until(side->job().root, [&] { return side->hear_places(group); }));
        side->take_own(group, &error);
        group.finish_now();
        SMELT_AWAIT(!side->is_root(group) || group.all_finished(how, group.episode));
    }
    return true;
  }
};

struct ScattervAny : Resumable {
  char* const room;
  RowHeading heading{};
  bool is_long = false;
  const void* from = nullptr;
  BeginLong begin;
  ScattervRead read;
  DistributeShelf<RoomsCut> shelf;

  ScattervAny(InlineRoom* rooms, const Group& group, const Scattering& job)
      : room(rooms[0].bytes), shelf(rooms, group, job) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        SMELT_AWAIT(group.shelves_agreed(how));
        if (is_refused(group)) return true;
        ++group.episode;
        if (is_root(group)) {
          say(group);
          SMELT_AWAIT(group.put(how, group.desk().down, from, said_bytes(group), said_kind(group)));
        } else {
          SMELT_AWAIT(group.is_here(how, job().root, group.desks[job().root].down));
          hear(group);
          group.finish_pair();
        }
        if (is_long) {
          SMELT_AWAIT(begin.step(how, SMELT_COLLECTIVE_SCATTERV, heading.longest, read, this));
          if (begin.error) error = begin.error;
          if (begin.done) return true;
          shelf.cut.lay_out(group, heading.longest);
          SMELT_AWAIT(shelf.step(how));
          error = shelf.error;
          SMELT_AWAIT(begin.end(how));
        } else if (is_root(group)) {
          job().keep_own(Towards::kOthers);
        } else {
          SMELT_AWAIT((from = group.get(how, job().root, group.desks[job().root].down, short_bytes(group), room)) !=
                      nullptr);
          unpack(job().own, 0, std::min<size_t>(job().bytes, heading.longest),
                 static_cast<const char*>(from) + (turn_of(group, job().root, group.me) - 1) * heading.longest);
          if (job().bytes > heading.longest) error = -EMSGSIZE;
        }
        group.finish();
    }
    return true;
  }

  const Scattering& job() const { return shelf.cut.job; }
  bool is_root(const Group& group) const { return group.me == job().root; }
  // The heading up to our place, into `room`.
  bool hear_places(Group& group) {
    const InlineSlot* const down = group.desks[job().root].down;
    return group.take_lines(group.slot(down), heading_bytes(group.me + 1), room);
  }
  // Copies our own block, which the root has in its row and the others read.
  void take_own(Group& group, int* failed) {
    if (is_root(group)) return job().keep_own(Towards::kOthers);
    const Introduction& whose = group.introduction(job().root);
    BlockPlace block;
    std::memcpy(&block, room + heading_bytes(group.me), sizeof block);
    if (block.bytes != job().bytes) *failed = -EMSGSIZE;
    const size_t length = std::min(block.bytes, job().bytes), step = job().own.base ? length : kReadBytes;
    for (size_t offset = 0; offset < length; offset += step) {
      const size_t part = std::min(step, length - offset);
      char* const to = job().own.base ? static_cast<char*>(job().own.base) : group.scratch;
      note(read_from(whose, to, block.address + offset, part), failed);
      if (!job().own.base) unpack(job().own, offset, part, to);
    }
  }

 private:
  size_t short_bytes(const Group& group) const { return heading.longest * (group.n - 1); }
  bool reads(const Group& group) const { return may_copy_once(group, SMELT_COLLECTIVE_SCATTERV, heading.longest); }
  size_t said_bytes(const Group& group) const {
    return is_long ? heading_bytes(reads(group) ? group.n : 0) : short_bytes(group);
  }
  uint64_t said_kind(const Group& group) const { return is_long ? kHeadsLong : short_bytes(group); }

  // The root's message: all blocks, or the heading with their places.
  void say(const Group& group) {
    for (uint32_t i = 0; i < group.n; ++i)
      if (i != job().root) heading.longest = std::max<uint64_t>(heading.longest, job().row.length(i));
    is_long = short_bytes(group) > kInlineBytes;
    from = room;
    if (is_long)
      write_heading(group);
    else if (group.n == 2 && heading.longest > 0)
      from = job().block(1 - job().root);
    else
      put_together(group);
  }
  void put_together(const Group& group) {
    std::memset(room, 0, short_bytes(group));
    for (uint32_t i = 0; i < group.n; ++i)
      if (i != job().root && job().row.length(i) > 0)
        copy_piece(room + (turn_of(group, job().root, i) - 1) * heading.longest, job().block(i), job().row.length(i));
  }
  void write_heading(const Group& group) {
    std::memcpy(room, &heading, sizeof heading);
    for (uint32_t i = 0; reads(group) && i < group.n; ++i) {
      const BlockPlace place{reinterpret_cast<uint64_t>(job().block(i)), job().row.length(i)};
      std::memcpy(room + heading_bytes(i), &place, sizeof place);
    }
  }
  void hear(const Group& group) {
    const InlineSlot* const down = group.desks[job().root].down;
    const uint64_t what = group.what_is_here(down);
    is_long = what == kHeadsLong;
    if (is_long)
      std::memcpy(&heading, group.payload(down), sizeof heading);
    else
      heading.longest = what / (group.n - 1);
  }
};

struct ScattervCall : AnyCall {
  const void* in;
  const smelt_place* blocks;
  const smelt_data* out;
  size_t bytes;
  unsigned root;

  VariousRow row() const { return {static_cast<char*>(const_cast<void*>(in)), blocks, 0}; }
  int check(const smelt_group* group) const {
    return !group || !out || root >= group->n || (group->me == root && !is_row(*group, in, blocks)) ? -EINVAL : 0;
  }
  int alone() const { return copy_through(at(row().block(0)), *out, blocks->bytes); }
  template <typename Form>
  int run(Form form) const {
    return form.template run<ScattervAny>(form.group, Scattering{form.out(*out), bytes, row(), root});
  }
};

}  // namespace

void scatterv_table(const Group& group, Table* table) {
  add_methods(group, SMELT_COLLECTIVE_SCATTERV, of_all_blocks(group, "everybody reads the root's"), table);
}

}  // namespace smelt

SMELT_GROUP_CALLS(scatterv, (ScattervCall{{}, in, blocks, out, bytes, root}), const void* in, const smelt_place* blocks,
                  const smelt_data* out, size_t bytes, unsigned root)
