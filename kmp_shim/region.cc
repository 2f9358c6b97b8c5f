#include "region.h"

#include <pthread.h>
#include <cstdarg>
#include <cstring>

#include "base/options.h"
#include "base/os/os.h"
#include "hot_team.h"
#include "openmp/at_exit.h"
#include "openmp/counters.h"
#include "openmp/headcount.h"
#include "policy/thresholds.h"
#include "policy/wait.h"

constinit thread_local smelt::kmp::HandedOn smelt_kmp_handed_on;

namespace smelt::kmp {

constinit thread_local Position position;
constinit thread_local Region** next_region;

namespace {

// One in so many inner regions is told. A prime number, so that each of several that take turns is.
constexpr uint32_t kInnerTold = 17;

// The regions of this thread, outermost first.
thread_local Region* outermost = nullptr;

pthread_key_t regions_key;  // its destructor is told that a thread ends

// The destructor of regions_key. Others of the thread may come after it, and open regions again: those make it run once
// more.
void end_thread(void* first) {
  if (!end_hot_with_thread()) return;
  outermost = nullptr;
  next_region = nullptr;
  smelt_kmp_handed_on = HandedOn{};
  for (auto* region = static_cast<Region*>(first); region;) {
    Region* deeper = region->deeper;
    region->reduction = nullptr;
    region->reduces_from.store(0, std::memory_order_relaxed);  // nobody is in it
    if (!keep_record(*region)) free_record(*region, sizeof(Region));
    region = deeper;
  }
}

// After fork only the calling thread exists. Teams it was in are gone, and so are the counts; libomp begins anew.
void after_fork_in_child() {
  unlock_records();
  forget_closing();
  forget_hot();
  position = kOutside;
  smelt_kmp_handed_on.last = nullptr;
  smelt_kmp_handed_on.open = outermost && !outermost->nested ? HandedOn::kOutermost : HandedOn::kNothing;
  smelt_kmp_handed_on.inner_left = smelt_kmp_handed_on.inner_given = 0;
  for (Region* region = outermost; region; region = region->deeper) {
    forget_loops_of(*region);
    if (region->nested) region->counted = 0;
  }
  forget_past();
  headcount.threads.store(outermost ? outermost->counted : 0, std::memory_order_relaxed);
}

Region* new_region() {
  const bool nested = outermost || REAL(omp_get_level)() > 0;
  auto* region = static_cast<Region*>(begin_record(sizeof(Region), nested));
  if (!region) return nullptr;
  region->deeper = nullptr;
  if (!outermost) {
    outermost = region;
    smelt_kmp_handed_on.regions = &region->counters.regions;
    if (!region->nested) smelt_kmp_handed_on.open = HandedOn::kOutermost;
    pthread_setspecific(regions_key, region);
  }
  return region;
}

// Was a num_threads clause noted, of which libomp has not been told?
bool is_only_noted(const HandedOn& here) { return here.pushed == 1 || (here.pushed && !here.open); }

// Tells whom the function belongs to, if it was only noted when the call came.
void tell_clause(bool only_noted, KmpIdent* where, const void* function) {
  HandedOn& here = smelt_kmp_handed_on;
  if (only_noted) {
#define MEANT(name) (reinterpret_cast<decltype(&::name)>(meant(smelt_real_##name, function)))
    const KmpThread gtid = MEANT(__kmpc_global_thread_num)(where);
    MEANT(__kmpc_push_num_threads)(where, gtid, static_cast<int32_t>(here.pushed));
#undef MEANT
  }
  here.pushed = 0;
}

// __kmpc_fork_call, or what lies in that slot, of libomp, or of whom the function belongs to, with any arguments.
void fork(const RegionCall& call, void*& slot = smelt_real___kmpc_fork_call) {
  void** const words = call.words;
  const auto* const function = reinterpret_cast<const void*>(call.function);
  tell_clause(is_only_noted(smelt_kmp_handed_on), call.where, function);
  words[0] = call.where;
  words[1] = reinterpret_cast<void*>(static_cast<intptr_t>(call.argc));
  words[2] = reinterpret_cast<void*>(call.function);
  smelt_kmp_call(meant(slot, function), static_cast<size_t>(call.argc) + 3, words);
}

// Inner teams are counted out once for all inner regions, where the region around is ours: the count is a line of all
// masters.
bool end_is_noted(Position& at) {
  at.has_inner = at.word || at.barrier;
  return at.has_inner;
}

// Counts inner regions that the stub has handed on. From now on it hands none on.
void settle(Region& inner) {
  HandedOn& here = smelt_kmp_handed_on;
  const uint32_t handed_on = here.inner_given - here.inner_left;
  inner.entered += handed_on;
  count(inner.counters.regions, handed_on);
  here.inner_left = here.inner_given = 0;
  here.open = HandedOn::kNothing;
}

// From now on the stub runs inner regions of that function, until it is time to tell one.
void hand_on_inside(const Region& region, size_t index, KmpMicrotask function, uint32_t pushed) {
  HandedOn& here = smelt_kmp_handed_on;
  here.inner[index] = function;
  here.inner_pushed = pushed;
  here.inner_left = here.inner_given = kInnerTold - 1 - region.entered % kInnerTold;
  here.open = HandedOn::kInner;
}

// The program's function, in every thread of the team.
void run_region(KmpThread* gtid, KmpThread* tid, void* word) {
  const Block& block = *static_cast<const Block*>(address_in(word));
  const Position before = position;
  HandedOn& here = smelt_kmp_handed_on;
  const uint32_t open = here.open;
  here.open = HandedOn::kNothing;
  note_thread();
  begin_position(position, word);
  position.unmarked = 1;
  const auto count = static_cast<size_t>(block.argc) + 2;
  auto** const words = static_cast<void**>(__builtin_alloca(count * sizeof(void*)));
  words[0] = gtid;
  words[1] = tid;
  std::memcpy(words + 2, block.arguments, (count - 2) * sizeof(void*));
  smelt_kmp_call(reinterpret_cast<void*>(block.function), count, words);
  leave_told(position);
  if (position.has_inner) end_inner();
  position = before;
  here.open = open;
}

// Finds out anew what this region's threads must be told; but for the arguments.
void describe(Region& region, Block& block, KmpMicrotask function, uint32_t request) {
  const Told told = foresee(region, request);
  // The team around it waits better where libomp's waits yield.
  if (region.nested && is_crowded(region, told.size)) spoil_hot();
  if (told.barrier) {
    Team& team = *region.last_team;
    region.reduction = team.fork.fork ? fork_for(region, team) : nullptr;
    region.reduces_from.store(region.reduction ? region.epoch + 1 : 0,
                              std::memory_order_relaxed);  // the fork orders it
  }
  if (block.function == function && says(block.told, told)) return;
  block.function = function;
  block.told = told;
}

// Does the note still say what this region's threads must be told?
bool holds(const Note& note, const Region& region, const Block& block, KmpMicrotask function, uint32_t request) {
  return note.function == function && openmp::holds(note, region, request) &&
         (!region.nested || region.counted == block.told.size - 1) && region.epoch - block.told.epoch <= kTagMask &&
         // The outermost is asked, too: it may have been inside one of one thread last time. A position that is taken
         // by that level would be taken inside a region that we do not serve.
         REAL(omp_get_level)() == block.told.level - 1;
}

// Hands the arguments over; they are the same as the last time in most loops of programs.
void keep_arguments(Block& block, const RegionCall& call) {
  const bool fits = call.argc <= kArguments;
  void** const given = call.words + 3;
  void** const arguments = fits ? block.kept : given;
  if (block.argc != call.argc) block.argc = call.argc;
  if (block.arguments != arguments) block.arguments = arguments;
  for (int32_t i = 0; fits && i < call.argc; ++i)
    if (block.kept[i] != given[i]) block.kept[i] = given[i];
}

// How many threads does the next region ask for?
uint32_t request_now() {
  const uint32_t pushed = smelt_kmp_handed_on.pushed;
  return pushed ? pushed : static_cast<uint32_t>(REAL(omp_get_max_threads)());
}

// May no further level be active, so that a region will have one thread?
bool is_innermost() { return REAL(omp_get_active_level)() >= REAL(omp_get_max_active_levels)(); }

// The same inside a region, where it may be one because no further level may be active. What was the reason last time
// is asked first: the number of levels takes longer.
uint32_t request_inside() {
  thread_local bool one_by_request = false;
  uint32_t request = one_by_request ? request_now() : 0;
  one_by_request = request == 1;
  if (one_by_request) return 1;
  if (is_innermost()) return 1;
  if (request == 0) request = request_now();
  one_by_request = request == 1;
  return request;
}

// Is the calling thread inside the region that it handed to libomp as it is last? There is one, but nobody has noted
// its end. A region of one thread, or one that is not forked, does not matter: it misses nothing, and has no need of a
// Region of its own.
bool inside_handed_on() { return REAL(omp_get_num_threads)() > 1; }

// Tells from now on, for a while, what was handed on last.
void take_back() {
  HandedOn& here = smelt_kmp_handed_on;
  const size_t index = block_of(here.last);
  if (here.functions[index] != here.last) return;  // that has been done
  here.functions[index] = nullptr;
  Note& note = outermost->notes[index];
  if (note.function != here.last) return;  // another function has it by now
  note_missed(note);
}

// Runs the region as it is, and has the stub do so from now on.
void run_untold(size_t index, const RegionCall& call) {
  smelt_kmp_handed_on.last = call.function;
  smelt_kmp_handed_on.functions[index] = call.function;
  fork(call);
}

// Is an inner region to be run untold? One in so many is told, for it may have barriers by now. Its team counts on.
bool is_idle_inside(const Region& region, size_t index, const RegionCall& call, uint32_t request) {
  const Note& note = region.notes[index];
  return region.nested && note.function == call.function && note.request == request && note.idle >= note.idle_limit &&
         region.last_request == request && region.counted == region.blocks[index].told.size - 1 &&
         region.entered % kInnerTold != 0;
}

// How many regions has the master opened inside?
uint32_t entered_inside(const Region& region) { return region.deeper ? region.deeper->entered : 0; }

// Runs the region with every thread told where it is.
void run_told(Region& region, size_t index, const RegionCall& call, uint32_t request) {
  Note& note = region.notes[index];
  Block& block = region.blocks[index];
  if (!holds(note, region, block, call.function, request)) {
    describe(region, block, call.function, request);
    renew(note, region, request, note.function == call.function);
    note.function = call.function;
  }
  keep_arguments(block, call);
  const uint64_t epoch = region.epoch;
  void* const word = tagged_word(&block, epoch);
  HandedOn& here = smelt_kmp_handed_on;
  const KmpMicrotask last = here.last;
  const uint64_t regions = here.regions->load(std::memory_order_relaxed);  // this thread writes it
  const uint32_t inside = entered_inside(region);
  here.last = nullptr;
  REAL(__kmpc_fork_call)(call.where, 1, reinterpret_cast<KmpMicrotask>(run_region), word);
  here.last = last;
  // Regions inside, of one or more, cost less in a region that was told.
  const bool idle = region.epoch == epoch && here.regions->load(std::memory_order_relaxed) == regions &&
                    entered_inside(region) == inside;
  note.idle = idle ? note.idle + 1 : 0;
  if (!idle && region.nested) here.inner[index] = nullptr;
}

}  // namespace

void enter(const RegionCall& call) {
  // libomp's helper threads come this way, too, and say no place.
  if (!call.where || !active()) return fork(call);
  if (is_parked() && is_ours(reinterpret_cast<const void*>(call.function))) [[likely]] {
    if (run_hot(call)) return;
    if (is_parked()) return fork(call);
  }
  if (!is_ours(reinterpret_cast<const void*>(call.function))) [[unlikely]] {
    // A region of another OpenMP runtime: even if the thread is in a team of ours, that runtime's barriers are not
    // ours.
    count_elsewhere();
    const Position before = position;
    position = kOutside;
    fork(call);
    position = before;
    return;
  }
  // The levels of regions in a league of teams do not say what they are inside.
  if (league_at_work()) return fork(call);
  if (!next_region) next_region = &outermost;
  Region** const before = next_region;
  Region** link = before;
  HandedOn& here = smelt_kmp_handed_on;
  const bool only_noted = is_only_noted(here);
  const uint32_t pushed = here.pushed;
  bool inner = here.open != HandedOn::kOutermost;
  if (link == &outermost && here.last) {
    inner = inside_handed_on();
    if (inner)
      link = &outermost->deeper;
    else
      here.last = nullptr;
  }
  if (!here.regions && !(outermost = new_region())) return fork(call);
  const uint32_t request = inner ? request_inside() : request_now();
  // With several runtimes the stub has told libomp.
  if (request == 1 && (!here.pushed || (only_noted && !smelt_openmp_several))) {
    here.pushed = here.clause = 0;
    count(*here.regions);
    const KmpThread gtid = REAL(__kmpc_global_thread_num)(call.where);
    return run_alone(call, gtid, gtid);
  }
  if (inner && here.open == HandedOn::kOutermost)
    take_back();  // the region around it: clauses inside are told too early
  tell_clause(only_noted, call.where, reinterpret_cast<const void*>(call.function));
  if (!*link && !(*link = new_region())) return fork(call);
  renew_headcount();
  const size_t index = block_of(call.function);
  Region& region = **link;
  next_region = &region.deeper;
  if (here.open == HandedOn::kInner) settle(region);
  ++region.entered;
  count(region.counters.regions);
  const Note& note = region.notes[index];
  const bool hot = link == &outermost && may_become_hot(region, call, request);
  here.clause = 0;
  if (!hot && note.function == call.function && note.idle >= note.idle_limit && !region.nested) {
    run_untold(index, call);
  } else if (is_idle_inside(region, index, call, request)) {
    hand_on_inside(region, index, call.function, pushed);
    fork(call);
  } else {
    note_request(region, request);
    const bool run = hot && run_newly_hot(region, call, request);
    if (!run) run_told(region, index, call, request);
  }
  if (region.nested && !end_is_noted(position)) count_team(region, 0);
  next_region = before;
}

void run_alone(const RegionCall& call, KmpThread known, KmpThread told) {
  REAL(__kmpc_serialized_parallel)(call.where, known);
  KmpThread tid = 0;
  call.words[1] = &told;
  call.words[2] = &tid;
  smelt_kmp_call(reinterpret_cast<void*>(call.function), static_cast<uint64_t>(call.argc) + 2, call.words + 1);
  REAL(__kmpc_end_serialized_parallel)(call.where, known);
}

void end_inner() {
  position.has_inner = false;
  Region* inner = *next_region;
  if (smelt_kmp_handed_on.open == HandedOn::kInner) settle(*inner);
  for (; inner && inner->nested; inner = inner->deeper) count_team(*inner, 0);
}

Region* outermost_region() { return outermost; }

bool take_position(Position& at) {
  const Told& told = static_cast<const Block*>(address_in(at.word))->told;
  return openmp::take_position(at, told, next_region == &static_cast<Region*>(told.region)->deeper);
}

void missed_position() {
  if (!inside_handed_on()) return;
  take_back();
  smelt_kmp_handed_on.last = nullptr;
}

const char* start_regions() {
  if (pthread_key_create(&regions_key, end_thread) != 0) return "no thread-specific key is left";
  pthread_atfork(lock_records, unlock_records, after_fork_in_child);
  start_thread_calls();
  start_blocktime();
  // This must be said before libomp makes the first thread. (What else preloads gomp_shim has it done there.)
  if (os::is_single_threaded() && std::strcmp(options().wait, "sleep") != 0) os::register_process_barrier();
  return nullptr;
}

}  // namespace smelt::kmp

