#include "policy/team_size.h"

#include <sys/auxv.h>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "base/log.h"
#include "base/os/os.h"
#include "smelt_config.h"

namespace smelt {
namespace {

constexpr uint32_t kNotYet = ~0u;
std::atomic<uint32_t> settled{kNotYet};  // relaxed: a number that says all by itself

const char* first_set(std::initializer_list<const char*> names) {
  for (const char* const name : names)
    if (const char* const value = environment(name); value && *value) return value;
  return nullptr;
}

uint32_t look(bool Options::*served) {
  const QuotaTeam team = team_by_quota();
  // Most processes end here, without having read the settings.
  if (team.threads == 0 || !(options().*served) || std::strcmp(options().fit, "0") == 0) return 0;
  if (options().verbose >= 1) {
    char text[128];
    team.text(text, sizeof text);
    log_line("%s: %s (SMELT_FIT=0: of %u)", SMELT_VERSION, text, team.cpus);
  }
  return team.threads;
}

}  // namespace

QuotaTeam team_by_quota() {
  // A set-user-ID program's environment is not read, so nobody knows whether it names a number.
  if (::getauxval(AT_SECURE)) return {};
  if (first_set({"OMP_NUM_THREADS", "OMP_NUM_THREADS_ALL", "OMP_THREAD_LIMIT", "OMP_THREAD_LIMIT_ALL"})) return {};
  const uint32_t cpus = os::allowed_cpus(), quota = os::process_cpu_thousandths();
  if (quota == 0 || quota >= uint64_t{1000} * cpus) return {};
  const char* const ranks = first_set({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"});  // Open MPI's, MPICH's
  const uint32_t share = ranks ? static_cast<uint32_t>(std::clamp(std::atol(ranks), 1l, 100000l)) : 1;
  const uint32_t threads = std::max(1u, whole_cpus(quota * 1e-3) / share);
  if (threads >= cpus) return {};
  return {threads, quota, cpus};
}

void QuotaTeam::text(char* out, uint64_t bytes) const {
  std::snprintf(out, bytes, "teams of %u thread%s: the quota pays for %u.%02u CPUs of %u", threads,
                threads == 1 ? "" : "s", quota_thousandths / 1000, quota_thousandths % 1000 / 10, cpus);
}

uint32_t settle_team_size(bool Options::*served) {
  // Two threads that come here at once find the same.
  if (!is_team_size_settled()) settled.store(look(served), std::memory_order_relaxed);
  return settled_team_size();
}

bool is_team_size_settled() { return settled.load(std::memory_order_relaxed) != kNotYet; }

uint32_t settled_team_size() { return is_team_size_settled() ? settled.load(std::memory_order_relaxed) : 0; }

}  // namespace smelt
