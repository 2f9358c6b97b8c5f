// A parallel region of libomp's as the shim sees it: openmp/region.h has the way. The entry point is __kmpc_fork_call,
// and the function run_region. A Block holds the program's arguments, too. The size asked for is that of the
// num_threads clause, which the compiler announces by __kmpc_push_num_threads, else omp_get_max_threads().
//
// A region that is handed to libomp as it is goes there by a jump in the stub __kmpc_fork_call from the second time on.
// Nobody notes the end of such a region, so wherever it matters libomp is asked whether it goes on.
//
// A region of one thread, by its clause, the settings, or because no further level may be active, runs as compilers run
// one whose `if` clause is false: between the two calls that libomp makes for it, too, but without what is around them.
//
// Regions that begin out of our sight (`if` clauses that are false, teams constructs, code that GCC compiled and that
// calls libomp through its GOMP_ names) are told by the nesting level, and their barriers are libomp's. So are those of
// regions of one thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libomp.h"
#include "openmp/callers.h"
#include "openmp/region.h"
#include "real.h"

namespace smelt::kmp {

using namespace openmp;

struct Region;

// The calling thread's, and where its next region hangs: of those that it opens where it is now. constinit, so that no
// caller looks for an initialiser first.
extern constinit thread_local Position position __attribute__((visibility("hidden"), tls_model("initial-exec")));
extern constinit thread_local Region** next_region __attribute__((visibility("hidden"), tls_model("initial-exec")));

inline constexpr int32_t kArguments = 24;  // of the program's function kept in a Block; more stay with the master

// All that the threads of a team are told at the start of a region.
struct alignas(64) Block {
  KmpMicrotask function;
  void** arguments;  // [argc]: `kept`, or on the master's stack
  Told told;
  int32_t argc;
  void* kept[kArguments];
};

// While it holds, nothing but the arguments is looked at again.
struct Note : NoteRecord {
  KmpMicrotask function;
};

inline size_t block_of(KmpMicrotask function) { return reinterpret_cast<uintptr_t>(function) / 16 % kBlocks; }

struct Region : RegionRecord {
  // Only the master uses it, too.
  Region* deeper;       // for a region that the master opens inside this one
  Note notes[kBlocks];  // by the same index as `blocks`; of `generation`

  // The tree of the team's reductions (reductions.cc), for the episodes from `reduces_from` on; 0: there is none yet.
  // Written by the master.
  alignas(kLineBytes) std::atomic<uint64_t> reduces_from;
  ForkJoin* reduction;

  alignas(kLineBytes) Block blocks[kBlocks];  // direct-mapped by the program's function
};

// The regions that this thread, as their master, hands to libomp as they are, by the program's function. The stub reads
// and writes it, at these offsets. A region that calls itself is handed on inside, too.
struct HandedOn {
  static constexpr uint32_t kNothing = 0, kOutermost = 1, kInner = 2;
  uint32_t open = kNothing;   // what the stub hands on
  uint32_t inner_pushed = 0;  // `pushed` of inner regions that are
  // By the num_threads clause of the next region; every region clears it. libomp has been told where several threads
  // are to run a region and the stub may hand it on (`open`); else it is told when it is to run the region. A region of
  // one it does not run, and it would keep the number for the next.
  uint32_t pushed = 0;
  uint32_t clause = 0;                       // the next region has a clause that no hot team obeys (hot_team.h)
  KmpMicrotask last = nullptr;               // handed on; it may have ended. nullptr: certainly
  std::atomic<uint64_t>* regions = nullptr;  // the counter of them; not null where the table has a function
  KmpMicrotask functions[kBlocks] = {};      // by the same index as Region::notes; nullptr: goes the long way
  KmpMicrotask inner[kBlocks] = {};          // of regions inside one that is told
  uint32_t inner_left = 0;                   // how many of those still, before one is told again; counted down from ...
  uint32_t inner_given = 0;
};
static_assert(offsetof(HandedOn, inner_pushed) == 4 && offsetof(HandedOn, pushed) == 8 &&
              offsetof(HandedOn, clause) == 12 && offsetof(HandedOn, last) == 16 && offsetof(HandedOn, regions) == 24 &&
              offsetof(HandedOn, functions) == 32 && offsetof(HandedOn, inner) == 288 &&
              offsetof(HandedOn, inner_left) == 544 && kBlocks == 32);

}  // namespace smelt::kmp

