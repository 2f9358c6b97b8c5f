// Gather: everybody's data to the root, one after the other in the order of the participants.
//
//   inline  up to 280 bytes of each, in lines that carry their own flags: everybody writes its own, the root reads all
//   shelf   the same over the shelves, in pieces
//   single  longer ones go straight from memory to memory (rooted_copy.h)
//
// There is no tree, for the reason that allgather.cc gives: n - 1 blocks have to come to the root in any case, and a
// participant that passed one on would only copy it once more. Nobody waits for the root to read; a sender may be up to
// kRing calls, or kPieceRing pieces, ahead.
#include "group/describe.h"
#include "group/rooted_copy.h"

namespace smelt {
namespace {

using Gathering = Rooted<EqualRow>;
using GatherLong = LongMessage<CollectShelf<Gathering>, CopyRooted<Towards::kRoot>>;

struct GatherCall : AnyCall {
  const smelt_data* in;
  void* out;
  size_t bytes;
  unsigned root;

  int check(const smelt_group* group) const {
    return !group || !in || root >= group->n || (group->me == root && !out) ? -EINVAL : 0;
  }
  bool is_nothing(const Group&) const { return bytes == 0; }
  uint64_t operand_bytes(const Group&) const { return bytes; }
  int alone() const { return copy_through(*in, at(out), bytes); }
  template <typename Form>
  int run(Form form) const {
    const Gathering job{form.in(*in), bytes, {static_cast<char*>(out), bytes}, root};
    if (bytes <= kInlineBytes) return form.template run<CollectInline<Gathering>>(job);
    return form.template run<GatherLong>(form.group, job);
  }
};

}  // namespace

void gather_table(const Group& group, Table* table) {
  add_methods(group, SMELT_COLLECTIVE_GATHER, {"the root reads everybody's"}, table);
}

}  // namespace smelt

SMELT_GROUP_CALLS(gather, (GatherCall{{}, in, out, bytes, root}), const smelt_data* in, void* out, size_t bytes,
                  unsigned root)
