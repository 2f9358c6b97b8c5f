#include "schedule/fixed_order.h"

#include <cerrno>

namespace smelt {

int fixed_order_schedule(uint32_t n, uint16_t root, Arena& arena, Schedule* out) {
  char* const start = arena.mark();
  Schedule made{
      n, Operation::kReduce, root, arena.make<uint32_t>(n + 1), arena.make<Step>(2 * n), arena.make<uint16_t>(2 * n)};
  if (!made.begin || !made.steps || !made.peers) {
    arena.rewind(start);
    return -ENOMEM;
  }
  uint32_t steps = 0, peers = 0;
  for (uint32_t i = 0; i < n; ++i) {
    made.begin[i] = steps;
    const uint32_t block = i / kBlockSize, first = peers;
    if (i == root || i == head_of_block(block, root)) {
      for (uint32_t b = (n + kBlockSize - 1) / kBlockSize; b-- > 0;) {
        if (b != block) {
          if (i == root) made.peers[peers++] = static_cast<uint16_t>(head_of_block(b, root));
          continue;
        }
        for (uint32_t k = b * kBlockSize + kBlockSize < n ? b * kBlockSize + kBlockSize : n; k-- > b * kBlockSize;)
          if (k != i) made.peers[peers++] = static_cast<uint16_t>(k);
      }
    }
    if (peers > first) made.steps[steps++] = Step{StepKind::kWait, false, first, peers - first, true};
    if (i == root) continue;
    made.steps[steps++] = Step{StepKind::kSignal, false, peers, 1};
    const uint32_t head = head_of_block(block, root);
    made.peers[peers++] = static_cast<uint16_t>(i == head ? root : head);
  }
  made.begin[n] = steps;
  *out = made;
  return 0;
}

}  // namespace smelt
