// Alltoall: a row of blocks from everybody, the i-th of them to participant i.
//
// Everybody sends its row as a stream (rows.h): the next participant's block first, its own left out. So participants
// that read the others' streams at the same pace read from different participants at any time.
//
//   inline  a stream of up to 280 bytes, in lines that carry their own flags: everybody writes its own once and reads
//           of all others' the lines that hold its block: one hop
//   shelf   the streams over the shelves, in pieces
//   single  long blocks are read straight from the others' memory (single_copy.h)
//
// Networks rotate for the same reason: nobody reads where another does (Thakur, Rabenseifner, Gropp: Optimization of
// collective communication operations in MPICH, IJHPCA 19, 2005). The logarithmic algorithm for short blocks (Bruck et
// al., 1997) saves messages, of which shared memory needs one of each participant in any case.
#include <algorithm>
#include <cerrno>

#include "group/describe.h"
#include "group/rows.h"

namespace smelt {
namespace {

// The rows that are sent and received; they do not overlap.
struct Rows {
  const char* in;
  char* out;
  size_t bytes;  // of a block

  size_t longest() const { return bytes; }
  Stream sent(const Group& group) const { return {in, bytes, group.me, group.n}; }

  static uint32_t sender(const Group& group, uint32_t t) {
    const uint32_t i = group.me + group.n - 1 - t;
    return i < group.n ? i : i - group.n;
  }
  // The place in that sender's stream where our block begins.
  size_t place(uint32_t t) const { return t * bytes; }
  char* block(uint32_t i) const { return out + i * bytes; }
  void keep_own(uint32_t me) const {
    const char* const own = in + me * bytes;
    bytes < kLongOwnBlock ? static_cast<void>(std::memcpy(block(me), own, bytes)) : copy_piece(block(me), own, bytes);
  }
};

struct AlltoallInline : Resumable {
  char* const room;
  const Rows job;
  uint32_t t = 0;
  uint32_t line = 0, begin = 0;  // where our block begins in the t-th sender's stream: behind so many lines and bytes

  AlltoallInline(InlineRoom* rooms, const Rows& job) : room(rooms[0].bytes), job(job) {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        SMELT_AWAIT(group.put(how, group.desk().up, own(group), job.sent(group).length()));
        job.keep_own(group.me);
        for (; t < group.n - 1; ++t) {
          SMELT_AWAIT(get(how));
        }
        group.finish_together();
    }
    return true;
  }

 private:
  const char* own(const Group& group) const { return job.sent(group).part(0, job.sent(group).length(), room); }

  // Our block, line after line of those that hold it. A stream of another length may end before; its first line says
  // so.
  template <typename How>
  [[gnu::always_inline]] bool get(How how) {
    Group& group = how.group;
    const uint32_t i = Rows::sender(group, t);
    const InlineLine* const lines = group.slot(group.desks[i].up);
    const InlineLine* at = lines + line;
    const uint64_t expected = group.flag_of(job.sent(group).length());
    uint64_t flag = 0;
    uint32_t polls = 0;
    const auto ready = [&] {
      flag = at->flag.load(std::memory_order_acquire);
      if (flag == expected) return true;
      if (!How::kStops && ++polls % kPollsHere != 0) return false;
      flag = lines->flag.load(std::memory_order_acquire);
      return group.is_here(flag) && flag != expected;
    };
    char* to = job.block(i);
    size_t skipped = begin, left = job.bytes;
    for (;; ++at, skipped = 0) {
      if (!how.until(i, ready)) return false;
      if (flag != expected) [[unlikely]] {
        group.lengths_differ = true;
        return true;
      }
      const size_t length = std::min(left, kLinePayload - skipped);
      copy_inline(to, at->payload + skipped, length);
      to += length, left -= length, skipped += length;
      if (left == 0) break;
    }
    if (skipped == kLinePayload) ++at, skipped = 0;
    line = static_cast<uint32_t>(at - lines), begin = static_cast<uint32_t>(skipped);
    return true;
  }
};

struct AlltoallShelf : Resumable {
  const Rows job;
  const size_t total;
  Pieces pieces;
  uint64_t k = 0, piece = 0;
  size_t begin = 0, end = 0;  // of the piece in each stream
  uint32_t t = 0;

  AlltoallShelf(InlineRoom*, const Group& group, const Rows& job)
      : job(job), total(job.sent(group).length()), pieces(total, 1, group.piece_bytes) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        job.keep_own(group.me);
        for (; k < pieces.count; ++k) {
          piece = group.pieces++;
          begin = k * pieces.elements, end = begin + pieces.in(k, total);
          SMELT_AWAIT(group.piece_free(how, piece));
          put(group);
          for (t = static_cast<uint32_t>(begin / job.bytes); t < group.n - 1 && job.place(t) < end; ++t) {
            SMELT_AWAIT(group.filled(how, Rows::sender(group, t), &Desk::filled_up, piece));
            get(group);
          }
          group.consume(piece);
        }
    }
    return true;
  }

 private:
  void put(Group& group) const {
    job.sent(group).copy(begin, end - begin, group.up_piece(group.me, piece));
    group.fill(&Desk::filled_up, piece);
  }
  // Copies the part of the t-th block that is in the piece.
  void get(Group& group) const {
    const uint32_t i = Rows::sender(group, t);
    const size_t from = std::max(begin, job.place(t)), upto = std::min(end, job.place(t + 1));
    copy_piece(job.block(i) + (from - job.place(t)), group.up_piece(i, piece) + (from - begin), upto - from);
  }
};

struct AlltoallWork : InOnePiece<SMELT_COLLECTIVE_ALLTOALL> {
  using Job = Rows;
  static Notice notice(const Group& group, const Rows& job) {
    return {reinterpret_cast<uint64_t>(job.in), 0, job.sent(group).length()};
  }
  static void copy(Group& group, const Rows& job, const Notice* all, int* error) {
    job.keep_own(group.me);
    for (uint32_t t = 0; t < group.n - 1; ++t) {
      const uint32_t i = Rows::sender(group, t);
      note(read_from(group.introduction(i), job.block(i), all[i].in + group.me * job.bytes, job.bytes), error);
    }
  }
};

using AlltoallLong = LongMessage<AlltoallShelf, AlltoallWork>;

struct AlltoallCall : AnyCall {
  const void* in;
  void* out;
  size_t bytes;

  int check(const smelt_group* group) const { return !group || ((!in || !out) && bytes > 0) ? -EINVAL : 0; }
  bool is_nothing(const Group&) const { return bytes == 0; }
  uint64_t operand_bytes(const Group& group) const { return (group.n - 1) * bytes; }
  int alone() const { return copy_through(at(in), at(out), bytes); }
  template <typename Form>
  int run(Form form) const {
    const Rows job{static_cast<const char*>(in), static_cast<char*>(out), bytes};
    if (operand_bytes(form.group) <= kInlineBytes) return form.template run<AlltoallInline>(job);
    return form.template run<AlltoallLong>(form.group, job);
  }
};

}  // namespace

void alltoall_table(const Group& group, Table* table) {
  add_methods(group, SMELT_COLLECTIVE_ALLTOALL, of_all_blocks(group, "everybody reads a block of everybody's"), table);
}

}  // namespace smelt

SMELT_GROUP_CALLS(alltoall, (AlltoallCall{{}, in, out, bytes}), const void* in, void* out, size_t bytes)
