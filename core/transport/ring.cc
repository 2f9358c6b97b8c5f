#include "transport/ring.h"

namespace smelt {
namespace {

// Has a counter of everybody else's come to `upto`? Then the least of them, else `behind` names who is behind.
// Acquire: what its owner read before it counted may be overwritten afterwards.
template <typename CounterOf>
bool all_at(Rings& rings, uint64_t upto, CounterOf counter_of, uint64_t* least) {
  for (; rings.behind < rings.n; ++rings.behind) {
    if (rings.behind == rings.me) continue;
    if (counter_of(rings.desks[rings.behind]).load(std::memory_order_acquire) < upto) return false;
  }
  rings.behind = 0;
  *least = UINT64_MAX;
  for (uint32_t i = 0; i < rings.n; ++i) {
    if (i == rings.me) continue;
    const uint64_t now = counter_of(rings.desks[i]).load(std::memory_order_acquire);
    if (now < *least) *least = now;
  }
  return true;
}

}  // namespace

const void* Rings::try_get_lines(const InlineLine* line, size_t bytes, char* room) {
  for (;; ++lines) {
    const size_t offset = size_t{lines} * kLinePayload, left = bytes - offset;
    if (line[lines].episode.load(std::memory_order_acquire) != episode) return nullptr;
    std::memcpy(room + offset, line[lines].payload, left < kLinePayload ? left : kLinePayload);
    if (left <= kLinePayload) break;
  }
  lines = 0;
  return room;
}

bool Rings::all_finished(uint64_t upto) {
  uint64_t least;
  if (!all_at(
          *this, upto, [](Desk& desk) -> std::atomic<uint64_t>& { return desk.status.finished; }, &least))
    return false;
  // `finished` is not written by collectives that settle by themselves, so it may lag behind what is known.
  if (least > settled) settled = least;
  return true;
}

bool Rings::all_consumed(uint64_t upto) {
  return all_at(
      *this, upto, [](Desk& desk) -> std::atomic<uint64_t>& { return desk.consumed.value; }, &drained);
}

bool Rings::all_cast(Question question, bool* all) {
  for (; behind < n; ++behind)
    if (desks[behind].status.vote[question].load(std::memory_order_acquire) == 0) return false;
  behind = 0;
  *all = true;
  for (uint32_t i = 0; i < n; ++i) *all &= desks[i].status.vote[question].load(std::memory_order_relaxed) == 1;
  return true;
}

}  // namespace smelt
