// Combining the operands of all participants in the one order that the API promises (group.h): within blocks of 16
// ranks from the right, then the blocks from the right. Every method for every size comes here, so all give the same
// bits; only the tree has an order of its own.
#pragma once

#include <smelt/group.h>

#include <cstring>

#include "group/engine.h"
#include "transport/copy.h"

namespace smelt {

// Reads the packed bytes of a caller's data; a caller's buffer is used in place where it can be. Nothing (bytes == 0)
// may lie nowhere: no base and no functions.
inline const void* packed_view(const smelt_data& data, size_t offset, size_t bytes, void* room) {
  if (data.base) return static_cast<const char*>(data.base) + offset;
  if (bytes > 0) data.pack(data.context, offset, bytes, room);
  return room;
}
// Use copy_piece for pieces of long messages, to a shelf or from one, and for long blocks that stay in this process.
template <void (*copy)(void*, const void*, size_t) = copy_inline>
void pack(const smelt_data& data, size_t offset, size_t bytes, void* to) {
  if (data.base)
    copy(to, static_cast<const char*>(data.base) + offset, bytes);
  else if (bytes > 0)
    data.pack(data.context, offset, bytes, to);
}
template <void (*copy)(void*, const void*, size_t) = copy_inline>
void unpack(const smelt_data& data, size_t offset, size_t bytes, const void* from) {
  if (data.base)
    copy(static_cast<char*>(data.base) + offset, from, bytes);
  else if (bytes > 0)
    data.unpack(data.context, offset, bytes, from);
}

int copy_through(const smelt_data& in, const smelt_data& out, size_t bytes);  // 0

// A shorter block of our own is in the nearest cache, where memcpy is faster (measured, alltoall of two, near, own
// block by memcpy / rep movsb: 8 KiB 0.43 / 0.46 us, 16 KiB 0.90 / 0.81; scatter 64 KiB 1.91 / 1.55).
inline constexpr size_t kLongOwnBlock = 16 << 10;

// A chain of combinations as far as it has got: operands first .. last - 1, from the right.
struct Chain {
  uint32_t first = 0, next = 0;  // the operands before `next` are still to come
  const void* right = nullptr;   // the outcome of the operands behind `next`; nullptr: none yet
  Chain() = default;
  Chain(uint32_t first, uint32_t last) : first(first), next(last) {}
};

// The same of all operands, in blocks.
struct Whole {
  uint32_t block = 0;
  const void* total = nullptr;
  Chain chain;
  Whole() = default;
  explicit Whole(uint32_t n) : block((n - 1) / kBlockSize), chain(block * kBlockSize, n) {}
};

// One combination of `elements` elements. `room` is memory for as many, not shared with anybody.
class Combiner {
 public:
  Combiner(const smelt_fold& fold, size_t elements, char* block_room, char* total_room)
      : fold_(fold),
        elements_(elements),
        bytes_(elements * fold.element_bytes),
        block_room_(block_room),
        total_room_(total_room) {}

  // result = source(first) op ... op source(last - 1), from the right; `source` gives addresses that are only read, or
  // nullptr: not yet. result may be one of them. Without a `result` the outcome may be left where it is. True when it
  // is done; chain.right says where the outcome is.
  template <typename Source>
  [[gnu::always_inline]] bool chain(Chain& chain, Source&& source, char* room, void* result) {
    while (chain.next > chain.first) {
      const void* const operand = source(chain.next - 1);
      if (!operand) return false;
      --chain.next;
      if (!chain.right) {
        chain.right = operand;
        continue;
      }
      void* const to = chain.next == chain.first && result ? result : room;
      combine(operand, chain.right, to, room);
      chain.right = to;
    }
    if (result && chain.right != result) std::memcpy(result, chain.right, bytes_);  // a chain of one
    return true;
  }

  // All of 0 .. n-1, in blocks.
  template <typename Source>
  [[gnu::always_inline]] bool all(Whole& whole, uint32_t n, Source&& source, void* result) {
    if (n <= kBlockSize) return chain(whole.chain, source, block_room_, result);
    for (;; --whole.block, whole.chain = Chain(whole.block * kBlockSize, (whole.block + 1) * kBlockSize)) {
      if (!chain(whole.chain, source, whole.total ? block_room_ : total_room_, nullptr)) return false;
      if (!whole.total) {
        whole.total = whole.chain.right;
        continue;
      }
      void* const to = whole.block == 0 ? result : total_room_;
      combine(whole.chain.right, whole.total, to, total_room_);
      if (whole.block == 0) return true;
      whole.total = to;
    }
  }

  // to = left op right. `room` is ours to overwrite; right may be it.
  void combine(const void* left, const void* right, void* to, void* room) {
    if (fold_.into_third) {
      fold_.into_third(fold_.context, left, right, to, elements_);
      return;
    }
    if (right != room) std::memcpy(room, right, bytes_);
    fold_.into_right(fold_.context, left, room, elements_);
    if (to != room) std::memcpy(to, room, bytes_);
  }

