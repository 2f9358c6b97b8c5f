#include "region.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <pthread.h>

#include "base/log.h"
#include "base/options.h"
#include "base/os/os.h"
#include "model/api.h"
#include "real.h"
#include "smelt_config.h"

extern "C" {
constinit thread_local smelt::gomp::Place smelt_gomp_place;
}

namespace smelt::gomp {
namespace {

// The regions of this thread, outermost first; `next_region` is where the one for the next GOMP_parallel hangs.
thread_local Region* outermost = nullptr;
thread_local Region** next_region = nullptr;

// The note of the region that this thread, as its master, has handed to libgomp as it is.
thread_local Note* untold = nullptr;

pthread_key_t regions_key;        // its destructor releases the regions of a thread that ends
uint32_t cpus = 1;                // that this process may use
Profile profile;                  // read-only once loaded
pthread_once_t profile_once = PTHREAD_ONCE_INIT;
// Of all teams of the process. An outermost team counts from its first region until its master ends, like libgomp's own
// gomp_managed_threads: its threads stay, and counting them in and out would cost every region two locked operations.
std::atomic<uint32_t> team_threads{0};
std::atomic<bool> reported{false};

void load_profile_once() {
  Refusal why;
  if (load_profile(&profile, &why) != 0) profile.header.cpus = 0;  // no memory: every team becomes a crowd
  if (why.text[0]) log_line("%s", why.text);
}

void free_regions(void* first) {
  outermost = nullptr;  // a later destructor of the thread may open a region again
  next_region = nullptr;
  for (auto* region = static_cast<Region*>(first); region;) {
    Region* deeper = region->deeper;
    team_threads.fetch_sub(region->counted, std::memory_order_relaxed);
    for (Team& team : region->teams) free_barrier(&team.made);
    os::unmap_pages(region, sizeof(Region));
    region = deeper;
  }
}

// After fork only the calling thread exists. Teams it was in are gone, and so are the counts.
void after_fork_in_child() {
  smelt_gomp_place = Place{};
  team_threads.store(outermost ? outermost->counted : 0, std::memory_order_relaxed);
}

void count_threads(Region& region, uint32_t threads) {
  if (region.counted == threads) return;
  // Modulo 2^32 the difference is right whichever is larger.
  team_threads.fetch_add(threads - region.counted, std::memory_order_relaxed);
  region.counted = threads;
}

Region* new_region() {
  auto* region = static_cast<Region*>(os::map_pages(sizeof(Region)));
  if (!region) return nullptr;
  for (auto& cpu : region->cpus) cpu.store(~0u, std::memory_order_relaxed);
  region->nested = outermost || REAL(omp_get_level)() > 0;
  if (!outermost) {
    outermost = region;
    pthread_setspecific(regions_key, region);
  }
  return region;
}

void describe_profile(char* text, size_t bytes) {
  if (profile.source == ProfileSource::kGuess) {
    std::snprintf(text, bytes, "no profile, costs guessed (run 'smelt calibrate')");
    return;
  }
  const int64_t minutes = std::max<int64_t>(0, std::time(nullptr) - profile.header.created) / 60;
  const char* unit = minutes < 120 ? "min" : minutes < 48 * 60 ? "h" : "days";
  const int64_t age = minutes < 120 ? minutes : minutes < 48 * 60 ? minutes / 60 : minutes / 1440;
  std::snprintf(text, bytes, "profile %s (%lld %s old)", profile.path, static_cast<long long>(age), unit);
}

void report(const Team& team) {
  const int64_t level = options().verbose;
  if (level < 1 || (reported.exchange(true, std::memory_order_relaxed) && level < 2)) return;
  char described[640];
  describe_profile(described, sizeof described);
  uint32_t taken = 0;
#define TAKEN(name) taken += smelt_real_##name != nullptr;
#define MARKED(name) TAKEN(name)
#define CALLED(name)
#include "symbols.def"
#undef TAKEN
#undef MARKED
#undef CALLED
  char predicted[40] = "";
  if (team.predicted > 0) std::snprintf(predicted, sizeof predicted, " (%.0f ns predicted)", team.predicted);
  log_line("%s: libgomp %s, %u threads, pattern %s%s, %s, %u symbols taken (GOMP_barrier, GOMP_parallel, ...)",
           SMELT_VERSION, libgomp_version(), team.size, team.pattern, predicted, described, taken);
}

// Builds the barrier of `team` for the CPUs where its threads were last seen. False: memory is out.
bool build(Region& region, Team& team) {
  pthread_once(&profile_once, load_profile_once);
  MappedArena arena(generation_bytes(team.size));
  auto* seen_on = arena.make<uint32_t>(team.size);
  if (!seen_on) return false;
  bool seen = true;
  for (uint32_t i = 0; i < team.size; ++i) {
    seen_on[i] = region.cpus[i].load(std::memory_order_relaxed);
    for (uint32_t j = 0; j < i; ++j) seen &= seen_on[j] != seen_on[i];  // two caught on one CPU for a moment
    seen &= seen_on[i] != ~0u;
  }
  TeamRequest request;
  request.profile = &profile;
  request.n = team.size;
  request.cpus = seen ? seen_on : nullptr;
  request.pattern = options().pattern;
  request.crowded = team.crowded;
  TeamPlan plan;
  if (plan_team(request, arena, &plan) != 0) {
    log_line("SMELT_PATTERN=%s cannot serve a barrier of %u threads; best is used", request.pattern, team.size);
    request.pattern = "best";
    if (plan_team(request, arena, &plan) != 0) return false;
  }
  const bool first = !team.made.barrier && team.size > 1;
  TeamBarrier made;
  if (make_barrier(plan, &made) != 0) return false;
  free_barrier(&team.made);
  team.made = made;
  std::memcpy(team.pattern, plan.pattern, sizeof team.pattern);
  team.predicted = plan.predicted;
  if (first) report(team);
  return true;
}

// May threads have moved since the barriers were built? Looked into after 1, 2, 4, ... 4096 regions: threads settle early,
// and later changes are noise.
bool due(uint32_t entered) { return entered <= 4096 && (entered & (entered - 1)) == 0; }

Barrier* barrier_for(Region& region, uint32_t size, bool crowded) {
  Team* team = region.last_team;
  if (!team || team->size != size || team->crowded != crowded) {
    team = nullptr;
    for (Team& candidate : region.teams)
      if (candidate.size == size && candidate.crowded == crowded) team = &candidate;
    if (!team) {
      team = &region.teams[region.next_victim++ % kTeamsKept];
      free_barrier(&team->made);
      *team = Team{};
      team->size = size;
      team->crowded = crowded;
    }
    region.last_team = team;
  }
  // Where two or a crowd run makes no difference to their barrier.
  const bool again = size > 2 && !crowded && due(region.entered) &&
                     region.cpus[size - 1].load(std::memory_order_relaxed) != ~0u;
  if ((!team->made.barrier || again) && !build(region, *team)) return nullptr;
  return team->made.barrier;
}

// The program's function, in every thread of the team.
void run_region(void* word) {
  const Block& block = *block_of(word);
  Place& place = smelt_gomp_place;
  const Place before = place;
  place.real_epoch = nullptr;
  place.word = word;
  place.barrier = nullptr;
  block.function(block.data);
  // One past the last barrier: tasks made after it have marked that number, and it is libgomp's join that serves them.
  if (place.barrier && place.thread == 0) place.region->epoch = place.epoch + 1;
  place = before;
}

// What this region's threads must be told, found out anew.
Block describe(Region& region, GompFunction function, void* data, uint32_t request) {
  const uint32_t size = request == region.learned_request ? region.learned_size : request;
  count_threads(region, region.nested ? size - 1 : size);  // a nested team's master is counted in the team around it
  const uint32_t threads = team_threads.load(std::memory_order_relaxed);
  if (threads != region.threads_seen) {
    region.threads_seen = threads;
    ++region.generation;
  }
  const bool served = size >= 1 && size <= kMaxParticipants;
  Barrier* barrier = served ? barrier_for(region, size, size > 1 && threads > cpus) : nullptr;
  return {nullptr, function, data, &region, barrier, region.epoch, size, REAL(omp_get_level)() + 1};
}

// Does the note still say what this region's threads must be told?
bool holds(const Note& note, const Region& region, GompFunction function, void* data, uint32_t request) {
  return note.function == function && note.data == data && note.request == request &&
         note.generation == region.generation && region.threads_seen == team_threads.load(std::memory_order_relaxed) &&
         !due(region.entered) && !region.nested;
}

// The Block for this region of the program, compared and perhaps written anew.
const Block& renew(Region& region, size_t index, GompFunction function, void* data, uint32_t request) {
  Block& block = region.blocks[index];
  Note& note = region.notes[index];
  const Block wanted = describe(region, function, data, request);
  if (block.function != wanted.function || block.data != wanted.data || block.barrier != wanted.barrier ||
      block.size != wanted.size || block.level != wanted.level || wanted.epoch - block.epoch > kTagMask)
    block = wanted;
  const bool same = note.function == function;
  note = {function, data, request, region.generation, same ? note.idle : 0, same ? note.patience : kPatience};
  return block;
}

// Around every way into a parallel region: `call(run_region, word)` is the real entry point.
template <bool kRealPointer = false, typename Call>
void enter(GompFunction function, void* data, unsigned num_threads, Call call) {
  if (!active()) return call(function, data);
  if (!next_region) next_region = &outermost;
  Region** const link = next_region;
  if (!*link && !(*link = new_region())) return call(function, data);
  Region& region = **link;
  next_region = &region.deeper;
  ++region.entered;
  const size_t index = kRealPointer ? kBlocks : reinterpret_cast<uintptr_t>(function) / 16 % kBlocks;
  Note& note = region.notes[index];

  if (note.function == function && note.idle >= note.patience && !region.nested) {
    Note* const before = untold;
    untold = &note;
    call(function, data);
    untold = before;
    next_region = link;
    return;
  }

  const uint32_t request = num_threads ? num_threads : static_cast<uint32_t>(REAL(omp_get_max_threads)());
  const Block* block = &region.blocks[index];
  if (!holds(note, region, function, data, request) || region.epoch - block->epoch > kTagMask)
    block = &renew(region, index, function, data, request);
  const uint64_t epoch = region.epoch;
  if constexpr (kRealPointer) {
    // The tag of a multiple of 2^kTagBits is 0: the word is the Block's address, and the episodes skipped are no loss.
    region.blocks[index].epoch = (epoch | kTagMask) + 1;
    region.blocks[index].first_word = *static_cast<void**>(data);
    call(run_region, &region.blocks[index]);
  } else {
    call(run_region, tagged_word(block, epoch));
  }
  note.idle = region.epoch == epoch ? note.idle + 1 : 0;
  next_region = link;
  if (region.nested) count_threads(region, 0);
}

}  // namespace

bool take_place(Place& place) {
  const Block& block = *block_of(place.word);
  Region* region = block.region;
  const bool master = next_region == &region->deeper;  // it opened this region and is inside it
  if (REAL(omp_get_level)() != block.level) {
    // A call from inside a team that we have not seen start says nothing about this region; but the region may also have
    // been entered at another level than the note says.
    region->generation += master;
    return false;
  }
  const auto thread = static_cast<uint32_t>(REAL(omp_get_thread_num)());
  const auto size = static_cast<uint32_t>(REAL(omp_get_num_threads)());
  const uint64_t epoch = epoch_of(place.word, block);
  place.word = nullptr;
  if (master && size != block.size) {
    region->learned_request = region->notes[&block - region->blocks].request;
    region->learned_size = size;
    ++region->generation;
  }
  if (!block.barrier || size != block.size) return false;
  place.real_epoch = &region->real_epoch;
  place.epoch = epoch;
  place.barrier = block.barrier;
  place.region = region;
  place.thread = thread;
  place.level = block.level;
  std::atomic<uint32_t>& cpu = region->cpus[thread];
  if (const uint32_t now = os::current_cpu(); cpu.load(std::memory_order_relaxed) != now)
    cpu.store(now, std::memory_order_relaxed);
  return true;
}

void missed_place() {
  if (!untold) return;
  untold->idle = 0;
  if (untold->patience < 1u << 30) untold->patience *= 2;
  untold = nullptr;
}

const char* start_regions() {
  if (pthread_key_create(&regions_key, free_regions) != 0) return "no thread-specific key is left";
  cpus = usable_cpus(static_cast<uint32_t>(REAL(omp_get_num_procs)()));
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
  return nullptr;
}

}  // namespace smelt::gomp

