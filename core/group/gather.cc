// Gather: everybody's data to the root, one after the other in the order of the participants.
//
//   inline  up to 280 bytes of each, in lines that carry their own flags: everybody writes its own, the root reads all
//   shelf   the same over the shelves, in pieces
//   single  longer ones go straight from memory to memory (rooted_copy.h)
//
// There is no tree, for the reason that allgather.cc gives: n - 1 blocks have to come to the root in any case, and a
// participant that passed one on would only copy it once more. Nobody waits for the root to read; a sender may be up to
// kRing calls, or kPieceRing pieces, ahead.
#include "group/rooted_copy.h"

namespace smelt {
namespace {

using Gathering = Rooted<EqualRow>;
using GatherLong = LongMessage<SMELT_COLLECTIVE_GATHER, CollectShelf<Gathering>, CopyRooted<Towards::kRoot>>;

template <typename Way>
int gather(Way way, const Gathering& job) {
  if (job.bytes <= kInlineBytes) return way.template run<CollectInline<Gathering>>(job);
  return way.template run<GatherLong>(way.group, job);
}

}  // namespace

int group_gather(Group& group, const smelt_data& in, void* out, size_t bytes, uint32_t root) {
  group.begin(bytes);
  return gather(Running{group}, {in, bytes, {static_cast<char*>(out), bytes}, root});
}
int start_gather(Group& group, Pending& place, size_t bytes, uint32_t root) {
  return gather(Starting{group, place, bytes}, {place.in, bytes, {static_cast<char*>(place.out.base), bytes}, root});
}

}  // namespace smelt
