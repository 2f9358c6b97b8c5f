// Which method of a group serves which sizes, in words: for SMELT_VERBOSE and users who ask which algorithm ran.
#include <cerrno>
#include <cstdio>

#include "base/options.h"
#include "group/single_copy.h"

using namespace smelt;

namespace {

// One row of a collective's table: sizes up to `upto`.
struct Method {
  uint64_t upto;
  char text[160];
};

constexpr unsigned kMethods = 6;  // more than any table below has

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

// The rows of a collective that moves data and combines nothing.
void add_moves(const Group& group, smelt_collective which, const char* how, Table* table,
               uint64_t upto_inline = kInlineBytes) {
  const Limits& limits = group.plan.limits;
  table->add(upto_inline, "inline, flags in the lines, %s", how);
  table->add(group.n <= kDirectCopyParticipants ? limits.of[which].copy : UINT64_MAX,
             "through shared memory in pieces of %u B, %s", limits.piece, how);
  table->add(UINT64_MAX, "single copy from memory to memory (limit %s)", limits.origin);
}

void broadcast_table(const Group& group, Table* table) {
  char pattern[40];
  plan_route(group, 0, pattern, sizeof pattern);
  add_moves(group, SMELT_COLLECTIVE_BROADCAST, pattern, table);
}

// The rows of reduce and allreduce for operands that are not inline.
void add_long(const Group& group, smelt_collective which, const Combining& who, Table* table) {
  const Limits& limits = group.plan.limits;
  const uint64_t flat = limits.of[which].flat;
  const uint64_t copied = group.n > kDirectCopyParticipants ? UINT64_MAX : limits.of[which].copy;
  table->add(copied < flat ? copied : flat, "through shared memory in pieces of %u B, combined by %s", limits.piece,
             who.text);
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

void reduce_table(const Group& group, Table* table) {
  const TreeToRoot to_root(group);
  const char* const tree = to_root.pattern;
  const bool blocks = group.n > kBlockSize;
  table->add(kInlineBytes, "inline, flags in the lines, combined %s",
             Combining(group, blocks ? "in blocks of 16" : "by the root", tree).text);
  add_long(group, SMELT_COLLECTIVE_REDUCE, Combining(group, "the root", tree), table);
}

void allreduce_table(const Group& group, Table* table) {
  const TreeToRoot to_root(group);
  const char* const tree = to_root.pattern;
  const bool blocks = group.n > kBlockSize;
  if (group.n == 2) table->add(kPairBytes, "inline, both operands in one line");
  table->add(kInlineBytes, "inline, flags in the lines, combined %s%s",
             Combining(group, blocks ? "in blocks of 16" : "by everybody", blocks ? tree : "").text,
             blocks ? ", then broadcast" : "");
  add_long(group, SMELT_COLLECTIVE_ALLREDUCE, Combining(group, "everybody", ""), table);
}

void allgather_table(const Group& group, Table* table) {
  add_moves(group, SMELT_COLLECTIVE_ALLGATHER, "everybody reads everybody's", table);
}

void reduce_scatter_table(const Group& group, Table* table) {
  const Limits& limits = group.plan.limits;
  table->add(kInlineBytes, "inline, flags in the lines, everybody combines its block");
  table->add(group.n > kDirectCopyParticipants ? UINT64_MAX : limits.of[SMELT_COLLECTIVE_REDUCE_SCATTER].copy,
             "through shared memory in pieces of %u B, everybody combines its block", limits.piece);
  table->add(UINT64_MAX, "single copy, everybody combines its block (limit %s)", limits.origin);
}
void reduce_scatter_block_table(const Group& group, Table* table) { reduce_scatter_table(group, table); }

void scan_table(const Group& group, Table* table) {
  table->add(kInlineBytes, "inline, flags in the lines, everybody reads those before it");
  const Limits& limits = group.plan.limits;
  table->add(group.n == 2 ? limits.of[SMELT_COLLECTIVE_SCAN].copy : UINT64_MAX,
             "through shared memory in pieces of %u B, down a chain", limits.piece);
  table->add(UINT64_MAX, "single copy from memory to memory (limit %s)", limits.origin);
}
void exscan_table(const Group& group, Table* table) { scan_table(group, table); }

void alltoall_table(const Group& group, Table* table) {
  add_moves(group, SMELT_COLLECTIVE_ALLTOALL, "everybody reads a block of everybody's", table,
            kInlineBytes / (group.n - 1));
}

// Sizes: of the longest of all messages, short where all of a participant's together are.
void exchange_table(const Group& group, Table* table) {
  const uint64_t table_bytes = uint64_t{group.n} * sizeof(uint16_t);  // exchange.cc
  const uint64_t upto_inline = table_bytes < kInlineBytes ? (kInlineBytes - table_bytes) / (group.n - 1) : 0;
  add_moves(group, SMELT_COLLECTIVE_ALLTOALLV, "everybody reads what is for it of everybody's", table, upto_inline);
}
void allgatherv_table(const Group& group, Table* table) {
  add_moves(group, SMELT_COLLECTIVE_ALLGATHERV, "everybody reads everybody's", table);
}

void gather_table(const Group& group, Table* table) {
  add_moves(group, SMELT_COLLECTIVE_GATHER, "the root reads everybody's", table);
}

void gatherv_table(const Group& group, Table* table) {
  table->add(kInlineBytes, "inline, flags in the lines, the root reads everybody's");
  table->add(sent_ahead(group), "through shared memory in a piece, the root reads everybody's");
  table->add(UINT64_MAX, "single copy, the root reads; or through shared memory");
}

// The limits are those of a block, but inline is what the root sends in all.
void add_scatter(const Group& group, smelt_collective which, Table* table) {
  table->add(kInlineBytes / (group.n - 1), "inline, flags in the lines, everybody reads the root's");
  const Limits& limits = group.plan.limits;
  table->add(group.n <= kDirectCopyParticipants ? limits.of[which].copy : UINT64_MAX,
             "through shared memory in pieces of %u B, everybody reads the root's", limits.piece);
  table->add(UINT64_MAX, "single copy from memory to memory (limit %s)", limits.origin);
}

void scatter_table(const Group& group, Table* table) { add_scatter(group, SMELT_COLLECTIVE_SCATTER, table); }
void scatterv_table(const Group& group, Table* table) { add_scatter(group, SMELT_COLLECTIVE_SCATTERV, table); }

void bytes_text(uint64_t bytes, char* text, size_t room) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0)
    std::snprintf(text, room, "%llu MiB", static_cast<unsigned long long>(bytes >> 20));
  else if (bytes >= 1024 && bytes % 1024 == 0)
    std::snprintf(text, room, "%llu KiB", static_cast<unsigned long long>(bytes >> 10));
  else
    std::snprintf(text, room, "%llu B", static_cast<unsigned long long>(bytes));
}

