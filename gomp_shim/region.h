// A parallel region as the shim sees it: which team a thread is in, and which barrier serves that team.
//
// libgomp tells nobody which team a call belongs to, so the wrapper of GOMP_parallel hands every thread its position in
// the team once per region. It calls the real GOMP_parallel with `run_region` in place of the program's function.
// run_region notes in thread-local storage what the thread needs at a barrier. A barrier call then costs one
// thread-local load instead of a look-up.
//
//   master: GOMP_parallel -> Region (own cached one per nesting depth) -> barrier for the expected team size
//           -> real GOMP_parallel(run_region, word)
//   every thread: run_region keeps the word -> the program's function -> the position of before is restored
//                 at the first barrier or task inside: take_position -> {barrier, thread number, episode}
//
// All that the threads must be told is in a Block. A line that the master writes and the workers read costs a region
// two transfers between cores, a fifth of the time of a small region. So a Block holds only facts that are the same
// every time that this region of the program is entered; it is kept per region and is not written again. The episode
// number changes. It travels in the unused bits of the pointer to the Block, the word that libgomp hands over anyway.
//
// The team's size is known only inside. The master foresees it (what was asked for, or what that gave last time); where
// it was wrong, every thread sees the same difference and runs this region on libgomp's own barriers.
//
// A region of the program that has no barrier inside needs none of this. One that has done without for a while is
// handed to libgomp as it is. If it meets a barrier one day after all, no thread has a position, so libgomp serves it
// for all of them; the master notices, and the next times it is told again, for twice as long.
//
// Outermost regions that repeat are served by a hot team instead, which replaces libgomp's fork and join too:
// hot_team.h.
//
// The stack is the program's, and may be as small as PTHREAD_STACK_MIN, 16 KiB, of which the C library and the
// thread-local storage take a part: large arrays lie in mappings, not on it. Measured with painted stacks
// (tests/gomp_shim/patterns_test.sh), all in all: 11.3 KiB for a master that plans a team (libgomp by itself: 8 KiB for
// 2 threads, 12.1 for 33, 16.0 for 64, since it keeps 128 bytes per new thread there), and 0.4 KiB more than libgomp
// where it takes more than that. A worker does not plan.
//
// Calls that come from a team the shim has not seen start (the ABI of before GCC 4.9) are told by the nesting level,
// and go to libgomp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libgomp.h"
#include "openmp/callers.h"
#include "openmp/region.h"
#include "real.h"
#include "states.h"

namespace smelt::gomp {

struct TaskTeam;

// The facts that all threads of a team are told at the start of a region. Written by the master before the fork, and
// only when something has changed; libgomp's own synchronisation at the fork orders it.
struct alignas(64) Block {
  void* first_word;  // GOMP_parallel_reductions reads the first word of what it believes to be the program's data
  GompFunction function;
  void* data;
  Region* region;
  Barrier* barrier;  // nullptr: this region runs on libgomp's barriers
  uint64_t epoch;    // the word's episode number counts from here
  uint32_t size;     // the team that `barrier` is for
  int32_t level;
  bool drains;  // own_tasks.h: its end is a barrier of ours, before libgomp's
};
static_assert(sizeof(Block) == 64);

// The master's own note of the conditions that a Block was made for: while they hold, the Block is used again as it is.
// Nothing is asked of libgomp that the threads cannot check for themselves inside the region (take_position). If a
// thread finds a condition wrong there, the region runs on libgomp's barriers once, and all notes of the Region end.
struct Note {
  GompFunction function;
  void* data;
  uint32_t request;     // team size asked for
  uint32_t generation;  // Region::generation when it was made
  uint32_t idle;        // times in a row that no thread needed its position
  uint32_t idle_limit;  // when idle gets here, it is run without us
};

// The word (tagged_word): a Block's address and the episode number. libgomp passes it on without looking at it,
// GOMP_parallel_reductions excepted.
inline const Block& block_of(void* word) { return *static_cast<const Block*>(address_in(word)); }

// Was one changed inside the region? kNoting: Region::inherited is about to be known.
enum Settings : uint32_t { kUnchanged, kNoting, kChanged };

// A team of one thread, kept for the next region of one (solo.h). Only its thread uses it.
struct Solo {
  KeptState state;
  Icvs icvs;
  uint32_t settings;           // ThreadsOwn::settings when `icvs` was compared
  const RegionRecord* around;  // the region around; nullptr: none, the serial part
  int32_t level;               // omp_get_level() inside
  uint64_t epoch;              // last episode
  uint64_t regions;            // since the start
  bool active;                 // there is a team
  bool inside;                 // and the thread is in it
  bool spoiled;                // a setting was changed inside
};

inline constexpr uint32_t kBlocks = 32;  // parallel regions of the program remembered per Region

// The habits of a thread that opens regions. Only the master uses it.
struct Habits {
  Region* deeper = nullptr;      // for a region that the master opens inside this one
  Region* one = nullptr;         // for regions of one thread in the same place: its `solo` serves them
  uint32_t learned_request = 0;  // a request that libgomp met with another size (limits, dynamic adjustment) ...
  uint32_t learned_size = 0;     // ... and that size
  uint32_t last_request = 0;     // team size asked for ...
  uint32_t last_crew = 0;        // ... and the last one of more than one thread, which `repeats` counts
  uint32_t ones = 0;             // regions of one thread since there was a team of one for them
  bool told = false;             // SMELT_VERBOSE=2 has said why there is no hot team
  bool never_kept = false;       // nested: libgomp has refused such a team once
};

struct Region : RegionRecord, Habits {
  // Only the master uses it, too. It is kept for the next region: its hot team, once there was one (hot_team.h).
  HotTeam* hot;
  Solo solo;  // of another Region's `one`

