#include "openmp/teams.h"

#include <pthread.h>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/fingerprint.h"
#include "base/log.h"
#include "base/options.h"
#include "base/os/os.h"
#include "generate/registry.h"
#include "openmp/region.h"
#include "openmp/symbols.h"
#include "profile/profile.h"
#include "smelt_config.h"

namespace smelt::openmp {

namespace {

Profile loaded;                                     // read-only once loaded
Profile rescaled;                                   // the same under what the canary found
std::atomic<const Profile*> profile{&loaded};       // release by the canary; acquire by the planner
pthread_once_t profile_once = PTHREAD_ONCE_INIT;    // loads `loaded`
Profile pair;                                       // read-only once assumed
pthread_once_t pair_once = PTHREAD_ONCE_INIT;       // assumes `pair`
constinit Canary canary;                            // take_canary() hands it out once
std::atomic<bool> canary_taken{false};              // by the first hot team that could
std::atomic<bool> reported{false}, guessed{false};  // the line of report() is out; the costs are typical ones

void load_profile_once() {
  Refusal why;
  if (load_profile(&loaded, &why) != 0) loaded.header.cpus = 0;  // no memory: every team becomes a crowd
  guessed.store(loaded.source == ProfileSource::kGuess, std::memory_order_relaxed);  // told at the end of the process
  // A profile that nobody asked for is found or not: a job's output is no place to say so.
  if (why.text[0] && (options().profile[0] || options().verbose >= 1)) log_line("%s", why.text);
}

void assume_pair_once() {
  if (assume_profile(2, &pair) != 0) pair.header.cpus = 0;  // as above
  guessed.store(true, std::memory_order_relaxed);
}

// The costs by which a team of so many is planned. Two threads have one pattern, whatever it costs, and limits have
// their typical values where nothing was measured: where there is no profile, what the kernel could tell of the machine
// would change nothing for them, and it takes 160 µs of the first region of a program that may have no other.
const Profile* costs_for(uint32_t size) {
  if (size <= 2 && options().verbose < 1 && !profile_may_exist()) {
    pthread_once(&pair_once, assume_pair_once);
    return &pair;
  }
  pthread_once(&profile_once, load_profile_once);
  return profile.load(std::memory_order_acquire);
}

void describe_profile(char* text, size_t bytes) {
  if (loaded.source == ProfileSource::kGuess) {
    std::snprintf(text, bytes, "no profile, costs guessed (%s)",
                  options().profile[0] ? "what SMELT_PROFILE names is of no use here" : "run 'smelt calibrate'");
    return;
  }
  const int64_t minutes = std::max<int64_t>(0, std::time(nullptr) - loaded.header.created) / 60;
  const char* unit = minutes < 120 ? "min" : minutes < 48 * 60 ? "h" : "days";
  const int64_t age = minutes < 120 ? minutes : minutes < 48 * 60 ? minutes / 60 : minutes / 1440;
  std::snprintf(text, bytes, "profile %s (%lld %s old)", loaded.path, static_cast<long long>(age), unit);
  if (loaded.header.conditions == 0) return;
  size_t used = std::strlen(text);
  std::snprintf(text + used, bytes - used, " measured ");
  used = std::strlen(text);
  conditions_text(loaded.header.conditions, text + used, bytes - used);
}

// " (57 ns predicted)", or nothing.
struct Predicted {
  char text[40] = "";
  explicit Predicted(double ns) {
    if (ns > 0) std::snprintf(text, sizeof text, " (%.0f ns predicted)", ns);
  }
};

// "CPUs 0 1", or "CPUs not seen yet".
struct CpuList {
  char text[120];
  CpuList(const RegionRecord& region, uint32_t size) {
    int used = std::snprintf(text, sizeof text, "CPUs");
    for (uint32_t i = 0; i < size; ++i) {
      const uint32_t cpu = region.cpus[i].load(std::memory_order_relaxed);
      if (cpu == ~0u) {
        std::snprintf(text, sizeof text, "CPUs not seen yet");
        return;
      }
      if (used > static_cast<int>(sizeof text) - 12) {
        std::snprintf(text + used, sizeof text - static_cast<size_t>(used), " ...");
        return;
      }
      used += std::snprintf(text + used, sizeof text - static_cast<size_t>(used), " %u", cpu);
    }
  }
};

// A barrier has been built: for the first team of the process (level 1), for a new one, or another in place of a team's
// last (level 2).
void report(const RegionRecord& region, const Team& team, bool first) {
  if (options().verbose < 1 || team.size == 1) return;
  if (!reported.exchange(true, std::memory_order_relaxed)) {
    char described[640];
    describe_profile(described, sizeof described);
    log_line("%s: %s%s%s, %u threads, pattern %s%s, %s, %u symbols taken (%s, ...)", SMELT_VERSION, runtime.name,
             library_version()[0] ? " " : "", library_version(), team.size, team.pattern,
             Predicted(team.predicted).text, described, symbols_taken(), runtime.examples);
  }
  if (options().verbose >= 2)
    log_line("team of %u%s, %s: barrier %s%s%s", team.size, region.nested ? " (nested)" : "",
             CpuList(region, team.size).text, team.pattern, Predicted(team.predicted).text, first ? "" : ", rebuilt");
}

// The memory of a plan. That of small teams is kept for the next one: to give it back interrupts the CPUs of all
// threads that run, some 20 µs in a virtual machine, and a program's first and second region make a plan each.
class PlanMemory {
 public:
  explicit PlanMemory(uint32_t size) : bytes_(generation_bytes(size)), kept_(size <= kMostKept) {
    if (kept_) bytes_ = generation_bytes(kMostKept);
    // acquire: pairs with the release below; whoever had it has done with it
    memory_ = kept_ ? spare.exchange(nullptr, std::memory_order_acquire) : nullptr;
    if (!memory_) memory_ = os::map_pages(bytes_);
  }
  ~PlanMemory() {
    // release: all that was done with it
    void* const surplus = kept_ && memory_ ? spare.exchange(memory_, std::memory_order_release) : memory_;
    if (surplus) os::unmap_pages(surplus, bytes_);
  }
  PlanMemory(const PlanMemory&) = delete;
  PlanMemory& operator=(const PlanMemory&) = delete;

