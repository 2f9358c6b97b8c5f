// Scatter: to everybody its block of the root's row.
//
//   inline  up to 280 bytes for all together, in lines that carry their own flags: the root writes the row once, and
//           everybody takes its block out of it
//   shelf   the same over the root's shelf, in pieces
//   single  longer ones go straight from memory to memory (rooted_copy.h)
//
// The row goes as a stream (rows.h), so the root's own block is not sent. Every other participant looks only at the
// pieces that have something of its block, and says at once that it has done with the others. So the first leave while
// the root still writes for the last. The root waits for nobody to receive; it may be up to kRing calls, or kPieceRing
// pieces, ahead.
#include "group/describe.h"
#include "group/rooted_copy.h"

namespace smelt {
namespace {

using Scattering = Rooted<EqualRow>;

Stream stream_of(const Group& group, const Scattering& job) { return {job.row.base, job.bytes, job.root, group.n}; }

struct ScatterInline : Resumable {
  char* const room;
  const Scattering job;
  const void* from = nullptr;

  ScatterInline(InlineRoom* rooms, const Scattering& job) : room(rooms[0].bytes), job(job) {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        if (group.me == job.root) {
          from = stream_of(group, job).part(0, group.operand_bytes, room);
          SMELT_AWAIT(group.put(how, group.desk().down, from, group.operand_bytes));
          job.keep_own(Towards::kOthers);
        } else {
          SMELT_AWAIT((from = group.get(how, job.root, group.desks[job.root].down, group.operand_bytes, room)) !=
                      nullptr);
          unpack(job.own, 0, job.bytes, static_cast<const char*>(from) + stream_of(group, job).place(group.me));
          group.finish_pair();
        }
        group.finish();
    }
    return true;
  }
};

// The stream, cut into pieces.
struct StreamCut {
  const Scattering job;
  const Stream stream;
  const Pieces in_all;
  const uint64_t pieces = in_all.count;
  size_t place = 0;  // where our block begins
  uint64_t begin = 0, end = 0;

  StreamCut(const Group& group, const Scattering& job)
      : job(job), stream(stream_of(group, job)), in_all(stream.length(), 1, group.piece_bytes) {
    if (group.me == job.root) return;
    place = stream.place(group.me);
    begin = place / in_all.elements, end = (place + job.bytes - 1) / in_all.elements + 1;
  }
  static bool has(const Group&, uint64_t) { return true; }
  uint64_t put(const Group& group, uint64_t piece, char* to) const {
    stream.copy(piece * in_all.elements, in_all.in(piece, stream.length()), to);
    return group.operand_bytes;
  }
  bool take(const Group&, uint64_t piece, const char* here, uint64_t) const {
    const size_t first = piece * in_all.elements, last = first + in_all.in(piece, stream.length());
    const size_t from = std::max(first, place), upto = std::min(last, place + job.bytes);
    unpack<copy_piece>(job.own, from - place, upto - from, here + (from - first));
    return true;
  }
};

using ScatterLong = LongMessage<DistributeShelf<StreamCut>, CopyRooted<Towards::kOthers>>;

template <typename Form>
int scatter(Form form, const Scattering& job) {
  if (stream_of(form.group, job).length() <= kInlineBytes) return form.template run<ScatterInline>(job);
  return form.template run<ScatterLong>(form.group, job);
}

struct ScatterCall : AnyCall {
  const void* in;
  const smelt_data* out;
  size_t bytes;
  unsigned root;

  int check(const smelt_group* group) const {
    return !group || !out || root >= group->n || (group->me == root && !in) ? -EINVAL : 0;
  }
  bool is_nothing(const Group&) const { return bytes == 0; }
  uint64_t operand_bytes(const Group& group) const { return (group.n - 1) * bytes; }
  int alone() const { return copy_through(at(in), *out, bytes); }
  template <typename Form>
  int run(Form form) const {
    return scatter(form, {form.out(*out), bytes, {static_cast<char*>(const_cast<void*>(in)), bytes}, root});
  }
};

}  // namespace

void scatter_table(const Group& group, Table* table) {
  add_methods(group, SMELT_COLLECTIVE_SCATTER, of_all_blocks(group, "everybody reads the root's"), table);
}

}  // namespace smelt

SMELT_GROUP_CALLS(scatter, (ScatterCall{{}, in, out, bytes, root}), const void* in, const smelt_data* out, size_t bytes,
                  unsigned root)
