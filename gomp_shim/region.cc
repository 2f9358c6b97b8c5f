#include "region.h"

#include <pthread.h>

#include "base/options.h"
#include "base/os/os.h"
#include "hot_team.h"
#include "openmp/at_exit.h"
#include "openmp/callers.h"
#include "openmp/headcount.h"
#include "openmp/new_thread.h"
#include "own_tasks.h"
#include "parked.h"
#include "policy/thresholds.h"
#include "policy/wait.h"
#include "real.h"
#include "solo.h"

extern "C" {
uint8_t smelt_gomp_found = 0;
}

namespace smelt::gomp {
namespace {

// The regions of this thread, outermost first.
thread_local Region* outermost = nullptr;

pthread_key_t regions_key;  // its destructor is told that a thread ends

// The destructor of regions_key. Others of the thread may come after it, and open regions again: those make it run once
// more.
void end_thread(void* first) {
  const Crossing crossing(Transition::kEndThread);
  auto* const region = static_cast<Region*>(first);
  outermost = nullptr;
  smelt_gomp_next_region = nullptr;
  if (!end_hot_with_thread() || in_solo(*region)) return;
  end_solo(*region);
  visit_regions(region, [](Region& left) {
    leave_hot(left);
    left.solo.state.forget_thread();
    free_tasks(left);
    if (keep_record(left)) return;
    free_hot(left);
    free_record(left, sizeof(Region));
  });
}

// After fork only the calling thread exists. Teams it was in are gone, and so are the counts. So is libgomp's pool of
// threads, for which stock waits for ever at the child's first region; if the child is in its serial part, libgomp
// makes a new one.
void after_fork_in_child() {
  unlock_records();
  forget_closing();
  forget_hot();
  visit_regions(outermost, forget_kept);
  if (REAL(omp_get_level)() == 0) {
    PoolWord::forget_pool();
    expect_new_pool();
  }
  smelt_gomp_position = kOutside;
  visit_regions(outermost, [](Region& region) {
    forget_tasks(region);
    forget_loops_of(region);
  });
  forget_past();
  headcount.threads.store(outermost ? outermost->counted : 0, std::memory_order_relaxed);
}

Region* new_region() {
  Region* const region = new_record(outermost || REAL(omp_get_level)() > 0);
  if (region && !outermost) {
    outermost = region;
    set_specific(regions_key, region);
  }
  return region;
}

// Is the region to have one thread, whatever it asks for? It is inside others, where no further level may be active.
bool is_of_one(const Region& region, uint32_t request) {
  return request == 1 || (region.nested && REAL(omp_get_active_level)() >= REAL(omp_get_max_active_levels)());
}

// The program's function, in every thread of the team.
void run_region(void* word) {
  const Crossing crossing(Transition::kWorkStock);
  note_thread();
  const Block& block = block_of(word);
  Position& position = smelt_gomp_position;
  const Position before = position;
  begin_position(position, word);
  block.function(block.data);
  end_region(position, block.drains);
  end_kept();
  leave_told(position);
  position = before;
}

// The Block for this region of the program, compared and perhaps written anew.
const Block& renew(Region& region, size_t index, const RegionCall& call, uint32_t request) {
  Block& block = region.blocks[index];
  Note& note = region.notes[index];
  const Told told = foresee(region, request);
  const bool drains = expects_tasks(region);
  if (block.function != call.function || block.data != call.data || block.drains != drains || !says(block.told, told))
    block = {nullptr, call.function, call.data, told, drains};
  openmp::renew(note, region, request, note.function == call.function);
  note.function = call.function;
  note.data = call.data;
  return block;
}

// How many threads does the region ask for?
uint32_t request_of(Region& region, const RegionCall& call) {
  const uint32_t request = call.threads ? call.threads : static_cast<uint32_t>(REAL(omp_get_max_threads)());
  note_request(region, request);
  if (request > 1) renew_headcount();
  return request;
}

// Starts a hot team if that is worth it, and runs the region on it. False: it has not run.
[[gnu::noinline]] bool run_newly_hot(Region& region, const RegionCall& call, uint32_t request) {
  if (region.nested || call.reduction_size || !start_hot(region, request, call.flags)) return false;
  Region** const inside = smelt_gomp_next_region;
  smelt_gomp_next_region = &outermost;    // where a region that is not nested hangs
  count(region.counters.regions, ~0ull);  // counted again as a hot one
  const bool run = run_hot(call);
  smelt_gomp_next_region = inside;
  return run;
}

// Runs the region as it is. If it meets a barrier after all, `note` will be told.
void run_untold(Note& note, const RegionCall& call, RealEntry real) {
  Note* const before = smelt_gomp_untold;
  smelt_gomp_untold = &note;
  real(call, call.function, call.data);
  smelt_gomp_untold = before;
}

// Runs the region with every thread told where it is.
void run_told(Region& region, size_t index, const RegionCall& call, uint32_t request, RealEntry real) {
  Note& note = region.notes[index];
  const Block* block = &region.blocks[index];
  if (note.function != call.function || note.data != call.data || region.nested || !holds(note, region, request) ||
      region.epoch - block->told.epoch > kTagMask)
    block = &renew(region, index, call, request);
  if (call.reduction_size) {
    // The tag of a multiple of 2^kTagBits is 0: the word is the Block's address, and the episodes skipped are no loss.
    region.epoch = (region.epoch | kTagMask) + 1;
    region.blocks[index].told.epoch = region.epoch;
    region.blocks[index].first_word = *static_cast<void**>(call.data);
  }
  const uint64_t epoch = region.epoch;
  real(call, run_region, call.reduction_size ? &region.blocks[index] : tagged_word(block, epoch));
  note.idle = region.epoch == epoch ? note.idle + 1 : 0;
}

// Runs a region of a thread that is away already.
[[gnu::noinline]] void run_as_it_is(const RegionCall& call, RealEntry real) {
  const PoolWord pool(true);
  real(call, call.function, call.data);
}

// Runs a region that is libgomp's with all that is in it.
[[gnu::noinline]] void run_away(const RegionCall& call, RealEntry real) {
  const GoAway away(Transition::kRunRest);
  const PutAside position;
  real(call, call.function, call.data);
}

// Runs a region of which no hot team is in the way. It is not inlined, nor is the one above: regions of one thread
// would pay for their frames.
[[gnu::noinline]] void run_cold(Region& region, const RegionCall& call, uint32_t request, RealEntry real) {
  const Crossing crossing(Transition::kRunStock);
  const PoolWord pool(region.entered == 1 && !region.nested);
  const size_t index = call.reduction_size ? kBlocks : reinterpret_cast<uintptr_t>(call.function) / 16 % kBlocks;
  Note& note = region.notes[index];
  if (targets_seen.load(std::memory_order_relaxed))
    run_away(call, real);
  else if (note.function == call.function && note.idle >= note.idle_limit && !region.nested)
    run_untold(note, call, real);
  else
    run_told(region, index, call, request, real);
  if (region.nested) count_team(region, 0);
}

}  // namespace

std::atomic<bool> unseen_regions{false};

void enter(const RegionCall& call, RealEntry real) {
  if (!active()) return real(call, call.function, call.data);
  if (smelt_gomp_own.away != 0) [[unlikely]]
    return run_as_it_is(call, real);
  if (!smelt_gomp_next_region) smelt_gomp_next_region = &outermost;
  Region** const link = smelt_gomp_next_region;
  if (!*link && !(*link = new_region())) {
    note_unseen_region();
    return real(call, call.function, call.data);
  }
  Region& region = **link;
  if (region.nested && options().nested && smelt_gomp_position.word) take_position(smelt_gomp_position);
  smelt_gomp_next_region = &region.deeper;
  ++region.entered;
  count(region.counters.regions);
  region.settings.store(kUnchanged, std::memory_order_relaxed);  // the threads are told by the fork

  HotTeam* const parked = smelt_gomp_hot && !smelt_gomp_hot->inside ? smelt_gomp_hot : nullptr;
  // Beside a parked team it is one of one thread, or run_hot would have served or ended that.
  const uint32_t request = parked ? 1 : request_of(region, call);
  const bool rest = targets_seen.load(std::memory_order_relaxed);  // relaxed: the thread that made the task knows
  if (!rest && is_of_one(region, request) && run_solo(region, call)) {
  } else if (parked) {
    // The episode numbers belong to the hot team now, so libgomp serves this one alone.
    const Crossing crossing(Transition::kRunStock);
    parked->inside = true;
    real(call, call.function, call.data);
    parked->inside = false;
  } else if (rest || (!run_kept(region, call, request, real) && !run_newly_hot(region, call, request))) {
    run_cold(region, call, request, real);
  }
  smelt_gomp_next_region = link;
}

Region* new_record(bool nested) {
  auto* const region = static_cast<Region*>(begin_record(sizeof(Region), nested));
  if (!region) return nullptr;
  static_cast<Habits&>(*region) = {};
  return region;
}

void visit_regions(Region* first, void (*visit)(Region&)) {
  if (!first) return;
  visit_regions(first->deeper, visit);
  visit_regions(first->one, visit);
  visit(*first);
}

void expect_new_pool() {
  if (!outermost) return;
  outermost->repeats = outermost->last_crew = 0;
  ++outermost->generation;
}

bool take_position(Position& position) {
  const Told& told = block_of(position.word).told;
  return openmp::take_position(position, told, smelt_gomp_next_region == &static_cast<Region*>(told.region)->deeper);
}

void missed_position() {
  note_missed(*smelt_gomp_untold);
  smelt_gomp_untold = nullptr;
}

const char* start_regions() {
  if (pthread_key_create(&regions_key, end_thread) != 0) return "no thread-specific key is left";
  begin_headcount(static_cast<uint32_t>(REAL(omp_get_num_procs)()));
  pthread_atfork(lock_records, unlock_records, after_fork_in_child);
  resolve_thread_calls();
  find_runtime(smelt_real_GOMP_parallel);
  start_tasks();
  // Release: a thread that sees it finds the slots filled.
  __atomic_store_n(&smelt_gomp_found, 1, __ATOMIC_RELEASE);
  return nullptr;
}

}  // namespace smelt::gomp