using namespace smelt::kmp;

extern "C" {

void smelt_kmp_fork_call(KmpIdent* where, int32_t argc, KmpMicrotask function, ...) {
  auto** const words = static_cast<void**>(__builtin_alloca((static_cast<size_t>(argc) + 3) * sizeof(void*)));
  va_list list;
  va_start(list, function);
  for (int32_t i = 0; i < argc; ++i) words[i + 3] = va_arg(list, void*);
  va_end(list);
  enter({where, argc, function, words});
}

void smelt_kmp_fork_teams(KmpIdent* where, int32_t argc, KmpMicrotask function, ...) {
  auto** const words = static_cast<void**>(__builtin_alloca((static_cast<size_t>(argc) + 3) * sizeof(void*)));
  va_list list;
  va_start(list, function);
  for (int32_t i = 0; i < argc; ++i) words[i + 3] = va_arg(list, void*);
  va_end(list);
  begin_league();
  fork({where, argc, function, words}, smelt_real___kmpc_fork_teams);
  end_league();
}

void smelt_kmp_tell_clause(KmpIdent* where) {
  HandedOn& here = smelt_kmp_handed_on;
  if (is_only_noted(here))
    REAL(__kmpc_push_num_threads)(where, REAL(__kmpc_global_thread_num)(where), static_cast<int32_t>(here.pushed));
  here.pushed = 0;
}

// The form of clang's later versions and flang for regions with an `if` clause: one argument or none. libomp calls the
// other form from inside, past us.
void __kmpc_fork_call_if(KmpIdent* where, int32_t argc, KmpMicrotask function, int32_t condition, void* argument) {
  if (__atomic_load_n(&smelt_kmp_aside, __ATOMIC_RELAXED) == 0) smelt_kmp_look();
  if (!condition) smelt_kmp_handed_on.pushed = 0;  // its own
  if (!condition || argc > 1 || !active()) {
    tell_clause(is_only_noted(smelt_kmp_handed_on), where, reinterpret_cast<const void*>(function));
    return STOCK(__kmpc_fork_call_if)(where, argc, function, condition, argument);
  }
  void* words[] = {nullptr, nullptr, nullptr, argument};
  enter({where, argument ? 1 : 0, function, words});
}

}  // extern "C"
