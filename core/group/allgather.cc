// Allgather: everybody's data to everybody, one after the other in the order of the participants; or, allgatherv, as
// many of each, and to such places, as everybody says of all. Then the longest decides.
//
//   inline  up to 280 bytes of each, in lines that carry their own flags: everybody writes its own once and reads all
//           others': one hop
//   shelf   the same over the shelves, in pieces
//   single  longer ones are read straight from the others' memory (single_copy.h)
//
// There is no tree. The rings and doublings of networks (Thakur, Rabenseifner, Gropp: Optimization of collective
// communication operations in MPICH, IJHPCA 19, 2005) save messages by sending a block on together with others. But n -
// 1 blocks have to come to everybody in any case, and in shared memory a block that is read where it was written costs
// no more than one that was passed on. Everybody begins with its neighbour, so that not all read the same.
#include <algorithm>
#include <cerrno>

#include "group/engine.h"
#include "group/fold.h"
#include "group/single_copy.h"

namespace smelt {
namespace {

// A participant's contribution, and the place for all of them. In place, its own is there already. As many bytes of
// each ...
struct Equal {
  const smelt_data& in;
  char* out;
  size_t bytes;

  size_t length(uint32_t) const { return bytes; }
  size_t longest() const { return bytes; }
  char* block(uint32_t i) const { return out + i * bytes; }
};
// ... or as everybody has said of all.
struct Various {
  const smelt_data& in;
  char* out;
  const smelt_place* blocks;
  size_t most;

  size_t length(uint32_t i) const { return blocks[i].bytes; }
  size_t longest() const { return most; }
  char* block(uint32_t i) const { return out + blocks[i].offset; }
};

// The k-th that `me` reads.
uint32_t neighbour(const Group& group, uint32_t k) { return (group.me + k) % group.n; }
template <typename Job>
void keep_own(const Job& job, uint32_t me, size_t offset, size_t length, const void* own) {
  if (length > 0 && job.in.base != job.block(me)) std::memcpy(job.block(me) + offset, own, length);
}

template <typename Job>
struct AllgatherInline : Machine {
  static constexpr int kRooms = 1;
  char* const room;
  const Job job;
  const void* own = nullptr;
  uint32_t k = 1;

  AllgatherInline(InlineRoom* rooms, const Job& job) : room(rooms[0].bytes), job(job) {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        own = packed_view(job.in, 0, job.length(group.me), room);
        SMELT_AWAIT(how.put(group.desk().up, own, job.length(group.me)));
        keep_own(job, group.me, 0, job.length(group.me), own);
        for (; k < group.n; ++k) {
          SMELT_AWAIT(get(how, neighbour(group, k)));
        }
        group.finish_together();
    }
    return true;
  }

 private:
  template <typename How>
  [[gnu::always_inline]] bool get(How how, uint32_t i) {
    char* const to = job.block(i);
    const void* const from = how.get(i, how.group.desks[i].up, job.length(i), to);
    if (!from) return false;
    if (from != to) copy_inline(to, from, job.length(i));
    return true;
  }
};

// A participant that has less than the others has nothing in the last pieces.
template <typename Job>
struct AllgatherShelf : Machine {
  static constexpr int kRooms = 1;
  const Job job;
  const Pieces pieces;
  uint64_t piece_number = 0, piece = 0;
  size_t offset = 0;
  uint32_t k = 1, i = 0;

  AllgatherShelf(InlineRoom*, const Group& group, const Job& job)
      : job(job), pieces(job.longest(), 1, group.piece_bytes) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        for (; piece_number < pieces.count; ++piece_number) {
          piece = group.pieces++;
          offset = piece_number * pieces.elements;
          if (part(group.me) > 0) {
            SMELT_AWAIT(how.piece_free(piece));
            pack(job.in, offset, part(group.me), group.up_piece(group.me, piece));
            group.fill(&Desk::filled_up, piece);
            keep_own(job, group.me, offset, part(group.me), group.up_piece(group.me, piece));
          }
          for (k = 1; k < group.n; ++k) {
            i = neighbour(group, k);
            if (part(i) == 0) continue;
            SMELT_AWAIT(how.filled(i, &Desk::filled_up, piece));
            std::memcpy(job.block(i) + offset, group.up_piece(i, piece), part(i));
          }
          group.consume(piece);
        }
    }
    return true;
  }

 private:
  // Somebody's bytes in this piece.
  size_t part(uint32_t i) const {
    return job.length(i) > offset ? std::min(job.length(i) - offset, pieces.elements) : 0;
  }
};

