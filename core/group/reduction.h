// What reduce and allreduce share: machines (engine.h) that combine.
#pragma once

#include "group/engine.h"
#include "group/fold.h"

namespace smelt {

inline constexpr uint32_t kEverybody = ~0u;  // as a root

// A reduction, as its caller put it. `out` is empty where no result is wanted.
struct Reduction {
  const smelt_data& in;
  const smelt_data& out;
  size_t elements;
  const smelt_fold& fold;
  uint32_t root;  // or kEverybody

  size_t bytes() const { return elements * fold.element_bytes; }
};

// Everybody's operands in this episode, to be combined from the right: what is asked for first stays until the second
// has been combined with it, so two places are enough for those that take several lines.
struct InlineOperands {
  bool turn = false;
  InlineRoom place[2];

  template <typename How>
  const void* get(How how, uint32_t i, const void* own, size_t bytes) {
    if (i == how.group.me) return own;
    const void* const operand = how.get(i, how.group.desks[i].up, bytes, place[turn].bytes);
    if (operand) turn = !turn;
    return operand;
  }
};

// Our own operands and what the others have put into their up slots in this episode, combined; at most a block of
// participants.
struct CombineInline : Machine {
  Chain chain;
  InlineRoom room;
  InlineOperands operands;

  template <typename How>
  bool step(How how, const void* own, void* result, size_t elements, const smelt_fold& fold) {
    if (at == 0) chain = Chain(0, how.group.n), at = 1;
    return Combiner(fold, elements, nullptr, nullptr)
        .chain(
            chain, [&](uint32_t i) { return operands.get(how, i, own, elements * fold.element_bytes); }, room.bytes,
            result);
  }
};

// The inline reduction of this episode, with everybody's operands in the up slots. `have`: we are the root, and have
// `result`.
struct ReduceInline : Machine {
  bool have = false;
  uint32_t block = 0;
  const void* own = nullptr;
  Chain chain;
  CombineInline all;
  InlineRoom packed, total;

  template <typename How>
  bool step(How how, const smelt_data& in, void* result, size_t elements, const smelt_fold& fold, uint32_t root) {
    Group& group = how.group;
    const size_t bytes = elements * fold.element_bytes;
    const uint32_t mine = group.me / kBlockSize;
    Combiner combiner(fold, elements, nullptr, nullptr);
    const auto operand = [&](uint32_t i) { return all.operands.get(how, i, own, bytes); };
    switch (at) {
      case 0:
        own = packed_view(in, 0, bytes, packed.bytes);
        if (group.me != root && head_of_block(mine, root) != group.me) {
          SMELT_AWAIT(how.put(group.desk().up, own, bytes));
          return true;
        }
        if (group.n <= kBlockSize) {
          SMELT_AWAIT(all.step(how, own, result, elements, fold));
          have = true;
          return true;
        }
        // The blocks from the right; the head of each has left its partial result in its slot.
        have = group.me == root;
        for (block = have ? (group.n - 1) / kBlockSize : mine;; --block) {
          if (block == mine) {
            chain = Chain(block * kBlockSize, std::min((block + 1) * kBlockSize, group.n));
            SMELT_AWAIT(combiner.chain(chain, operand, all.room.bytes, nullptr));
          } else {
            SMELT_AWAIT((chain.right = operand(head_of_block(block, root))) != nullptr);
          }
          if (!have) {
            SMELT_AWAIT(how.put(group.desk().up, chain.right, bytes));
            return true;
          }
          if (block == (group.n - 1) / kBlockSize)
            std::memcpy(total.bytes, chain.right, bytes);
          else
            combiner.combine(chain.right, total.bytes, block == 0 ? result : total.bytes, total.bytes);
          if (block == 0) return true;
        }
    }
    return true;
  }
};

// The same along the tree; every participant combines what its children have put into their up slots.
struct ReduceTreeInline : Machine {
  bool have = false;
  uint32_t k = 0;
  const void* partial = nullptr;
  const void* operand = nullptr;
  InlineRoom packed, room, total;

  template <typename How>
  bool step(How how, const smelt_data& in, void* result, size_t elements, const smelt_fold& fold,
            const ReduceRoute& route) {
    Group& group = how.group;
    const size_t bytes = elements * fold.element_bytes;
    Combiner combiner(fold, elements, nullptr, nullptr);
    switch (at) {
      case 0:
        have = route.parent == kNobody;
        partial = packed_view(in, 0, bytes, packed.bytes);
        for (; k < route.count; ++k) {
          SMELT_AWAIT((operand = how.get(route.children[k], group.desks[route.children[k]].up, bytes, room.bytes)) !=
                      nullptr);
          combiner.combine(operand, partial, have ? result : total.bytes, have ? result : total.bytes);
          partial = have ? result : total.bytes;
        }
        if (!have) {
          SMELT_AWAIT(how.put(group.desk().up, partial, bytes));
        }
    }
    return true;
  }
};

// Either, as the plan has it for this operation and this root.
struct ReduceShort : Machine {
  ReduceInline fixed;
  ReduceTreeInline by_tree;

  template <typename How>
  bool step(How how, const smelt_data& in, void* result, size_t elements, const smelt_fold& fold, uint32_t root) {
    if (const ReduceRoute* tree = how.group.tree_for(fold, root))
      return by_tree.step(how, in, result, elements, fold, *tree);
    return fixed.step(how, in, result, elements, fold, root);
  }
  bool have() const { return fixed.have || by_tree.have; }
};

// What does not fit inline, by the method that the limits say (reduce.cc).
int reduce_long(Running way, const Reduction& job);
int reduce_long(Starting way, const Reduction& job);

}  // namespace smelt