using smelt::gomp::enter;

extern "C" {

void GOMP_parallel(GompFunction function, void* data, unsigned threads, unsigned flags) {
  enter(function, data, threads, [=](GompFunction f, void* d) { REAL(GOMP_parallel)(f, d, threads, flags); });
}

unsigned GOMP_parallel_reductions(GompFunction function, void* data, unsigned threads, unsigned flags) {
  unsigned size = 0;
  enter<true>(function, data, threads,
              [=, &size](GompFunction f, void* d) { size = REAL(GOMP_parallel_reductions)(f, d, threads, flags); });
  return size;
}

void GOMP_parallel_sections(GompFunction function, void* data, unsigned threads, unsigned count, unsigned flags) {
  enter(function, data, threads,
        [=](GompFunction f, void* d) { REAL(GOMP_parallel_sections)(f, d, threads, count, flags); });
}

#define PARALLEL_LOOP(name)                                                                                     \
  void name(GompFunction function, void* data, unsigned threads, long start, long end, long step, long chunk,   \
            unsigned flags) {                                                                                   \
    enter(function, data, threads,                                                                              \
          [=](GompFunction f, void* d) { REAL(name)(f, d, threads, start, end, step, chunk, flags); });         \
  }
PARALLEL_LOOP(GOMP_parallel_loop_static)
PARALLEL_LOOP(GOMP_parallel_loop_dynamic)
PARALLEL_LOOP(GOMP_parallel_loop_guided)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_guided)

#define PARALLEL_LOOP_RUNTIME(name)                                                                             \
  void name(GompFunction function, void* data, unsigned threads, long start, long end, long step,               \
            unsigned flags) {                                                                                   \
    enter(function, data, threads,                                                                              \
          [=](GompFunction f, void* d) { REAL(name)(f, d, threads, start, end, step, flags); });                \
  }
PARALLEL_LOOP_RUNTIME(GOMP_parallel_loop_runtime)
PARALLEL_LOOP_RUNTIME(GOMP_parallel_loop_nonmonotonic_runtime)
PARALLEL_LOOP_RUNTIME(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

}  // extern "C"