// `served`: false means "take the shelves". error: the kernel refused after all.
template <typename Job>
struct AllgatherSingle : Machine {
  const Job job;
  bool served = false;
  ExchangeNotices notices;
  static constexpr uint64_t kNothing = 1;  // the address of a participant that contributes nothing

  explicit AllgatherSingle(const Job& job) : job(job) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        notices.all[group.me] = {job.length(group.me) == 0 ? kNothing : address(job.in), 0, group.operand_bytes};
        SMELT_AWAIT(notices.step(how));
        served = true;
        if (!notices.are_as_long(group)) return true;
        for (uint32_t i = 0; i < group.n; ++i) served &= notices.all[i].in != 0;
        if (!served) return true;
        keep_own(job, group.me, 0, job.length(group.me), job.in.base);
        for (uint32_t n = 1; n < group.n; ++n) {
          const uint32_t i = neighbour(group, n);
          if (job.length(i) > 0)
            note(read_from(group.introduction(i), job.block(i), notices.all[i].in, job.length(i)), &error);
        }
        // Nobody may go on before all have read.
        group.finish_now();
        SMELT_AWAIT(how.all_finished(group, group.episode));
    }
    return true;
  }
};

template <smelt_collective kWhich, typename Way, typename Job>
int allgather(Way way, const Job& job) {
  if (job.longest() <= kInlineBytes) return way.template run<AllgatherInline<Job>>(job);
  return way.template run<LongMessage<kWhich, AllgatherShelf<Job>, AllgatherSingle<Job>>>(way.group, job);
}

Various various(const Group& group, const smelt_data& in, void* out, const smelt_place* blocks) {
  size_t most = 0;
  for (uint32_t i = 0; i < group.n; ++i) most = std::max(most, blocks[i].bytes);
  return {in, static_cast<char*>(out), blocks, most};
}

// Tells lists of lengths apart, though two may have the same sum (multiplicative hashing: Knuth, The Art of Computer
// Programming 3, 6.4). Greater than any length.
uint64_t all_lengths(const Group& group, const smelt_place* blocks) {
  uint64_t number = 0;
  for (uint32_t i = 0; i < group.n; ++i) number = (number ^ blocks[i].bytes) * 0x9E3779B97F4A7C15;
  return number | uint64_t{1} << 63;
}

}  // namespace

int group_allgather(Group& group, const smelt_data& in, void* out, size_t bytes) {
  group.begin(bytes);
  return allgather<SMELT_COLLECTIVE_ALLGATHER>(Running{group}, Equal{in, static_cast<char*>(out), bytes});
}
int start_allgather(Group& group, Pending& place, size_t bytes) {
  return allgather<SMELT_COLLECTIVE_ALLGATHER>(Starting{group, place, bytes},
                                               Equal{place.in, static_cast<char*>(place.out.base), bytes});
}

// All must give the same list of lengths.
int group_allgatherv(Group& group, const smelt_data& in, void* out, const smelt_place* blocks) {
  group.begin(all_lengths(group, blocks));
  return allgather<SMELT_COLLECTIVE_ALLGATHERV>(Running{group}, various(group, in, out, blocks));
}
int start_allgatherv(Group& group, Pending& place, const smelt_place* blocks) {
  return allgather<SMELT_COLLECTIVE_ALLGATHERV>(Starting{group, place, all_lengths(group, blocks)},
                                                various(group, place.in, place.out.base, blocks));
}

}  // namespace smelt