  Arena arena() const { return Arena(memory_, memory_ ? bytes_ : 0); }

 private:
  static constexpr uint32_t kMostKept = 16;  // threads: some 100 KB of such memory are ever touched
  static constinit inline std::atomic<void*> spare{nullptr};

  size_t bytes_;
  bool kept_;
  void* memory_;
};

// A hash of the CPUs where a team's threads were last seen, and of the profile whose costs it is planned by. It is only
// compared, so relaxed.
uint64_t seen_now(const RegionRecord& region, uint32_t size) {
  const Profile* const costs = profile.load(std::memory_order_relaxed);
  uint64_t hash = fnv1a(&costs, sizeof costs);
  for (uint32_t i = 0; i < size; ++i) {
    const uint32_t cpu = region.cpus[i].load(std::memory_order_relaxed);
    hash = fnv1a(&cpu, sizeof cpu, hash);
  }
  return hash;
}

// The input of the plans.
struct Request : TeamRequest {
  PlanMemory memory;
  Arena arena;
  uint16_t* members = nullptr;  // [n] indices into the profile; nullptr: no memory
  uint64_t seen_as;             // that seen_now() is compared with later on; older than `cpus`, if a thread just moves
  uint64_t inputs = 0;          // a hash of all that a plan can tell of `profile` and `cpus`; 0: nothing

  Request(const RegionRecord& region, const Team& team)
      : TeamRequest{costs_for(team.size), team.size, nullptr, options().pattern, team.crowded},
        memory(team.size),
        arena(memory.arena()),
        seen_as(seen_now(region, team.size)) {
    auto* seen_on = arena.make<uint32_t>(n);
    if (seen_on) members = arena.make<uint16_t>(n);
    if (!members) return;
    bool seen = TeamRequest::profile != &pair;
    for (uint32_t i = 0; i < n; ++i) {
      seen_on[i] = region.cpus[i].load(std::memory_order_relaxed);
      for (uint32_t j = 0; j < i; ++j) seen &= seen_on[j] != seen_on[i];  // two caught on one CPU for a moment
      seen &= seen_on[i] != ~0u;
    }
    cpus = seen ? seen_on : nullptr;
    hash_inputs(*TeamRequest::profile);
  }

