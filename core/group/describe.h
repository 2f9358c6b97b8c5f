// How a collective tells in words which method serves which sizes: each has a table of its own, in its file.
#pragma once

#include <cstdio>
#include <utility>

#include "group/planning.h"
#include "group/single_copy.h"

namespace smelt {

// One row of a collective's table: sizes up to `upto`.
struct Method {
  uint64_t upto;
  char text[224];
};

constexpr unsigned kMethods = 6 + MethodTrials::kSizes;  // more than any table below has

// Collects rows; a row that no size reaches is left out.
class Table {
 public:
  template <typename... Arguments>
  void add(uint64_t upto, const char* format, Arguments... arguments) {
    if (upto <= (count_ > 0 ? rows_[count_ - 1].upto : 0) || count_ == kMethods) return;
    rows_[count_].upto = upto;
    if constexpr (sizeof...(arguments) == 0)
      std::snprintf(rows_[count_].text, sizeof rows_[count_].text, "%s", format);
    else
      std::snprintf(rows_[count_].text, sizeof rows_[count_].text, format, arguments...);
    ++count_;
  }
  // Through shared memory: where all of these sizes fit into one piece, "in pieces" would say what never happens.
  void add_shared(uint64_t upto, unsigned piece, const char* how) {
    if (upto <= piece)
      add(upto, "through shared memory in one piece, %s", how);
    else
      add(upto, "through shared memory in pieces of %u B, %s", piece, how);
  }
  const Method* row(unsigned i) const { return i < count_ ? &rows_[i] : nullptr; }
  bool last(unsigned i) const { return i + 1 == count_; }

 private:
  Method rows_[kMethods];
  unsigned count_ = 0;  // rows in use
};

// The participant that combines, and the tree along which those operations go that need not keep the order.
struct Combining {
  char text[96];
  Combining(const Group& group, const char* fixed, const char* pattern) {
    if (!pattern || !*pattern)
      std::snprintf(text, sizeof text, "%s", fixed);
    else
      std::snprintf(text, sizeof text, "%s, %s along %s", fixed,
                    group.plan.free_folds & SMELT_FOLD_COMMUTES ? "what commutes" : "order-free operations", pattern);
  }
};

// The rows of messages that are longer than the shortest that is tried, of a collective that tries both methods; false:
// it does not. Sizes that have come to the same are one row. `single` is what is said of single copy, `untried` and
// `how` of shared memory.
inline bool add_tried(const Group& group, smelt_collective which, const char* untried, const char* how,
                      const char* single, Table* table) {
  const Limits& limits = group.plan.limits;
  if (!limits.of[which].tried) return false;
  const bool refused = group.copy_agreement == Group::Agreement::kRefused || !group.trials.are_open();
  table->add_shared(limits.of[which].copy, limits.piece, untried);
  if (refused) table->add_shared(UINT64_MAX, limits.piece, how);
  using State = std::pair<bool, MethodTrials::Method>;
  const auto state = [&](int size) {
    const MethodTrials::Row& row = group.trials.row(which, size);
    return State{row.over, row.chosen};
  };
  for (int size = 0; size < MethodTrials::kSizes && !refused; ++size) {
    if (size + 1 < MethodTrials::kSizes && state(size) == state(size + 1)) continue;
    const auto [over, chosen] = state(size);
    const uint64_t upto = MethodTrials::longest(size);
    if (!over)
      table->add(upto, "the first calls of each size try single copy and shared memory");
    else if (chosen == MethodTrials::Method::kSingleCopy)
      table->add(upto, "%s (tried: faster than shared memory)", single);
    else
      table->add(upto, "through shared memory in pieces of %u B, %s (tried: single copy is not faster)", limits.piece,
                 how);
  }
  return true;
}

// How a collective tells of its methods, inline, through shared memory and by single copy.
struct Words {
  const char* how;
  const char* how_inline = how;
  const char* single = "single copy from memory to memory";
  uint64_t upto_inline = kInlineBytes;
  uint32_t most = kDirectCopyParticipants;  // participants for single copy
};

inline void add_methods(const Group& group, smelt_collective which, const Words& words, Table* table) {
  const Limits& limits = group.plan.limits;
  table->add(words.upto_inline, "inline, flags in the lines, %s", words.how_inline);
  if (add_tried(group, which, words.how, words.how, words.single, table)) return;
  table->add_shared(group.n <= words.most ? limits.of[which].copy : UINT64_MAX, limits.piece, words.how);
  table->add(UINT64_MAX, "%s (limit %s)", words.single, limits.origin);
}

// The rows of reduce and allreduce for operands that are not inline.
inline void add_long(const Group& group, smelt_collective which, const Combining& who, Table* table) {
  const Limits& limits = group.plan.limits;
  const uint64_t flat = limits.of[which].flat;
  const uint64_t copied = group.n > kDirectCopyParticipants ? UINT64_MAX : limits.of[which].copy;
  char how[sizeof who.text + 16];
  std::snprintf(how, sizeof how, "combined by %s", who.text);
  const char* const longer = flat == UINT64_MAX              ? how
                             : flat <= limits.of[which].copy ? "sliced over all"
                                                             : "combined in one place or sliced over all";
  if (add_tried(group, which, how, longer, "single copy, sliced over all", table)) return;
  table->add_shared(copied < flat ? copied : flat, limits.piece, how);
  table->add(copied, "through shared memory, sliced over all (limit %s)", limits.origin);
  table->add(UINT64_MAX, "single copy, sliced over all (limit %s)", limits.origin);
}

// The pattern of reductions to root 0, empty where the fixed order is as quick.
struct TreeToRoot {
  char pattern[40];
  explicit TreeToRoot(const Group& group) {
    uint16_t children[kMaxParticipants];
    plan_reduce_route(group, 0, children, pattern, sizeof pattern);
  }
};

// One for each row of the table of collectives.
#define SMELT_COLLECTIVE(NAME, name, ...) void name##_table(const Group& group, Table* table);
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE

}  // namespace smelt
