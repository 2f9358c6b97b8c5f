// Which method of a group serves which sizes, in words: for SMELT_VERBOSE and users who ask which algorithm ran.
#include <cerrno>
#include <cstdio>

#include "base/options.h"
#include "group/describe.h"

using namespace smelt;

namespace {

void bytes_text(uint64_t bytes, char* text, size_t room) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0)
    std::snprintf(text, room, "%llu MiB", static_cast<unsigned long long>(bytes >> 20));
  else if (bytes >= 1024 && bytes % 1024 == 0)
    std::snprintf(text, room, "%llu KiB", static_cast<unsigned long long>(bytes >> 10));
  else
    std::snprintf(text, room, "%llu B", static_cast<unsigned long long>(bytes));
}

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
  if (group->crowded)
    return std::snprintf(line, room, "%u participants, crowded (%s): waits yield; costs from %s", group->n,
                         plan.crowded ? plan.crowded_why : "bindings overlap", costs);
  char cpus[96] = "";
  size_t used = 0;
  for (uint32_t i = 0; plan.cpus && i < group->n && used + 8 < sizeof cpus; ++i)
    used += static_cast<size_t>(std::snprintf(cpus + used, sizeof cpus - used, "%s%u", i ? "," : "", plan.cpus[i]));
  const bool cut = used + 8 >= sizeof cpus;
  return std::snprintf(line, room, "%u participants on CPUs %s%s; costs from %s", group->n,
                       plan.cpus ? cpus : "unknown", cut ? ",..." : "", costs);
}
