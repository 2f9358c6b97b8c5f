// The part that reduce and allreduce share: machines (engine.h) that combine.
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

// Everybody's operands in this episode, to be combined from the right. The first operand stays until the second has
// been combined with it, so two places are enough for those that take several lines.
struct InlineOperands {
  static constexpr int kRooms = 2;
  InlineRoom* const place;
  bool turn = false;

  explicit InlineOperands(InlineRoom* rooms) : place(rooms) {}

  template <typename How>
  [[gnu::always_inline]] const void* get(How how, uint32_t i, const void* own, size_t bytes) {
    if (i == how.group.me) return own;
    // Of two with operands of different lengths, one may take the line that two share (allreduce.cc).
    const auto in_pair = [&] { return how.group.n == 2 && how.group.is_here(how.group.pair_line().half[i].flag); };
    const void* const operand = how.get(i, how.group.desks[i].up, bytes, place[turn].bytes, in_pair);
    if (operand) turn = !turn;
    return operand;
  }
};

// Our own operands and those that the others have put into their up slots in this episode, combined; at most a block of
// participants.
struct CombineInline : Machine {
  static constexpr int kRooms = 1 + InlineOperands::kRooms;
  char* const room;
  InlineOperands operands;
  Chain chain;

  explicit CombineInline(InlineRoom* rooms) : room(rooms[0].bytes), operands(rooms + 1) {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how, const void* own, void* result, size_t elements, const smelt_fold& fold) {
    if (at == 0) chain = Chain(0, how.group.n), at = 1;
    return Combiner(fold, elements, nullptr, nullptr)
        .chain(
            chain, [&](uint32_t i) { return operands.get(how, i, own, elements * fold.element_bytes); }, room, result);
  }
};

// The inline reduction of this episode, with everybody's operands in the up slots; at most a block of participants.
// `have`: we are the root, and have `result`.
struct ReduceInline : Machine {
  static constexpr int kRooms = 1 + CombineInline::kRooms;
  bool have = false;
  const void* own = nullptr;
  char* const packed;
  CombineInline all;

  explicit ReduceInline(InlineRoom* rooms) : packed(rooms[0].bytes), all(rooms + 1) {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how, const smelt_data& in, void* result, size_t elements, const smelt_fold& fold,
                                   uint32_t root) {
    Group& group = how.group;
    const size_t bytes = elements * fold.element_bytes;
    switch (resume_at(how)) {
      case 0:
        own = packed_view(in, 0, bytes, packed);
        if (group.me != root) {
          SMELT_AWAIT(how.put(group.desk().up, own, bytes));
        } else {
          SMELT_AWAIT(all.step(how, own, result, elements, fold));
          have = true;
        }
    }
    return true;
  }
};

// The same of more, in blocks.
struct ReduceBlocks : Machine {
  static constexpr int kRooms = 3 + InlineOperands::kRooms;
  bool have = false;
  uint32_t block = 0;
  const void* own = nullptr;
  char *const packed, *const total, *const room;
  InlineOperands operands;
  Chain chain;

  explicit ReduceBlocks(InlineRoom* rooms)
      : packed(rooms[0].bytes), total(rooms[1].bytes), room(rooms[2].bytes), operands(rooms + 3) {}

  template <typename How>
  bool step(How how, const smelt_data& in, void* result, size_t elements, const smelt_fold& fold, uint32_t root) {
    Group& group = how.group;
    const size_t bytes = elements * fold.element_bytes;
    const uint32_t mine = group.me / kBlockSize;
    Combiner combiner(fold, elements, nullptr, nullptr);
    const auto operand = [&](uint32_t i) { return operands.get(how, i, own, bytes); };
    switch (resume_at(how)) {
      case 0:
        own = packed_view(in, 0, bytes, packed);
        if (group.me != root && head_of_block(mine, root) != group.me) {
          SMELT_AWAIT(how.put(group.desk().up, own, bytes));
          return true;
        }
        // The blocks from the right; the head of each has left its partial result in its slot.
        have = group.me == root;
        for (block = have ? (group.n - 1) / kBlockSize : mine;; --block) {
          if (block == mine) {
            chain = Chain(block * kBlockSize, std::min((block + 1) * kBlockSize, group.n));
            SMELT_AWAIT(combiner.chain(chain, operand, room, nullptr));
          } else {
            SMELT_AWAIT((chain.right = operand(head_of_block(block, root))) != nullptr);
          }
          if (!have) {
            SMELT_AWAIT(how.put(group.desk().up, chain.right, bytes));
            return true;
          }
          if (block == (group.n - 1) / kBlockSize)
            std::memcpy(total, chain.right, bytes);
          else
            combiner.combine(chain.right, total, block == 0 ? result : total, total);
          if (block == 0) return true;
        }
    }
    return true;
  }
};

// The same along the tree; every participant combines the operands that its children have put into their up slots.
struct ReduceTreeInline : Machine {
  bool have = false;
  uint32_t k = 0;
  const void* partial = nullptr;
  const void* operand = nullptr;
  static constexpr int kRooms = 3;
  char *const packed, *const room, *const total;

  explicit ReduceTreeInline(InlineRoom* rooms) : packed(rooms[0].bytes), room(rooms[1].bytes), total(rooms[2].bytes) {}

  template <typename How>
  bool step(How how, const smelt_data& in, void* result, size_t elements, const smelt_fold& fold, uint32_t root) {
    Group& group = how.group;
    const ReduceRoute& route = *group.tree_for(fold, root);
    const size_t bytes = elements * fold.element_bytes;
    Combiner combiner(fold, elements, nullptr, nullptr);
    switch (resume_at(how)) {
      case 0:
        have = route.parent == kNobody;
        partial = packed_view(in, 0, bytes, packed);
        for (; k < route.count; ++k) {
          SMELT_AWAIT((operand = how.get(route.children[k], group.desks[route.children[k]].up, bytes, room)) !=
                      nullptr);
          combiner.combine(operand, partial, have ? result : total, have ? result : total);
          partial = have ? result : total;
        }
        if (!have) {
          SMELT_AWAIT(how.put(group.desk().up, partial, bytes));
        }
    }
    return true;
  }
};

// Operands that do not fit inline, by the method that the limits say (reduce.cc).
int reduce_long(Running way, const Reduction& job);
int reduce_long(Starting way, const Reduction& job);

}  // namespace smelt
