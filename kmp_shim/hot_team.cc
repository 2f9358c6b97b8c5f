#include "hot_team.h"

#include <string.h>
#include <climits>

#include "base/log.h"
#include "base/options.h"
#include "base/os/os.h"
#include "float_control.h"
#include "openmp/at_exit.h"
#include "openmp/callers.h"
#include "openmp/headcount.h"
#include "policy/thresholds.h"

extern "C" {
extern void* smelt_kmp_shortcuts[] __attribute__((visibility("hidden")));
extern void* smelt_kmp_shortcuts_end[] __attribute__((visibility("hidden")));
extern const smelt::kmp::Detour smelt_kmp_detours[] __attribute__((visibility("hidden")));
uint8_t smelt_kmp_hot = 0;
uint8_t smelt_kmp_background = 0;
constinit smelt::kmp::League smelt_kmp_league;
}

namespace smelt::kmp {
namespace {

// The process's one hot team. Its master's, but for what HotRecord says.
struct HotTeam : HotRecord {
  Region* region;
  KmpThread own;   // the master's number
  OwnBlock block;  // of the master
  OwnBlock::Image inside_image;
  Icvs icvs;  // of the serial part, at the start
  // The arguments of the program's function, written by the master before a fork, read by all after it.
  alignas(kLineBytes) void* kept[kArguments];
};
constinit HotTeam hot{};
constinit StandIn stand_in;

std::atomic<bool> taken{false};           // by a thread whose team `hot` is, or is about to be
std::atomic<const char*> never{nullptr};  // why there will be none in this process; relaxed: it is only told
std::atomic<uint32_t> leagues{0};         // at work, but for smelt_kmp_league; relaxed: their threads know by forks
thread_local bool ends = false;           // the calling thread

// Relaxed: a thread of the team has it.
void say_hot(uint8_t now) {
  __atomic_store_n(&smelt_kmp_hot, now, __ATOMIC_RELAXED);
  if (now)
    close_shortcuts();
  else
    open_shortcuts();
}

// ForkMessage::extra holds how many arguments there are, and the control words.
const void* packed(int32_t argc, uint32_t control) {
  return reinterpret_cast<const void*>(uint64_t{control} << 32 | static_cast<uint32_t>(argc));
}

// The master's message of a region; `kept` are the arguments, written by it before a fork, read by all after it.
inline ForkMessage message_of(const RegionCall& call, void** kept, uint32_t control) {
  for (int32_t i = 0; i < call.argc; ++i)
    if (kept[i] != call.words[i + 3]) kept[i] = call.words[i + 3];
  return {reinterpret_cast<void (*)(void*)>(reinterpret_cast<void*>(call.function)), kept, packed(call.argc, control)};
}

inline void run_function(const ForkMessage& message, KmpThread gtid, KmpThread tid) {
  const auto extra = reinterpret_cast<uint64_t>(message.extra);
  const auto argc = static_cast<uint32_t>(extra);
  set_float_control(static_cast<uint32_t>(extra >> 32));
  void* words[kArguments + 2];
  words[0] = &gtid;
  words[1] = &tid;
  void* const* const kept = static_cast<void**>(message.data);
  for (uint32_t i = 0; i < argc; ++i) words[i + 2] = kept[i];
  smelt_kmp_call(reinterpret_cast<void*>(message.function), argc + 2, words);
}

// Passes an episode that is marked as real.
void pass_real(Position& at, KmpThread gtid) {
  REAL(__kmpc_barrier)(&nowhere, gtid);
  if (at.thread == 0) count(at.region->counters.real);
  step(at);
}

void enter_serial() {
  hot.block.wear(stand_in.image());
  smelt_kmp_identity = {hot.own, stand_in.gtid()};
  smelt_kmp_handed_on.open = HandedOn::kNothing;  // every region comes to us
}

void leave_serial() {
  smelt_kmp_identity = {};
  hot.block.wear(hot.inside_image);
}

struct Master {
  const ForkMessage& message;