 private:
  const smelt_fold& fold_;
  size_t elements_, bytes_;
  char* block_room_;  // a block's partial result
  char* total_room_;  // the partial result of the blocks from the right
};

// In how many pieces (an element is not longer than one), of how many elements, a long message goes; the same for all
// participants.
struct Pieces {
  size_t elements = 0;  // of a full piece
  uint64_t count = 0;
  Pieces(size_t total, size_t element_bytes, uint32_t piece_bytes) {
    elements = piece_bytes / element_bytes;
    count = (total + elements - 1) / elements;
  }
  size_t in(uint64_t k, size_t total) const { return k + 1 < count ? elements : total - k * elements; }
};

// Combines a reduction whose result all participants get, or most.
struct FoldForAll : AnyCall {
  const smelt_data* in;
  const smelt_data* out;
  size_t elements;
  const smelt_fold* fold;

  uint64_t operand_bytes(const Group&) const { return elements * fold->element_bytes; }
  int check(const smelt_group* group) const { return !group || !in || !out || !fold ? -EINVAL : 0; }
  bool is_nothing(const Group&) const { return elements == 0 || fold->element_bytes == 0; }
  int alone() const { return copy_through(*in, *out, elements * fold->element_bytes); }
};

inline constexpr uint32_t kEverybody = ~0u;  // as a root

// A reduction, as its caller put it. `out` is empty where no result is wanted.
struct Reduction {
  const smelt_data& in;
  const smelt_data& out;
  size_t elements;
  const smelt_fold& fold;
  uint32_t root;  // or kEverybody

  size_t bytes() const { return elements * fold.element_bytes; }
  size_t longest() const { return bytes(); }
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
    // If two have operands of different lengths, one may take the line that they share (allreduce.cc).
    const auto in_pair = [&] { return how.group.n == 2 && how.group.is_here(how.group.pair_line().half[i].flag); };
    const void* const operand = how.group.get(how, i, how.group.desks[i].up, bytes, place[turn].bytes, in_pair);
    if (operand) turn = !turn;
    return operand;
  }
};

// The inline reduction of this episode, with everybody's operands in the up slots: in parts (fixed_order.h), or by
// everybody for itself, at most a block of participants then. `have`: we are the root, or all are, and have `result`.
template <uint32_t kWidth>  // of a part
struct ReduceInline : Resumable {
  static constexpr int kRooms = 3 + InlineOperands::kRooms;
  bool have = false;
  bool part = false;          // we combine our part, and not yet what the heads have
  const void* own = nullptr;  // our operands, then our part's outcome
  char *const packed, *const part_room, *const room;
  InlineOperands operands;
  Chain chain;

  explicit ReduceInline(InlineRoom* rooms)
      : packed(rooms[0].bytes), part_room(rooms[1].bytes), room(rooms[2].bytes), operands(rooms + 3) {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how, const smelt_data& in, void* result, size_t elements, const smelt_fold& fold,
                                   uint32_t root) {
    Group& group = how.group;
    const size_t bytes = elements * fold.element_bytes;
    const bool alike = root == kEverybody;
    Parts<kWidth> parts{group.n, root};
    if (kWidth == 1 && !alike) parts.count = group.parts_to(root);
    Combiner combiner(fold, elements, nullptr, nullptr);
    const auto operand = [&](uint32_t i) __attribute__((always_inline)) {
      return operands.get(how, kWidth > 1 && !part ? parts.head(i) : i, own, bytes);
    };
    switch (resume_at(how)) {
      case 0:
        own = packed_view(in, 0, bytes, packed);
        if (alike) {
          SMELT_AWAIT(group.put(how, group.desk().up, own, bytes));
        }
        have = alike || group.me == root;
        part = !alike && parts.combines(group.me);
        chain = Chain(0, parts.count);
        if (part) [[unlikely]]
          chain = Chain(parts.first(parts.of(group.me)), parts.first(parts.of(group.me) + 1));
        for (; part || have; part = false) {
          SMELT_AWAIT(combiner.chain(chain, operand, part ? part_room : room, part ? nullptr : result));
          if (!part) return true;
          own = chain.right;
          chain = Chain(0, parts.count);
        }
        SMELT_AWAIT(group.put(how, group.desk().up, own, bytes));
    }
    return true;
  }
};

// The same along the tree; every participant combines the operands that its children have put into their up slots.
struct ReduceTreeInline : Resumable {
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
          SMELT_AWAIT((operand = group.get(how, route.children[k], group.desks[route.children[k]].up, bytes, room)) !=
                      nullptr);
          combiner.combine(operand, partial, have ? result : total, have ? result : total);
          partial = have ? result : total;
        }
        if (!have) {
          SMELT_AWAIT(group.put(how, group.desk().up, partial, bytes));
        }
    }
    return true;
  }
};

// A short reduction by one of these methods, to the root or to all.
template <typename Method, bool kToAll>
struct ReduceShort : Resumable {
  static constexpr int kRooms = 1 + Method::kRooms;
  Reduction job;
  void* result = nullptr;
  char* const unpacked;
  Method method;

  ReduceShort(InlineRoom* rooms, const Reduction& job) : job(job), unpacked(rooms[0].bytes), method(rooms + 1) {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        result = job.out.base ? job.out.base : unpacked;
        SMELT_AWAIT(method.step(how, job.in, result, job.elements, job.fold, kToAll ? kEverybody : job.root));
        if (method.have && !job.out.base) job.out.unpack(job.out.context, 0, job.bytes(), result);
        kToAll ? group.finish_together() : group.finish();
    }
    return true;
  }
};

// Operands that do not fit inline, by the method that the limits say (reduce.cc).
int reduce_long(Running form, const Reduction& job);
int reduce_long(struct Starting form, const Reduction& job);

}  // namespace smelt
