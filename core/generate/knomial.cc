// k-nomial tree: everyone informed keeps sending, K - 1 messages per level.
//
// Write the positions in base K. A position's parent is itself with its lowest non-zero digit cleared, so its
// children differ from it in one digit below that one. K = 2 is the binomial tree:
//
//          000
//        /  |  \           The children with the larger subtrees are served first: 4, 2, 1.
//      100 010 001
//      / \   \             Larger K trades depth for work per node; how much pays depends on what a further message
//    110 101 011           costs against a hop ("Optimizing Collective Communication on Multicores", HotPar 2009).
//     |
//    111                   K = 1 has no digits to differ in; it stands for the chain 0 - 1 - 2 - ...
#include "generate/patterns.h"

namespace smelt {

int knomial_tree(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out) {
  if (arg == 0 || arg > kMaxParticipants) return -EINVAL;
  const uint32_t n = costs.n;
  if (int error = start_tree(n, root, 0, arena, out)) return error;
  if (arg == 1) {
    for (uint32_t i = 1; i < n; ++i) append_child(*out, at_position(i - 1, out->root), at_position(i, out->root));
    return 0;
  }
  uint32_t top = 1;  // the largest power of K a position below n can hold
  while (top * arg < n) top *= arg;
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t power = top; power > 0; power /= arg) {
      if (i % (power * arg) != 0) continue;  // only digits below the lowest non-zero one are free
      for (uint32_t digit = 1; digit < arg && i + digit * power < n; ++digit) {
        append_child(*out, at_position(i, out->root), at_position(i + digit * power, out->root));
      }
    }
  }
  return 0;
}

int binomial_tree(const Costs& costs, uint32_t, int root, Arena& arena, Tree* out) {
  return knomial_tree(costs, 2, root, arena, out);
}

}  // namespace smelt
