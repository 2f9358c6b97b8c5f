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
#include "group/describe.h"
#include "group/rows.h"

namespace smelt {
namespace {

template <smelt_collective kWhich, typename Row>
struct AllgatherWork : InOnePiece<kWhich> {
  using Job = ToAll<Row>;
  static constexpr uint64_t kNothing = 1;  // the address of a participant that contributes nothing

  static Notice notice(const Group& group, const Job& job) {
    return {job.row.length(group.me) == 0 ? kNothing : address(job.own), 0, group.operand_bytes};
  }
  static void copy(Group& group, const Job& job, const Notice* all, int* error) {
    job.keep_own_part(group.me, 0, job.row.length(group.me), job.own.base);
    for (uint32_t k = 1; k < group.n; ++k) {
      const uint32_t i = neighbour(group, k);
      if (job.row.length(i) > 0)
        note(read_from(group.introduction(i), job.block(i), all[i].in, job.row.length(i)), error);
    }
  }
};

template <smelt_collective kWhich, typename Form, typename Row>
int allgather(Form form, const smelt_data& in, const Row& row) {
  using Job = ToAll<Row>;
  const Job job{in, row};
  if (job.longest() <= kInlineBytes) return form.template run<CollectInline<Job>>(job);
  return form.template run<LongMessage<CollectShelf<Job>, AllgatherWork<kWhich, Row>>>(form.group, job);
}

VariousRow row_of(const Group& group, void* out, const smelt_place* blocks) {
  size_t most = 0;
  for (uint32_t i = 0; i < group.n; ++i) most = std::max(most, blocks[i].bytes);
  return {static_cast<char*>(out), blocks, most};
}

// Tells lists of lengths apart, though two may have the same sum (multiplicative hashing: Knuth, The Art of Computer
// Programming 3, 6.4). Greater than any length.
uint64_t all_lengths(const Group& group, const smelt_place* blocks) {
  uint64_t number = 0;
  for (uint32_t i = 0; i < group.n; ++i) number = (number ^ blocks[i].bytes) * 0x9E3779B97F4A7C15;
  return number | uint64_t{1} << 63;
}

struct AllgatherCall : AnyCall {
  const smelt_data* in;
  void* out;
  size_t bytes;

  int check(const smelt_group* group) const { return !group || !in || (!out && bytes > 0) ? -EINVAL : 0; }
  bool is_nothing(const Group&) const { return bytes == 0; }
  uint64_t operand_bytes(const Group&) const { return bytes; }
  int alone() const { return copy_through(*in, at(out), bytes); }
  template <typename Form>
  int run(Form form) const {
    return allgather<SMELT_COLLECTIVE_ALLGATHER>(form, form.in(*in), EqualRow{static_cast<char*>(out), bytes});
  }
};

// All must give the same list of lengths.
struct AllgathervCall : AnyCall {
  const smelt_data* in;
  void* out;
  const smelt_place* blocks;

  int check(const smelt_group* group) const { return !group || !in || !out || !blocks ? -EINVAL : 0; }
  bool is_nothing(const Group& group) const { return sum_of(group, blocks) == 0; }
  uint64_t operand_bytes(const Group& group) const { return all_lengths(group, blocks); }
  int alone() const { return copy_through(*in, at(static_cast<char*>(out) + blocks->offset), blocks->bytes); }
  template <typename Form>
  int run(Form form) const {
    return allgather<SMELT_COLLECTIVE_ALLGATHERV>(form, form.in(*in), row_of(form.group, out, blocks));
  }
};

}  // namespace

void allgather_table(const Group& group, Table* table) {
  add_methods(group, SMELT_COLLECTIVE_ALLGATHER, {"everybody reads everybody's"}, table);
}
void allgatherv_table(const Group& group, Table* table) {
  add_methods(group, SMELT_COLLECTIVE_ALLGATHERV, {"everybody reads everybody's"}, table);
}

}  // namespace smelt

SMELT_GROUP_CALLS(allgather, (AllgatherCall{{}, in, out, bytes}), const smelt_data* in, void* out, size_t bytes)
SMELT_GROUP_CALLS(allgatherv, (AllgathervCall{{}, in, out, blocks}), const smelt_data* in, void* out,
                  const smelt_place* blocks)
