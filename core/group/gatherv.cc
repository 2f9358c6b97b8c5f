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
#include "group/describe.h"
#include "group/rows.h"

namespace smelt {
namespace {

// A greater limit for shared memory means that the user wants no single copy.
constexpr uint64_t kGreatestLimit = 1 << 20;
// Instead of an address: the block lies on the shelf already.
constexpr uint64_t kAhead = 0;

// The longest block that is copied to the shelf before the root is told of it.
uint64_t sent_ahead(const Group& group) {
  return std::min<uint64_t>(group.plan.limits.of[SMELT_COLLECTIVE_GATHERV].copy, group.piece_bytes);
}

// A gatherv, as its caller put it. row.most is known once everybody has told its length.
struct Gathering : Rooted<VariousRow> {
  // So many bytes of somebody's go over the shelf: those of a block that is not in its lines. Nobody has gone on since
  // it told the length.
  size_t length(const Group& group, uint32_t i) const {
    if (i == group.me) return bytes > kInlineBytes ? bytes : 0;
    const InlineSlot* const up = group.desks[i].up;
    if (group.what_is_here(up) != kHeadsLong) return 0;
    Heading said;
    std::memcpy(&said, group.payload(up), sizeof said);
    return said.bytes;
  }
  bool takes(const Group& group, uint32_t i) const { return length(group, i) == row.length(i); }
  void begin_pieces(uint32_t) const {}  // the root has kept its own
};

struct GathervAny : Resumable {
  char* const room;
  CollectShelf<Gathering> shelf;
  bool reads = false;  // the root does; then each gatherv has one piece
  Heading heading{};
  uint64_t piece = 0;
  // The root's.
  bool awaited = false;  // by somebody from whom it has read
  uint32_t k = 1, i = 0;
  const void* from = nullptr;

  GathervAny(InlineRoom* rooms, const Group& group, const Gathering& job)
      : room(rooms[0].bytes), shelf(rooms, group, job) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        SMELT_AWAIT(group.shelves_agreed(how));
        if (is_refused(group)) return true;
        if (group.plan.limits.of[SMELT_COLLECTIVE_GATHERV].copy <= kGreatestLimit) {
          SMELT_AWAIT(group.single_copy_agreed(how));
          reads = group.single_copy();
        }
        ++group.episode;
        if (reads) piece = group.pieces++;
        if (group.me == job().root) {
          job().keep_own(Towards::kRoot);
          for (; k < group.n; ++k) {
            i = neighbour(group, k);
            SMELT_AWAIT(group.is_here(how, i, group.desks[i].up));
            heading.bytes = group.what_is_here(group.desks[i].up);
            if (heading.bytes == kHeadsLong) {
              hear(group);
            } else {
              SMELT_AWAIT((from = group.get(how, i, group.desks[i].up, heading.bytes, room)) != nullptr);
              if (expected()) copy_inline(job().block(i), from, heading.bytes);
            }
          }
          group.finish_together();  // every participant has been heard, so each has finished everything before
          if (!reads) {
            SMELT_AWAIT(group.put(how, group.desk().down, &job().row.most, sizeof job().row.most));
          }
        } else {
          if (job().bytes <= kInlineBytes) {
            SMELT_AWAIT(group.put(how, group.desk().up, job().bytes > 0 ? job().own.base : room, job().bytes));
          } else {
            heading = {job().bytes, address(job().own)};
            if (reads && job().bytes <= sent_ahead(group)) {
              SMELT_AWAIT(group.piece_free(how, piece));
              copy_piece(group.up_piece(group.me, piece), job().own.base, job().bytes);
              heading.address = kAhead;
            }
            // It releases the piece, too.
            SMELT_AWAIT(group.put(how, group.desk().up, &heading, sizeof heading, kHeadsLong));
          }
          if (!reads) {
            SMELT_AWAIT(group.is_here(how, job().root, group.desks[job().root].down));
            std::memcpy(&job().row.most, group.payload(group.desks[job().root].down), sizeof job().row.most);
          } else if (job().bytes > kInlineBytes && heading.address != kAhead) {
            SMELT_AWAIT(how.until(job().root, [&] { return group.has_finished(job().root, group.episode); }));
          }
        }
        if (reads) {
          group.consume(piece);
        } else {
          SMELT_AWAIT(shelf.step(how));
        }
        awaited ? group.finish_now() : group.finish();
    }
    return true;
  }

 private:
  Gathering& job() { return shelf.job; }
  // The i-th's announcement. If the root reads, it copies the block from the i-th's shelf or memory.
  void hear(Group& group) {
    std::memcpy(&heading, group.payload(group.desks[i].up), sizeof heading);
    job().row.most = std::max(job().row.most, heading.bytes);
    awaited |= reads && heading.address != kAhead;
    if (!expected() || !reads) return;
    if (heading.address == kAhead)
      copy_piece(job().block(i), group.up_piece(i, piece), std::min<uint64_t>(heading.bytes, group.piece_bytes));
    else
      note(read_from(group.introduction(i), job().block(i), heading.address, heading.bytes), &error);
  }
  // Is what somebody sends as long as the root has been told?
  bool expected() {
    if (heading.bytes == job().row.length(i)) return true;
    error = -EMSGSIZE;
    return false;
  }
};

struct GathervCall : AnyCall {
  const void* in;
  size_t bytes;
  void* out;
  const smelt_place* blocks;
  unsigned root;

  VariousRow row() const { return {static_cast<char*>(out), blocks, 0}; }
  int check(const smelt_group* group) const {
    return !group || (!in && bytes > 0) || root >= group->n || (group->me == root && !is_row(*group, out, blocks))
               ? -EINVAL
               : 0;
  }
  int alone() const { return copy_through(at(in), at(row().block(0)), bytes); }
  template <typename Form>
  int run(Form form) const {
    const smelt_data own = at(in);
    return form.template run<GathervAny>(form.group, Gathering{{form.in(own), bytes, row(), root}});
  }
};

}  // namespace

void gatherv_table(const Group& group, Table* table) {
  table->add(kInlineBytes, "inline, flags in the lines, the root reads everybody's");
  table->add(sent_ahead(group), "through shared memory in one piece, the root reads everybody's");
  table->add(UINT64_MAX, "single copy, the root reads; or through shared memory");
}

}  // namespace smelt

SMELT_GROUP_CALLS(gatherv, (GathervCall{{}, in, bytes, out, blocks, root}), const void* in, size_t bytes, void* out,
                  const smelt_place* blocks, unsigned root)