void barrier_table(const Group& group, Table* table) {
  const GroupPlan& plan = group.plan;
  if (plan.barrier_predicted > 0)
    table->add(UINT64_MAX, "%s, predicted %.0f ns", plan.barrier_pattern, plan.barrier_predicted);
  else
    table->add(UINT64_MAX, "%s%s", plan.barrier_pattern, plan.crowded ? ", yielding" : "");
}

// One for each row of the table of collectives.
constexpr void (*kTables[])(const Group& group, Table* table) = {
#define SMELT_COLLECTIVE(NAME, name, mpi, ...) name##_table,
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
};

}  // namespace

int smelt_group_describe(const smelt_group* group, smelt_collective collective, unsigned i, char* line, size_t room) {
  if (!group || !line || room == 0) return -EINVAL;
  if (group->n == 1) return i == 0 ? std::snprintf(line, room, "nothing to do") : -ENOENT;
  if (static_cast<unsigned>(collective) >= SMELT_COLLECTIVES) return -EINVAL;
  Table table;
  kTables[collective](*group, &table);
  const Method* row = table.row(i);
  if (!row) return -ENOENT;
  if (i == 0 && table.last(i)) return std::snprintf(line, room, "%s", row->text);  // the same for all sizes
  if (table.last(i)) return std::snprintf(line, room, "longer: %s", row->text);
  char bytes[32];
  bytes_text(row->upto, bytes, sizeof bytes);
  return std::snprintf(line, room, "<= %s: %s", bytes, row->text);
}

int smelt_group_summary(const smelt_group* group, char* line, size_t room) {
  if (!group || !line || room == 0) return -EINVAL;
  const GroupPlan& plan = group->plan;
  const char* const sources[] = {
      "SMELT_PROFILE", "the user's profile", "the system's profile",
      options().profile[0] ? "a guess, SMELT_PROFILE names no profile of use here" : "a guess, run 'smelt calibrate'"};
  char costs[240], conditions[160] = "";
  if (plan.profile) conditions_text(plan.profile->header.conditions, conditions, sizeof conditions);
  std::snprintf(costs, sizeof costs, "%s%s%s", plan.profile ? sources[static_cast<int>(plan.profile->source)] : "none",
                conditions[0] ? ", measured " : "", conditions);
  if (plan.crowded)
    return std::snprintf(line, room, "%u participants, crowded (%s): waits yield; costs from %s", group->n,
                         plan.crowded_why, costs);
  char cpus[96] = "";
  size_t used = 0;
  for (uint32_t i = 0; plan.cpus && i < group->n && used + 8 < sizeof cpus; ++i)
    used += static_cast<size_t>(std::snprintf(cpus + used, sizeof cpus - used, "%s%u", i ? "," : "", plan.cpus[i]));
  const bool cut = used + 8 >= sizeof cpus;
  return std::snprintf(line, room, "%u participants on CPUs %s%s; costs from %s", group->n,
                       plan.cpus ? cpus : "unknown", cut ? ",..." : "", costs);
}
