// A parallel region of libgomp's as the shim sees it: openmp/region.h has the way. The entry point is GOMP_parallel or
// one of its kin, and the function run_region.
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

// All that the threads of a team are told at the start of a region.
struct alignas(64) Block {
  void* first_word;  // GOMP_parallel_reductions reads the first word of what it believes to be the program's data
  GompFunction function;
  void* data;
  Told told;
  bool drains;  // own_tasks.h: its end is a barrier of ours, before libgomp's
};
static_assert(sizeof(Block) == 64);

struct Note : NoteRecord {
  GompFunction function;
  void* data;
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

// The habits of a thread that opens regions. Only the master uses it.
struct Habits {
  Region* deeper = nullptr;  // for a region that the master opens inside this one
  Region* one = nullptr;     // for regions of one thread in the same place: its `solo` serves them
  uint32_t ones = 0;         // regions of one thread since there was a team of one for them
  uint32_t told = 0;         // SMELT_VERBOSE=2 has said why there is no hot team of so many
  bool never_kept = false;   // nested: libgomp has refused such a team once
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