 private:
  // Where two or a crowd run makes no difference to their plan. Measured costs, and winners, are those of certain CPUs;
  // guessed ones say only how far each is from the others. Lines lie on the nodes where threads first came to them: of
  // several nodes a barrier is made anew where its threads have been seen.
  void hash_inputs(const Profile& costs) {
    if (n <= 2 || crowded) return;
    uint64_t hash = fnv1a(&(TeamRequest::profile), sizeof(void*)), nodes = 0;
    for (uint32_t i = 0; i < n; ++i) {
      members[i] = cpus ? profile_index(costs, cpus[i]) : static_cast<uint16_t>(i);
      if (members[i] >= costs.header.cpus) return;
      nodes |= costs.costs.node[members[i]] ^ costs.costs.node[members[0]];
      if (costs.source != ProfileSource::kGuess) hash = fnv1a(&members[i], sizeof *members, hash);
      for (uint32_t j = 0; costs.source == ProfileSource::kGuess && j < i; ++j) {
        const Distance far = distance_in(costs.costs, members[j], members[i]);
        hash = fnv1a(&far, sizeof far, hash);
      }
    }
    inputs = nodes != 0 && cpus ? ~hash : hash;
  }
};

// Whom the threads of `team` steal from, for where they were last seen.
void build_victims(RegionRecord& region, Team& team, const Request& request) {
  free_victims(team.victims);
  const bool known = request.cpus && request.inputs != 0 && options().tasks;
  team.victims = known ? order_victims(request.profile->costs, {request.members, team.size}) : nullptr;
  region.victims = team.victims;
}

// Has the runtime been told since how long its threads are to spin? Relaxed: as the number's own comment says.
bool waits_otherwise(const Team& team) { return team.asked_spin != asked_spin_ns.load(std::memory_order_relaxed); }

// Builds the barrier of `team` for where its threads were last seen, if it does not stand. False: memory is out.
bool build_barrier(RegionRecord& region, Team& team) {
  Request request(region, team);
  if (!request.members) return false;
  team.seen_as = request.seen_as;
  if (team.made.barrier && team.built_for == request.inputs && !waits_otherwise(team)) {
    if (!team.victims) build_victims(region, team, request);
    return true;
  }
  TeamPlan plan;
  if (plan_team(request, request.arena, &plan) != 0) {
    Pattern named;
    if (find_pattern(request.pattern, &named) == -ENOENT)
      log_line("SMELT_TUNE=pattern=%s is no pattern (smelt tree --list has them); best is used", request.pattern);
    else
      log_line("SMELT_TUNE=pattern=%s cannot serve a barrier of %u threads; best is used", request.pattern, team.size);
    request.pattern = "best";
    if (plan_team(request, request.arena, &plan) != 0) return false;
  }
  const bool first = !team.made.barrier;
  TeamBarrier made;
  // Threads that only yield are never woken, so the scheduler never spreads them again; and a thread that has just been
  // made, for a size larger than the last, waits for a CPU meanwhile. Measured with teams of 2 and 3 in turn on 2 CPUs:
  // 108 µs a region with yields, 61 stock, 63 asleep.
  const WaitPolicy policy =
      team.restless ? WaitPolicy{0, 0, PostOrder::kFenced} : wait_policy(plan.crowd, plan.n, request.profile);
  if (make_barrier(plan, policy, &made) != 0) return false;
  free_barrier(&team.made);
  ++region.generation;  // no note may lead to the old one
  team.made = made;
  team.built_for = request.inputs;
  free_fork(&team.fork);
  team.asked_spin = asked_spin_ns.load(std::memory_order_relaxed);
  std::memcpy(team.pattern, plan.pattern, sizeof team.pattern);
  team.predicted = plan.predicted;
  build_victims(region, team, request);
  report(region, team, first);
  return true;
}

}  // namespace

Team& team_for(RegionRecord& region, uint32_t size, bool crowded, bool restless) {
  Team* team = region.last_team;
  const auto fits = [=](const Team& t) { return t.size == size && t.crowded == crowded && t.restless == restless; };
  if (team && fits(*team)) return *team;
  team = nullptr;
  for (Team& candidate : region.teams)
    if (fits(candidate)) team = &candidate;
  if (!team) {
    team = &region.teams[region.next_victim++ % kTeamsKept];
    free_team(*team);
    ++region.generation;  // as above
    *team = Team{};
    team->size = size;
    team->crowded = crowded;
    team->restless = restless;
  }
  region.last_team = team;
  region.victims = team->victims;
  return *team;
}

Barrier* barrier_for(RegionRecord& region, uint32_t size, bool crowded, bool restless) {
  Team& team = team_for(region, size, crowded, restless);
  // Where two or a crowd run makes no difference to their barrier.
  const bool again =
      size > 2 && !crowded && due(region.entered) && region.cpus[size - 1].load(std::memory_order_relaxed) != ~0u;
  if ((!team.made.barrier || waits_otherwise(team) || (again && team.seen_as != seen_now(region, size))) &&
      !build_barrier(region, team))
    return nullptr;
  return team.made.barrier;
}

bool build_for_hot_team(RegionRecord& region, Team& team) {
  const bool again = team.size > 2 && !team.crowded && team.seen_as != seen_now(region, team.size);
  const bool kept = team.made.barrier && !again && !waits_otherwise(team);
  return (kept || build_barrier(region, team)) && fork_for(region, team);
}

ForkJoin* fork_for(RegionRecord& region, Team& team) {
  if (team.fork.fork) return team.fork.fork;
  Request request(region, team);
  if (!request.members) return nullptr;
  ForkPlan plan;
  TeamFork made;
  if (plan_fork(request, request.arena, &plan) != 0) return nullptr;
  WaitPolicy policy = wait_policy(team.crowded, team.size, request.profile);
  // Nobody counts threads that are parked inside another region, so they do not keep their CPUs for long.
  if (region.nested) policy.spin_ns = std::min<int64_t>(policy.spin_ns, typical(ThresholdId::kQuotaSpin));
  if (make_fork(plan, policy, &made) != 0) return nullptr;
  team.fork = made;
  std::memcpy(team.fork_pattern, plan.pattern, sizeof team.fork_pattern);
  team.fork_predicted = plan.predicted;
  return made.fork;
}

Canary* take_canary(const Team& team, uint32_t cpus) {
  if (canary_taken.load(std::memory_order_relaxed) || team.crowded || !options().canary) return nullptr;
  // SMELT_CPUS may promise more than there are. Threads that share a CPU cannot answer each other in time, and the
  // master would lose its own to those that wait: 12 ms were seen.
  if (team.size > cpus) return nullptr;
  if (!profile_may_exist()) return nullptr;  // a guess is asked for nothing
  pthread_once(&profile_once, load_profile_once);
  if (loaded.source == ProfileSource::kGuess || loaded.costs.unit != CostUnit::kNanoseconds) return nullptr;
  return canary_taken.exchange(true, std::memory_order_relaxed) ? nullptr : &canary;
}

// At the start of a hot team and nowhere else: all its threads are in our hands, have said where they run, and its
// barrier and fork are built next. In a team that the runtime forks and joins, threads come to their first barrier when
// the program lets them, and the barrier stands already: there a canary could wait long and change nothing.
void ask_canary(Canary& asked, const RegionRecord& region, uint32_t size) {
  MappedArena arena(size * sizeof(uint32_t));
  auto* const seen_on = arena.make<uint32_t>(size);
  for (uint32_t i = 0; seen_on && i < size; ++i) seen_on[i] = region.cpus[i].load(std::memory_order_relaxed);
  const CanaryReport report =
      asked.lead(loaded, seen_on ? size : 0, seen_on);  // of nobody without memory, but the others wait
  float factor[kDistances];
  const bool drifted = canary_factors(report, factor);
  // Only if the user asked to be told: on a virtual machine, which is moved often, a line in every job's output would
  // be noise.
  if (options().verbose >= (drifted ? 1 : 2)) {
    char text[kCanaryText];
    describe_canary(report, drifted, text, sizeof text);
    log_line("%s", text);
  }
  if (drifted && rescale_profile(loaded, factor, &rescaled) == 0) profile.store(&rescaled, std::memory_order_release);
}

bool profile_is_guessed() { return guessed.load(std::memory_order_relaxed); }

void free_team(Team& team) {
  free_victims(team.victims);
  free_barrier(&team.made);
  free_fork(&team.fork);
}

void note_start(RegionRecord& region, const Team& team, const char* how) {
  count(region.counters.starts);
  if (options().verbose >= 2)
    log_line("team of %u, %s: %s%s%s", team.size, CpuList(region, team.size).text, how, team.fork_pattern,
             Predicted(team.fork_predicted).text);
}

}  // namespace smelt::openmp
