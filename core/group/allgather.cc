// Allgather: everybody's data to everybody, one after the other in the order of the participants.
//
//   inline  up to 224 bytes of each, in lines that carry their own flags: everybody writes its own once and reads all
//           others': one hop
//   shelf   the same over the shelves, in pieces
//   single  longer ones are read straight from the others' memory (single_copy.h)
//
// There is no tree. The rings and doublings of networks (Thakur, Rabenseifner, Gropp: Optimization of collective
// communication operations in MPICH, IJHPCA 19, 2005) save messages by sending a block on together with others; but
// n - 1 blocks have to come to everybody in any case, and in shared memory a block that is read where it was written
// costs no more than one that was passed on. Everybody begins with its neighbour, so that not all read the same.
#include <cerrno>

#include "group/engine.h"
#include "group/fold.h"
#include "group/single_copy.h"

namespace smelt {
namespace {

// What a participant contributes, and where all of it goes. In place, its own is there already.
struct Gathering {
  const smelt_data& in;
  char* out;
  size_t bytes;  // of each

  char* block(uint32_t i) const { return out + i * bytes; }
  // The k-th that `me` reads.
  static uint32_t neighbour(const Group& group, uint32_t k) { return (group.me + k) % group.n; }
  void keep_own(uint32_t me, size_t offset, size_t length, const void* own) const {
    if (in.base != block(me)) std::memcpy(block(me) + offset, own, length);
  }
};

struct AllgatherInline : Machine {
  static constexpr int kRooms = 1;
  char* const room;
  const Gathering job;
  const void* own = nullptr;
  uint32_t k = 1;

  AllgatherInline(InlineRoom* rooms, const Gathering& job) : room(rooms[0].bytes), job(job) {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        own = packed_view(job.in, 0, job.bytes, room);
        SMELT_AWAIT(how.put(group.desk().up, own, job.bytes));
        job.keep_own(group.me, 0, job.bytes, own);
        for (; k < group.n; ++k) {
          SMELT_AWAIT(get(how, Gathering::neighbour(group, k)));
        }
        group.finish_together();
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

struct AllgatherShelf : Machine {
  static constexpr int kRooms = 1;
  const Gathering job;
  Pieces pieces;
  uint64_t piece_number = 0, piece = 0;
  size_t offset = 0, length = 0;
  uint32_t k = 1;

  AllgatherShelf(InlineRoom*, const Group& group, const Gathering& job)
      : job(job), pieces(job.bytes, 1, group.piece_bytes) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        for (; piece_number < pieces.count; ++piece_number) {
          piece = group.pieces++;
          offset = piece_number * pieces.elements, length = pieces.in(piece_number, job.bytes);
          SMELT_AWAIT(how.piece_free(piece));
          pack(job.in, offset, length, group.up_piece(group.me, piece));
          group.fill(&Desk::filled_up, piece);
          job.keep_own(group.me, offset, length, group.up_piece(group.me, piece));
          for (k = 1; k < group.n; ++k) {
            SMELT_AWAIT(how.filled(Gathering::neighbour(group, k), &Desk::filled_up, piece));
            std::memcpy(job.block(Gathering::neighbour(group, k)) + offset,
                        group.up_piece(Gathering::neighbour(group, k), piece), length);
          }
          group.consume(piece);
        }
    }
    return true;
  }
};

// `served`: false means "take the shelves". error: the kernel refused after all.
struct AllgatherSingle : Machine {
  const Gathering job;
  bool served = false;
  ExchangeNotices notices;

  explicit AllgatherSingle(const Gathering& job) : job(job) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        notices.all[group.me] = {address(job.in), 0, job.bytes};
        SMELT_AWAIT(notices.step(how));
        served = true;
        if (!notices.are_as_long(group)) return true;
        for (uint32_t i = 0; i < group.n; ++i) served &= notices.all[i].in != 0;
        if (!served) return true;
        job.keep_own(group.me, 0, job.bytes, job.in.base);
        for (uint32_t n = 1; n < group.n; ++n) {
          const uint32_t i = Gathering::neighbour(group, n);
          note(read_from(group.introduction(i), job.block(i), notices.all[i].in, job.bytes), &error);
        }
        // Nobody may go on before all have read.
        group.finish_now();
        SMELT_AWAIT(how.all_finished(group, group.episode));
    }
    return true;
  }
};

struct AllgatherLong : Machine {
  static constexpr int kRooms = 1;
  const size_t bytes;
  BeginLong begin;
  AllgatherShelf shelf;
  AllgatherSingle single;

  AllgatherLong(InlineRoom* rooms, const Group& group, const Gathering& job)
      : bytes(job.bytes), shelf(rooms, group, job), single(job) {}

  template <typename How>
  bool step(How how) {
    switch (resume_at(how)) {
      case 0:
        SMELT_AWAIT(begin.step(how, SMELT_COLLECTIVE_ALLGATHER, bytes, single));
        error = begin.error;
        if (begin.done) return true;
        SMELT_AWAIT(shelf.step(how));
    }
    return true;
  }
};

template <typename Way>
int allgather(Way way, const Gathering& job) {
  if (job.bytes <= kInlineBytes) return way.template run<AllgatherInline>(job);
  return way.template run<AllgatherLong>(way.group, job);
}

}  // namespace

int group_allgather(Group& group, const smelt_data& in, void* out, size_t bytes) {
  group.begin(bytes);
  return allgather(Running{group}, {in, static_cast<char*>(out), bytes});
}
int start_allgather(Group& group, Pending& place, size_t bytes) {
  return allgather(Starting{group, place, bytes}, {place.in, static_cast<char*>(place.out.base), bytes});
}

}  // namespace smelt