  void enter() const { leave_serial(); }
  void leave() const { enter_serial(); }
  void run() const {
    smelt_kmp_handed_on.open = HandedOn::kNothing;
    run_function(message, hot.own, 0);
    if (position.has_inner) [[unlikely]]
      end_inner();
  }
  void end_real() const { pass_real(position, hot.own); }
};

// Runs one region as the master. The team is parked and fits.
[[gnu::aligned(64)]] void run_region(const RegionCall& call) {
  const uint32_t control = float_control();
  const ForkMessage message = message_of(call, hot.kept, control);
  run_as_master(hot, *hot.region, position, next_region, &hot.region->deeper, message, Master{message});
  set_float_control(control);
}

// The workers are gone: sent home, or, in the child of a fork, never there.
void forget() {
  hot.region->epoch = hot.epoch + 1;  // the last fork has used the number before
  hot.active = false;
  smelt_kmp_identity = {};
  smelt_kmp_handed_on.open = HandedOn::kOutermost;
  say_hot(0);
}

void give_back() { taken.store(false, std::memory_order_release); }  // release: with the record, for the next master

// Sends the workers home. The master is in the serial part, and has the settings that the stand-in had there.
void end() {
  // A child of _Fork() or of a bare clone, of which nobody has told us, has no workers to send.
  if (hot.process != os::process_id()) return forget();
  const Icvs icvs = icvs_now();
  const uint32_t announced = smelt_kmp_handed_on.pushed;
  leave_serial();
  send_home(hot);
  REAL(GOMP_parallel_end)();
  stand_in.release_destructor(hot.own);
  if (!(icvs == hot.icvs)) set_icvs(icvs);
  if (announced) REAL(__kmpc_push_num_threads)(&nowhere, hot.own, static_cast<int32_t>(announced));
  forget();
}

// Does libomp take the master for what it is to be, in the serial part and inside?
bool can_swap(HotRecord&) {
  const auto is_at = [](int level, int threads, KmpThread gtid) {
    return REAL(omp_get_level)() == level && REAL(omp_get_num_threads)() == threads &&
           REAL(__kmpc_global_thread_num)(&nowhere) == gtid;
  };
  hot.inside_image = hot.block.image();
  const bool inside = is_at(hot.level, static_cast<int>(hot.size), hot.own);
  hot.block.wear(stand_in.image());
  const bool around = is_at(hot.level - 1, 1, stand_in.gtid()) && icvs_now() == hot.icvs;
  hot.block.wear(hot.inside_image);
  return inside && around;
}

// Gives the stand-in the calling thread's settings. False: they cannot be given.
bool lend_settings() {
  const OwnBlock::Image own = hot.block.image();
  hot.block.wear(stand_in.image());
  set_icvs(hot.icvs);
  lend_blocktime();
  const bool same = icvs_now() == hot.icvs;
  hot.block.wear(own);
  return same;
}

// What no hot team can do with, and will not change in this process; nullptr: nothing.
const char* why_never() {
  for (const char* name : {"KMP_ALL_THREADS", "KMP_DEVICE_THREAD_LIMIT", "KMP_MAX_THREADS", "OMP_THREAD_LIMIT"})
    if (environment(name)) return "a limit of threads is set";
  if (const char* const inherits = environment("KMP_INHERIT_FP_CONTROL"); inherits && strcasecmp(inherits, "true") != 0)
    return "KMP_INHERIT_FP_CONTROL is set";
  if (const char* const mode = environment("KMP_GTID_MODE"); mode && strcmp(mode, "3") != 0)
    return "KMP_GTID_MODE is set";
  // libomp gives a thread its mask of before back behind every region; and would tell of the stand-in.
  if (const char* const affinity = environment("KMP_AFFINITY");
      affinity && (strcasestr(affinity, "reset") || strcasestr(affinity, "verbose")))
    return "KMP_AFFINITY has reset or verbose";
  if (const char* const shows = environment("OMP_DISPLAY_AFFINITY"); shows && strcasecmp(shows, "false") != 0)
    return "OMP_DISPLAY_AFFINITY is set";
  for (void* const slot :
       {smelt_real_GOMP_parallel_start, smelt_real_GOMP_parallel_end, smelt_real_kmp_get_num_known_threads,
        smelt_real_omp_get_default_device, smelt_real_omp_get_default_allocator, smelt_real___kmpc_get_parent_taskid})
    if (!slot) return "this libomp lacks an entry point";
  // Its regions would have threads of their own beside a parked team, and other threadprivate values.
  if (is_called("GOMP_parallel")) return "code that GCC compiled runs on libomp";
  return nullptr;
}

// Why a team of so many cannot be made now; nullptr: it can.
const char* why_not(const Region& region, uint32_t size) {
  if (const char* const why = never.load(std::memory_order_relaxed)) return why;
  if (smelt_openmp_several) return "another OpenMP runtime is in the process";
  if (size > kMaxParticipants) return "too many threads";
  if (REAL(omp_get_dynamic)()) return "dynamic adjustment of team sizes";
  if (REAL(omp_get_thread_limit)() != INT_MAX) return "a limit of threads";
  if (REAL(__kmpc_get_parent_taskid)() != 0) return "inside a task";
  if (size == region.learned_request && region.learned_size != size) return "libomp gives it another size";
  return nullptr;
}

void say_never(const char* why) { never.store(why, std::memory_order_relaxed); }

void dock(void*);

bool holds(HotRecord&) {
  if (!stand_in.hold_destructor(hot.own)) return false;
  hot.region->reduction = hot.team->fork.fork;
  hot.region->reduces_from.store(hot.first_epoch + 1, std::memory_order_relaxed);
  return true;
}

// Lets the workers into a region of libomp's. False: no team; where that will be so again, `never` says why.
bool start(Region& region, uint32_t size) {
  constexpr const char* kUnknown = "this libomp keeps its threads' state in an unknown way";
  if (!hot.block.find()) return say_never(kUnknown), false;
  hot.region = &region;
  hot.own = REAL(__kmpc_global_thread_num)(&nowhere);
  hot.icvs = icvs_now();
  if (!lend_settings()) return false;
  region.reduction = nullptr;
  region.reduces_from.store(0, std::memory_order_relaxed);  // the meeting orders it, as below
  if (!start_team(hot, region, size, true, dock, {can_swap, holds})) {
    if (region.learned_request != size || region.learned_size == size) say_never(kUnknown);
    return false;
  }
  hot.active = true;
  say_hot(1);
  enter_serial();
  return true;
}

// A worker's life between the team's start and its end.
[[gnu::aligned(64)]] void dock(void*) {
  const KmpThread gtid = REAL(__kmpc_global_thread_num)(&nowhere);
  const auto me = static_cast<uint32_t>(REAL(omp_get_thread_num)());
  if (!come_to_meeting(hot, me, hot.region->cpus[me])) return;
  Position& at = position;
  const Position before = at;
  const uint32_t open = smelt_kmp_handed_on.open;
  at = position_in(*hot.region, hot.barrier, me, hot.first_epoch, hot.level);
  smelt_kmp_handed_on.open = HandedOn::kNothing;
  work(
      hot, at,
      [&](const ForkMessage& message) {
        run_function(message, gtid, static_cast<KmpThread>(me));
        if (at.has_inner) [[unlikely]]
          end_inner();
      },
      [&] { pass_real(at, gtid); });
  smelt_kmp_handed_on.open = open;
  at = before;
}

// Why the parked team cannot run a region of so many threads; nullptr: it can.
inline const char* misfit(const RegionCall& call, uint32_t request, int threads) {
  if (!hot.block.is(stand_in.image())) [[unlikely]] {
    say_never("libomp's state of the serial part changed");
    return "libomp's state of the serial part changed";
  }
  if (headcount.crowded()) [[unlikely]]
    return "the number of threads or of CPUs";
  // Relaxed: the join has ordered what was done inside the last region.
  if (hot.spoiled.load(std::memory_order_relaxed)) [[unlikely]]
    return "in a region a setting was changed, a task had dependences, or inner regions crowded the CPUs";
  if (threads != hot.icvs.threads) [[unlikely]]
    return "the number of threads was changed";
  if (smelt_openmp_several) [[unlikely]]
    return "another OpenMP runtime is in the process";
  if (request != hot.size) [[unlikely]]
    return "another team size";
  return call.argc > kArguments || smelt_kmp_handed_on.clause ? "a clause, or too many arguments" : nullptr;
}

}  // namespace

bool run_hot(const RegionCall& call) {
  uint32_t& pushed = smelt_kmp_handed_on.pushed;
  if (REAL(omp_get_level)() != 0) [[unlikely]] {
    // The thread is in a region of one, or in one of those that are inside that.
    if (pushed) REAL(__kmpc_push_num_threads)(call.where, stand_in.gtid(), static_cast<int32_t>(pushed));
    pushed = 0;
    return false;
  }
  const int threads = REAL(omp_get_max_threads)();
  const uint32_t request = pushed ? pushed : static_cast<uint32_t>(threads);
  if (request == 1) [[unlikely]] {
    pushed = 0;
    count(hot.region->counters.regions);
    // The thread is the stand-in here. The compiler's function gets the own number, as it does from an `if` clause.
    run_alone(call, stand_in.gtid(), hot.own);
    return true;
  }
  renew_headcount();
  if (const char* const why = misfit(call, request, threads)) [[unlikely]] {
    end_hot(why);
    return false;
  }
  pushed = 0;
  run_region(call);
  return true;
}

bool may_become_hot(const Region& region, const RegionCall& call, uint32_t request) {
  if (!options().hot_team || ends || region.nested || call.argc > kArguments || smelt_kmp_handed_on.clause ||
      headcount.crowded() || never.load(std::memory_order_relaxed) ||
      taken.load(std::memory_order_relaxed) ||  // asked again before it is taken
      region.regions_before_hot >= typical(ThresholdId::kHotAfterMost))
    return false;
  // A region inside one of one thread that was handed on looks like an outermost one.
  return request > 1 && request <= headcount.cpus.load(std::memory_order_relaxed) && REAL(omp_get_level)() == 0;
}

bool run_newly_hot(Region& region, const RegionCall& call, uint32_t request) {
  if (region.repeats < region.regions_before_hot) return false;
  // Acquire: the record, of its last master.
  if (taken.exchange(true, std::memory_order_acquire)) return false;
  const char* why = why_not(region, request);
  if (!why && ((why = why_never()) || (why = stand_in.begin()))) say_never(why);
  if (why || !start(region, request)) {
    if (!why) {
      why = "libomp gives it another size, or its settings cannot be copied";
      // The program's announcement may have been used up.
      REAL(__kmpc_push_num_threads)(call.where, hot.own, static_cast<int32_t>(request));
    }
    note_not_hot(request, why);
    put_off(region, false);
    give_back();
    return false;
  }
  note_start(region, *hot.team, "hot, fork and join ");
  count(region.counters.regions, ~0ull);  // counted again as a hot one
  run_region(call);
  return true;
}

void end_hot(const char* why) {
  if (!is_parked() || REAL(omp_get_level)() != 0) return;
  if (in_fork()) return hot.spoiled.store(true, std::memory_order_relaxed);  // the calling thread looks at it next
  Region& region = *hot.region;
  end();
  note_end(region, hot, why);
  give_back();
}

void before_pause(intptr_t kind) {
  end_hot("the runtime is paused");
  if (kind != kPauseHard || in_fork()) return;
  // Acquire: the stand-in, of the last master. A team of another thread's needs it.
  if (taken.exchange(true, std::memory_order_acquire)) return;
  stand_in.retire();
  give_back();
}

// Relaxed: code addresses, each of which will do for a thread that has no parked team and one runtime.
void close_shortcuts() {
  // Sequentially consistent, as below: of `several` being set here and being asked there, one is seen by the other.
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  const Detour* detour = smelt_kmp_detours;
  for (void** to = smelt_kmp_shortcuts; to != smelt_kmp_shortcuts_end; ++to, ++detour)
    __atomic_store_n(to, detour->around, __ATOMIC_RELAXED);
}

void open_shortcuts() {
  const Detour* detour = smelt_kmp_detours;
  for (void** to = smelt_kmp_shortcuts; to != smelt_kmp_shortcuts_end; ++to, ++detour)
    if (*detour->slot) __atomic_store_n(to, *detour->slot, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (__atomic_load_n(&smelt_openmp_several, __ATOMIC_RELAXED)) close_shortcuts();
}

void wear_own() { hot.block.wear(hot.inside_image); }
void wear_stand_in() { hot.block.wear(stand_in.image()); }

// The stub's word is a hint: where one league ends while another is at work, regions of that one come the long way.
void begin_league() {
  end_hot("a league of teams begins");
  const void* nobody = nullptr;
  smelt_kmp_league.master.compare_exchange_strong(nobody, &smelt_kmp_handed_on, std::memory_order_relaxed);
  leagues.fetch_add(1, std::memory_order_relaxed);
  __atomic_store_n(&smelt_kmp_aside, 3, __ATOMIC_RELAXED);
}
bool league_at_work() {
  return smelt_kmp_league.at_work.load(std::memory_order_relaxed) || leagues.load(std::memory_order_relaxed) != 0;
}
void end_league() {
  if (leagues.fetch_sub(1, std::memory_order_relaxed) == 1) __atomic_store_n(&smelt_kmp_aside, 2, __ATOMIC_RELAXED);
}

void note_clause() {
  smelt_kmp_handed_on.clause = true;
  end_hot("a clause that no hot team obeys");
}

void spoil_hot() {
  // Relaxed: the master sees it, since this thread has not arrived at the join yet.
  if (__atomic_load_n(&smelt_kmp_hot, __ATOMIC_RELAXED) && position.barrier && position.region == hot.region)
    hot.spoiled.store(true, std::memory_order_relaxed);
}

bool end_hot_with_thread() {
  ends = true;
  if (!is_parked()) return !(hot.active && hot.region == outermost_region());
  if (REAL(omp_get_level)() != 0) return false;
  end();
  put_off(*hot.region, was_worthwhile(hot, *hot.region));
  give_back();
  return true;
}

void forget_hot() {
  stand_in.forget();
  // Relaxed: there is one thread.
  if (hot.active && hot.region == outermost_region())
    forget();
  else if (hot.active)
    hot.active = false;
  say_hot(0);
  leagues.store(0, std::memory_order_relaxed);
  smelt_kmp_league.at_work.store(false, std::memory_order_relaxed);
  taken.store(false, std::memory_order_relaxed);
}

namespace {

// The program's own functions at exit have run. libomp's comes after this: it is to find its threads where they are
// without us.
[[gnu::destructor]] void end_at_exit() {
  if (is_parked() && REAL(omp_get_level)() == 0) end();
}

}  // namespace
}  // namespace smelt::kmp

using namespace smelt::kmp;

// The stubs call these.
extern "C" {

[[gnu::visibility("hidden")]] void smelt_kmp_before_setting() {
  end_hot("a setting is changed");
  spoil_hot();
}

[[gnu::visibility("hidden")]] void smelt_kmp_before_leaving() {
  end_hot("something begins that cannot bear a parked team");
}

}  // extern "C"
