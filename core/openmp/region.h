// A parallel region as any shim keeps account of it: which team a thread is in, how far that team is, and which barrier
// serves it. Each shim has its own way to tell the threads, and to begin and end a region.
//
// Every barrier of a region has a number, its episode: episodes.h.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arch/cpu.h"
#include "base/participants.h"
#include "openmp/chunks.h"
#include "openmp/counters.h"
#include "openmp/teams.h"

namespace smelt::openmp {

// A master's regions of one nesting depth. A shim derives its own record from it.
struct RegionRecord {
  // Only the master uses it.
  RegionRecord* next_kept;  // of those that no thread has
  bool nested;              // opened inside a region: of this thread, or as a worker of another thread's team
  uint32_t entered;         // how often
  uint64_t epoch;           // last episode number used by any team of this region
  uint32_t generation;      // changes with whatever the shim has derived from the teams' barriers
  uint32_t counted;         // threads of this region's team in the process-wide count
  uint32_t threads_seen;    // that count when the shim last derived something from it ...
  uint32_t cpus_seen;       // ... and the number of CPUs
  uint32_t repeats;         // how often in a row the team has had the size of the one before
  uint32_t next_victim;     // of `teams`, when all are taken
  // For the next hot team (hot_team.h), of whatever thread has the record: of one size in a row.
  uint32_t regions_before_hot;
  Team* last_team;  // of `teams`
  Team teams[kTeamsKept];

  // These are the team's at work. Written by the master before it starts one, ordered by the fork.
  const Victims* victims;

  // The largest episode that must be served by the runtime's barrier. Read by every barrier, written when tasks are
  // made.
  alignas(kLineBytes) std::atomic<uint64_t> real_epoch;
  // Hints for those who leave a barrier because of it: the shim's. They lie in the word's line, which those have.
  std::atomic<const void*> marked_by, marked_for, marked_at;
  std::atomic<void*> copied;  // copyprivate: published by the barrier that follows

  Counters counters;

  // The CPUs where the threads were last seen, by thread number; written on change only.
  alignas(kLineBytes) std::atomic<uint32_t> cpus[kMaxParticipants];

