#include "transport/ring.h"

namespace smelt {
namespace {

// The least of everybody else's. Acquire: the slots that its owner read before it counted may be overwritten
// afterwards.
template <typename CounterOf>
uint64_t least_of(const Rings& rings, CounterOf counter_of) {
  uint64_t least = UINT64_MAX;
  for (uint32_t i = 0; i < rings.n; ++i) {
    if (i == rings.me) continue;
    const uint64_t now = counter_of(rings.desks[i]).load(std::memory_order_acquire);
    if (now < least) least = now;
  }
  return least;
}

}  // namespace

const void* Rings::get_differing(const InlineSlot* channel, size_t bytes, void* room) {
  lengths_differ = true;
  if (bytes <= kLinePayload) return payload(channel);
  std::memset(room, 0, bytes);
  return room;
}

void Rings::note_finished() {
  const uint64_t least = least_of(*this, [](Desk& desk) -> std::atomic<uint64_t>& { return desk.status.finished; });
  // `finished` is not written by collectives that settle by themselves, so it may lag behind our knowledge.
  if (least > settled) settled = least;
}

void Rings::note_consumed() {
  drained = least_of(*this, [](Desk& desk) -> std::atomic<uint64_t>& { return desk.consumed.value; });
}

bool Rings::all_cast(Question question, bool* all) {
  for (; behind < n; ++behind) {
    const uint32_t vote = desks[behind].status.vote[question].load(std::memory_order_acquire);
    if (vote != vote_for(true) && vote != vote_for(false)) return false;
  }
  behind = 0;
  *all = true;
  for (uint32_t i = 0; i < n; ++i)
    *all &= desks[i].status.vote[question].load(std::memory_order_relaxed) == vote_for(true);
  return true;
}

}  // namespace smelt
