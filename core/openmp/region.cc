#include "openmp/region.h"

#include <pthread.h>
#include <new>

#include "base/os/os.h"
#include "base/seat.h"
#include "openmp/at_exit.h"
#include "openmp/headcount.h"
#include "policy/thresholds.h"
#include "policy/wait.h"

namespace smelt::openmp {

constinit const Position kOutside;

namespace {

// As many as threads may be at work at a time in programs that start one for every request, and no more than some MiB.
constexpr uint32_t kMostKept = 64;

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
RegionRecord* kept[2];    // of outermost and of nested regions; guarded by the lock, as the next
uint32_t kept_count = 0;  // in both lists

thread_local bool forks = false;  // in_fork()

RegionRecord* take_kept(bool nested) {
  pthread_mutex_lock(&lock);
  RegionRecord* const record = kept[nested];
  if (record) {
    kept[nested] = record->next_kept;
    --kept_count;
  }
  pthread_mutex_unlock(&lock);
  return record;
}

}  // namespace

RegionRecord* begin_record(size_t bytes, bool nested) {
  RegionRecord* record = take_kept(nested);
  if (!record) record = static_cast<RegionRecord*>(os::map_pages(bytes));
  if (!record) return nullptr;
  record->nested = nested;
  record->last_request = record->last_crew = record->repeats = 0;
  record->learned_request = record->learned_size = 0;
  if (record->regions_before_hot == 0) record->regions_before_hot = typical(ThresholdId::kHotAfter);
  for (auto& cpu : record->cpus) cpu.store(~0u, std::memory_order_relaxed);
  note_thread();
  add_counters(&record->counters);
  return record;
}

bool keep_record(RegionRecord& record) {
  headcount.threads.fetch_sub(record.counted, std::memory_order_relaxed);
  remove_counters(&record.counters);
  new (&record.counters) Counters;
  record.entered = record.counted = 0;
  ++record.generation;
  pthread_mutex_lock(&lock);
  const bool keeps = kept_count < kMostKept;
  if (keeps) {
    record.next_kept = kept[record.nested];
    kept[record.nested] = &record;
    ++kept_count;
  }
  pthread_mutex_unlock(&lock);
  return keeps;
}

void free_record(RegionRecord& record, size_t bytes) {
  for (Team& team : record.teams) free_team(team);
  os::unmap_pages(&record, bytes);
}

void lock_records() {
  counters_lock();
  pthread_mutex_lock(&lock);
  forks = true;
}

void unlock_records() {
  forks = false;
  pthread_mutex_unlock(&lock);
  counters_unlock();
}

bool in_fork() { return forks; }

// Relaxed: there is one thread. Where no loop was ours, no pages are touched.
void forget_loops_of(RegionRecord& region) {
  if (region.counters.dynamic_loops.load(std::memory_order_relaxed) > 0)
    forget_loops(region.loop_counters, region.loop_threads, kMaxParticipants);
}

// An outermost team counts from its first region until its master ends, like libgomp's own gomp_managed_threads: its
// threads stay, and counting them in and out would cost every region two locked operations.
void count_team(RegionRecord& region, uint32_t threads) {
  if (region.counted == threads) return;
  // Modulo 2^32 the difference is right whichever is larger.
  headcount.threads.fetch_add(threads - region.counted, std::memory_order_relaxed);
  region.counted = threads;
  note_team(threads + region.nested);  // a nested team's master is counted in the team around it
}

void note_request(RegionRecord& region, uint32_t request) {
  if (request != region.last_request) {
    region.last_request = request;
    ++region.generation;
  }
  if (request <= 1) return;
  if (request != region.last_crew) {
    region.last_crew = request;
    region.repeats = 0;
  } else if (++region.repeats == typical(ThresholdId::kSettled)) {
    ++region.generation;
  }
}

Told foresee(RegionRecord& region, uint32_t request) {
  const uint32_t size = request == region.learned_request ? region.learned_size : request;
  count_team(region, region.nested ? size - 1 : size);  // a nested team's master is counted in the team around it
  take_headcount(region);
  const bool served = size >= 1 && size <= kMaxParticipants;
  const bool crowded = is_crowded(region, size);
  Barrier* const barrier =
      served ? barrier_for(region, size, crowded, crowded && region.repeats < typical(ThresholdId::kSettled)) : nullptr;
  return {&region, barrier, region.epoch, size, REAL(omp_get_level)() + 1};
}

bool take_position(Position& position, const Told& told, bool is_master) {
  RegionRecord& region = *told.region;
  if (REAL(omp_get_level)() != told.level) {
    // A call from inside a team that we have not seen start says nothing about this region; but the region may also
    // have been entered at another level than the note says.
    region.generation += is_master;
    return false;
  }
  const auto thread = static_cast<uint32_t>(REAL(omp_get_thread_num)());
  const auto size = static_cast<uint32_t>(REAL(omp_get_num_threads)());
  const uint64_t epoch = epoch_in(position.word, told.epoch);
  position.word = nullptr;
  if (is_master && size != told.size) {
    region.learned_request = region.last_request;
    region.learned_size = size;
    ++region.generation;
  }
  if (!told.barrier || size != told.size) return false;
  position.real_epoch = &region.real_epoch;
  position.epoch = epoch;
  position.barrier = told.barrier;
  position.region = &region;
  position.thread = thread;
  position.level = told.level;
  place::note_cpu(region.cpus[thread]);
  return true;
}

}  // namespace smelt::openmp