  // Dynamic loops use these; the second is by thread number. Pages of them are there from the first such loop on.
  LoopCounter loop_counters[kLoops];
  LoopThread loop_threads[kMaxParticipants];
};

// A task as the shim keeps account of it; its own.
struct Task;

// A thread's position in its team. Many regions have no barrier inside, so a thread that enters a region only keeps the
// word that it was handed. The shim finds out the rest when the thread first comes to a barrier or makes a task. Some
// are read by assembly stubs, which know where they are.
struct Position {
  uint32_t unmarked = 1;  // 0: a task may be made without marking: it has been done, or need not be
  uint32_t thread = 0;
  std::atomic<uint64_t>* real_epoch = nullptr;  // of the region; nullptr: not in a region that the shim serves
  uint64_t epoch = 0;                           // barriers passed
  void* word = nullptr;                         // of a region in which the position is not taken yet
  Barrier* barrier = nullptr;
  RegionRecord* region = nullptr;
  int32_t level = 0;                // omp_get_level() inside the region
  bool in_loop = false;             // in a dynamic loop that the shim hands out
  bool tasks_are_libgomps = false;  // until the next barrier, where tasks may be ours: the shim's own_tasks.h
  bool unseen = false;              // undeferred tasks may begin without being looked at: ditto
  bool has_inner = false;           // regions inside were counted, and are to be counted out at the end of this one
  uint32_t in_libgomp = 0;          // inside a call in which the runtime may run tasks of its own
  uint32_t groups_at_libgomp = 0;   // taskgroups that are open there alone
  Task* task = nullptr;             // whose body is run, or that of an undeferred task inside it
  const void* deque = nullptr;      // of tasks, the thread's own, once it has made one
  uint32_t reals = 0;               // episodes.h: marked ones in a row
  uint32_t assumed = 0;             // ... and the next so many are the runtime's, marked or not
  uint64_t marked = 0;              // the last episode that this thread has marked, or found to be
  uint32_t rare = 0;                // 0: `assumed` is 0, and the next episode is not `marked`. A barrier that looks at
                                    // `marked`, too, takes 139 ns in place of 131 (Emerald Rapids, two threads)
};
// The thread is in no region. To be copied; its value is not visible here, because GCC writes known zeroes by REP STOS,
// which takes 5 ns.
extern const Position kOutside;

// In a region that the shim serves: as thread number `thread`, when the barrier of episode `epoch` has been passed.
inline Position position_in(RegionRecord& region, Barrier* barrier, uint32_t thread, uint64_t epoch, int32_t level) {
  return {1, thread, &region.real_epoch, epoch, nullptr, barrier, &region, level};
}
// The thread is in a region of which no more than the word is known. In place: a copy of it would lie on the stack of
// the program's function, which may be small.
inline void begin_position(Position& position, void* word) {
  position = kOutside;
  position.word = word;
}

// The word that a shim hands to every thread of a team: the address of the region's data, and the low kTagBits of the
// episode number that the region begins after, in the bits that an address does not use: 6 below (alignment), 16 above
// (user addresses have 48 bits on x86-64 and AArch64 unless larger ones are asked for). So a line that the master
// writes and the workers read, two transfers between cores, is not written again for the number's sake.
inline constexpr unsigned kTagBits = 22;
inline constexpr uint64_t kTagMask = (1u << kTagBits) - 1;

inline void* tagged_word(const void* address, uint64_t epoch) {
  const uint64_t tag = epoch & kTagMask;
  return reinterpret_cast<void*>(reinterpret_cast<uint64_t>(address) | (tag & 63) | tag >> 6 << 48);
}

inline const void* address_in(void* word) {
  return reinterpret_cast<const void*>(reinterpret_cast<uint64_t>(word) & 0xffff'ffff'ffc0);
}

// The episode number: the only one with these low bits within 2^kTagBits after `since`.
inline uint64_t epoch_in(void* word, uint64_t since) {
  const auto bits = reinterpret_cast<uint64_t>(word);
  const uint64_t tag = (bits & 63) | bits >> 48 << 6;
  return since + ((tag - since) & kTagMask);
}

// The calling thread is thread number `thread` of the region's team, and runs here.
void note_cpu(RegionRecord& region, uint32_t thread);

// The questions to the runtime about the calling thread.
struct RuntimeCalls {
  int (*level)();
  int (*thread)();
  int (*threads)();
};

// Finds out the rest of a position of which no more than the word is known. `block`: the data of the region that the
// word names; `is_master`: the calling thread has opened that region, and is inside it. False: the barrier there is the
// runtime's.
template <typename Block>
bool take_position(Position& position, const Block& block, bool is_master, const RuntimeCalls& runtime) {
  auto* const region = block.region;
  if (runtime.level() != block.level) {
    // A call from inside a team that we have not seen start says nothing about this region; but the region may also
    // have been entered at another level than the note says.
    region->generation += is_master;
    return false;
  }
  const auto thread = static_cast<uint32_t>(runtime.thread());
  const auto size = static_cast<uint32_t>(runtime.threads());
  const uint64_t epoch = epoch_in(position.word, block.epoch);
  position.word = nullptr;
  if (is_master && size != block.size) {
    region->learned_request = region->notes[&block - region->blocks].request;
    region->learned_size = size;
    ++region->generation;
  }
  if (!block.barrier || size != block.size) return false;
  position.real_epoch = &region->real_epoch;
  position.epoch = epoch;
  position.barrier = block.barrier;
  position.region = region;
  position.thread = thread;
  position.level = block.level;
  note_cpu(*region, thread);
  return true;
}

// A record for the calling thread's regions, in `bytes` of memory, the same in all calls. It is zeroed, or has been
// another thread's. Then it keeps that thread's teams, their episodes, and the notes about the program's regions:
// making and freeing all that takes longer than the few regions of a thread that soon ends. nullptr: no memory.
RegionRecord* begin_record(size_t bytes, bool nested);

// The thread has no more use for the record, and no thread is in it. True: it is kept for another; false: there are
// enough, and the caller frees it.
bool keep_record(RegionRecord& record);
void free_record(RegionRecord& record, size_t bytes);

// Around fork: a child must not inherit a held lock. Those of the counters, too.
void lock_records();
void unlock_records();
// Is the calling thread between these two, so in a handler of the program's? Where the runtime has handlers of its own
// for fork, it may hold its locks by now, and nothing that asks for one ever comes back.
bool in_fork();

// Says how many threads the region's team has, to the process-wide count.
void count_team(RegionRecord& region, uint32_t threads);

}  // namespace smelt::openmp
