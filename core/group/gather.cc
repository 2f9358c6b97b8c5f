// Gather: everybody's data to the root, one after the other in the order of the participants.
//
//   inline  up to 280 bytes of each, in lines that carry their own flags: everybody writes its own, the root reads all
//   shelf   the same over the shelves, in pieces
//   single  longer ones go straight from memory to memory (rooted.h)
//
// There is no tree, for the reason that allgather.cc gives: n - 1 blocks have to come to the root in any case, and a
// participant that passed one on would only copy it once more. Nobody waits for the root to read; a sender may be up to
// kRing calls, or kPieceRing pieces, ahead.
#include "group/rooted.h"

namespace smelt {
namespace {

struct GatherInline : Machine {
  static constexpr int kRooms = 1;
  char* const room;
  const Rooted job;
  const void* from = nullptr;
  uint32_t k = 1;

  GatherInline(InlineRoom* rooms, const Rooted& job) : room(rooms[0].bytes), job(job) {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        if (group.me != job.root) {
          from = packed_view(job.own, 0, job.bytes, room);
          SMELT_AWAIT(how.put(group.desk().up, from, job.bytes));
        } else {
          job.keep_own(Towards::kRoot);
          for (; k < group.n; ++k) {
            SMELT_AWAIT(get(how, Rooted::neighbour(group, k)));
          }
          group.settled = group.episode - 1;  // every participant has been heard, so each has finished everything
                                              // before
        }
        group.finish();
    }
    return true;
  }

 private:
  template <typename How>
  [[gnu::always_inline]] bool get(How how, uint32_t i) {
    char* const to = job.block(i);
    const void* const from = how.get(i, how.group.desks[i].up, job.bytes, to);
    if (!from) return false;
    if (from != to) copy_inline(to, from, job.bytes);
    return true;
  }
};

struct GatherShelf : Machine {
  const Rooted job;
  const Pieces pieces;
  uint64_t number = 0, piece = 0;
  size_t offset = 0, length = 0;
  uint32_t k = 1;

  GatherShelf(InlineRoom*, const Group& group, const Rooted& job) : job(job), pieces(job.bytes, 1, group.piece_bytes) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        if (group.me == job.root) job.keep_own(Towards::kRoot);
        for (; number < pieces.count; ++number) {
          piece = group.pieces++;
          offset = number * pieces.elements, length = pieces.in(number, job.bytes);
          if (group.me != job.root) {
            SMELT_AWAIT(how.piece_free(piece));
            pack(job.own, offset, length, group.up_piece(group.me, piece));
            group.fill(&Desk::filled_up, piece);
          } else {
            for (k = 1; k < group.n; ++k) {
              SMELT_AWAIT(how.filled(Rooted::neighbour(group, k), &Desk::filled_up, piece));
              std::memcpy(job.block(Rooted::neighbour(group, k)) + offset,
                          group.up_piece(Rooted::neighbour(group, k), piece), length);
            }
          }
          group.consume(piece);
        }
    }
    return true;
  }
};

using GatherLong = LongMessage<SMELT_COLLECTIVE_GATHER, GatherShelf, RootedSingle<Towards::kRoot>>;

template <typename Way>
int gather(Way way, const Rooted& job) {
  if (job.bytes <= kInlineBytes) return way.template run<GatherInline>(job);
  return way.template run<GatherLong>(way.group, job);
}

}  // namespace

int group_gather(Group& group, const smelt_data& in, void* out, size_t bytes, uint32_t root) {
  group.begin(bytes);
  return gather(Running{group}, {in, static_cast<char*>(out), bytes, root});
}
int start_gather(Group& group, Pending& place, size_t bytes, uint32_t root) {
  return gather(Starting{group, place, bytes}, {place.in, static_cast<char*>(place.out.base), bytes, root});
}

}  // namespace smelt