extern "C" constinit thread_local smelt::kmp::HandedOn smelt_kmp_handed_on
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

namespace smelt::kmp {

// The program's call of __kmpc_fork_call.
struct RegionCall {
  KmpIdent* where;
  int32_t argc;
  KmpMicrotask function;
  void** words;  // [argc + 3]: the arguments from words[3] on; the first three are written when it goes on to libomp
};
void enter(const RegionCall& call);

// Runs it in the calling thread alone, which libomp is told is `known`, and the program's function `told`.
void run_alone(const RegionCall& call, KmpThread known, KmpThread told);

// The tree for a reduction in that episode; nullptr: none yet, for all threads of the team alike. The words read here
// were written before the region began, or before a barrier that the caller has passed.
inline ForkJoin* reduction_for(const Region& region, uint64_t epoch) {
  // Relaxed: the number decides, and those that name later episodes lead nowhere.
  const uint64_t from = region.reduces_from.load(std::memory_order_relaxed);
  return from != 0 && from <= epoch ? region.reduction : nullptr;
}

// For a position with a word: fills in the rest if this call comes from that region itself (by its level) and the team
// has the size foreseen. False: libomp must serve the call.
bool take_position(Position& position);

// The calling thread's region ends, and regions inside it were counted.
void end_inner();

Region* outermost_region();

// A barrier that libomp must serve, and a region was handed on: should it have been told?
void missed_position();

// Is the calling thread in a region that we serve?
inline bool served(Position& at, const void* caller) {
  if (smelt_openmp_several && !is_ours(caller)) [[unlikely]]
    return false;
  if (at.barrier && REAL(omp_get_level)() == at.level) [[likely]]
    return true;
  if (!at.barrier && at.word && take_position(at)) return true;
  if (smelt_kmp_handed_on.last) missed_position();
  return false;
}

// What the caller means, as STOCK; nobody asks whose it is where the process has one runtime only.
#define STRAIGHT(name) (smelt_openmp_several ? STOCK(name) : REAL(name))

// Called once while resolving. A reason for stepping aside, or nullptr.
const char* start_regions();

// thread_calls.cc: finds what it stands in front of, and the mask that new threads have. Called once while resolving.
void start_thread_calls();

// team_size.cc: tells libomp what a quota pays for.
using SetDefaults = void (*)(const char*);
void tell_team_size(SetDefaults set_defaults);

// blocktime.cc: what KMP_BLOCKTIME says. Called once while resolving.
void start_blocktime();
// Gives the calling thread the last one that the program has set.
void lend_blocktime();

}  // namespace smelt::kmp

// The answers to __kmpc_fork_call (stubs_<isa>.S), and its actions: 0: smelt_kmp_look() finds out; 1: the shim has
// stepped aside, and it jumps to libomp's; 2: it jumps to smelt_kmp_fork_call, or to libomp's where HandedOn says so;
// 3: a league of teams is at work, and it jumps to libomp's unless a team is hot.
extern "C" {
extern uint8_t smelt_kmp_aside __attribute__((visibility("hidden")));
// 1: __kmpc_end_single would do nothing in libomp, and does not go there.
extern uint8_t smelt_kmp_ends_singles __attribute__((visibility("hidden")));
void smelt_kmp_look() __attribute__((visibility("hidden")));
// Tells libomp of a num_threads clause that was only noted. The process has one runtime, and the calling thread's team
// is not parked.
void smelt_kmp_tell_clause(KmpIdent* where) __attribute__((visibility("hidden")));
void smelt_kmp_fork_call(KmpIdent* where, int32_t argc, KmpMicrotask function, ...)
    __attribute__((visibility("hidden")));
// The same of __kmpc_fork_teams.
void smelt_kmp_fork_teams(KmpIdent* where, int32_t argc, KmpMicrotask function, ...)
    __attribute__((visibility("hidden")));
}

// Calls `function` with the `count` words (stubs_<isa>.S): the arguments of the program's function and of
// __kmpc_fork_call itself are known only at run time.
extern "C" void smelt_kmp_call(void* function, uint64_t count, void* const* words)
    __attribute__((visibility("hidden")));