  // own_tasks.h. The region's threads': the deques, once there are some; the last episode with tasks of libgomp's; a
  // Settings, and what all its tasks had inherited before the first change.
  std::atomic<TaskTeam*> tasks;
  std::atomic<uint64_t> libgomp_epoch;
  std::atomic<uint32_t> settings;
  Icvs inherited;

  Note notes[kBlocks + 1];  // by the same index as `blocks`; of `generation`

  // Direct-mapped by the program's function; [kBlocks] is for reductions, whose word must be a real pointer.
  alignas(kLineBytes) Block blocks[kBlocks + 1];
};

// A region that no hot team has served. `real(call, function, data)` is the entry point of libgomp that the program
// called, with another function and data.
struct RegionCall;
using RealEntry = void (*)(const RegionCall& call, GompFunction function, void* data);
void enter(const RegionCall& call, RealEntry real);

// For a position with a word: fills in the rest if this call comes from that region itself (by its level) and the team
// has the size foreseen. False: libgomp must serve the call.
bool take_position(Position& position);

// A barrier that libgomp must serve in such a region, which should have been told.
void missed_position();

// Is the calling thread in a region that we serve? The level tells regions that began behind our back: a target region
// falling back to the host, or one opened through the ABI of before GCC 4.9.
inline bool served(Position& position, const void* caller) {
  if (smelt_openmp_several && !is_ours(caller)) [[unlikely]]
    return false;
  if (position.barrier && REAL(omp_get_level)() == position.level) [[likely]]
    return true;
  if (!position.barrier && position.word && take_position(position)) return true;
  if (smelt_gomp_untold) [[unlikely]]
    missed_position();
  return false;
}

inline Region* next_region_inside() { return smelt_gomp_next_region ? *smelt_gomp_next_region : nullptr; }

// hot_team.cc needs it.
Region* new_record(bool nested);                            // nullptr: no memory
void visit_regions(Region* first, void (*visit)(Region&));  // that one and all inside, innermost first
void expect_new_pool();                                     // of this thread: libgomp's next region makes its threads

// 1: libgomp has been found, and is served. Read by the stubs, too.
extern "C" uint8_t smelt_gomp_found __attribute__((visibility("hidden")));

// A region may have begun of which positions say nothing (another ABI, no memory): from now on a thread in a
// loop of ours asks libgomp for its level with every call, whether it is meant for that loop.
extern std::atomic<bool> unseen_regions;
inline bool unseen_region_noted() { return unseen_regions.load(std::memory_order_relaxed); }
inline void note_unseen_region() {
  if (!unseen_region_noted()) unseen_regions.store(true, std::memory_order_relaxed);
}

// Called once while resolving. A reason for stepping aside, or nullptr.
const char* start_regions();

}  // namespace smelt::gomp
