// A parallel region as any shim keeps account of it: which team a thread is in, how far that team is, and which barrier
// serves it. Every barrier of a region has a number, its episode: episodes.h.
//
// A runtime tells nobody which team a call belongs to, so the shim hands every thread its position in the team once per
// region. It calls the runtime's entry point with a function of its own in place of the program's. That one notes in
// thread-local storage what the thread needs at a barrier. A barrier call then costs one thread-local load instead of a
// look-up.
//
//   master: the program's call -> its record (a cached one per nesting depth) -> barrier for the expected team size
//           -> the runtime's function, with a word
//   every thread: keeps the word -> the program's function -> the position of before is restored
//                 at the first barrier or task inside: take_position -> {barrier, thread number, episode}
//
// All that the threads must be told is in a Block. A line that the master writes and the workers read costs a region
// two transfers between cores, a fifth of the time of a small region. So a Block holds only facts that are the same
// every time that this region of the program is entered; it is kept per region and is not written again. The episode
// number changes. It travels in the unused bits of the pointer to the Block, the word that the runtime hands over.
//
// The team's size is known only inside. The master foresees it (what was asked for, or what that gave last time); where
// it was wrong, every thread sees the same difference and runs this region on the runtime's own barriers.
//
// A region of the program that has no barrier inside needs none of this. One that has done without for a while is
// handed to the runtime as it is. If it meets a barrier one day after all, no thread has a position, so the runtime
// serves it for all of them; the master notices, and the next times it is told again, for twice as long.
//
// Outermost regions that repeat are served by a hot team instead, which replaces the runtime's fork and join too:
// hot_team.h.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arch/cpu.h"
#include "base/participants.h"
#include "openmp/chunks.h"
#include "openmp/counters.h"
#include "openmp/omp.h"
#include "openmp/teams.h"
#include "policy/thresholds.h"
#include "policy/wait.h"

namespace smelt::openmp {

// A master's regions of one nesting depth. A shim derives its own record from it.
struct RegionRecord {
  // Only the master uses it.
  RegionRecord* next_kept;   // of those that no thread has
  bool nested;               // opened inside a region: of this thread, or as a worker of another thread's team
  uint32_t entered;          // how often
  uint64_t epoch;            // last episode number used by any team of this region
  uint32_t generation;       // changes with whatever the shim has derived from the teams' barriers
  uint32_t counted;          // threads of this region's team in the process-wide count
  uint32_t threads_seen;     // that count when the shim last derived something from it ...
  uint32_t cpus_seen;        // ... and the number of CPUs
  uint32_t last_request;     // team size asked for ...
  uint32_t last_crew;        // ... and the last one of more than one thread
  uint32_t repeats;          // how often in a row that was asked for again
  uint32_t learned_request;  // a request that the runtime met with another size (limits, dynamic adjustment) ...
  uint32_t learned_size;     // ... and that size
  uint32_t next_victim;      // of `teams`, when all are taken
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

// The facts that all threads of a team are told at the start of a region, beside what they are to run: a part of the
// shim's Block, which the word names. Written by the master before the fork, and only when something has changed; the
// runtime's own synchronisation at the fork orders it.
struct Told {
  RegionRecord* region;
  Barrier* barrier;  // nullptr: this region runs on the runtime's barriers
  uint64_t epoch;    // the word's episode number counts from here
  uint32_t size;     // the team that `barrier` is for
  int32_t level;
};

// The master's own note of the conditions that a Block was made for: while they hold, the Block is used again as it is.
// Nothing is asked of the runtime that the threads cannot check for themselves inside the region (take_position). If a
// thread finds a condition wrong there, the region runs on the runtime's barriers once, and all notes of the record
// end.
struct NoteRecord {
  uint32_t request;     // team size asked for
  uint32_t generation;  // RegionRecord::generation when it was made
  uint32_t idle;        // times in a row that no thread needed its position
  uint32_t idle_limit;  // when idle gets here, it is run without us
};

inline constexpr uint32_t kBlocks = 32;  // parallel regions of the program remembered per record
inline constexpr uint32_t kIdleLimit = typical(ThresholdId::kIdleRegions);

// One more region of so many threads is asked for: how often in a row was it as many? Regions of one thread are nothing
// to a team of more: programs say `if (n > 1000)`.
void note_request(RegionRecord& region, uint32_t request);

// Is a team of so many a crowd, by the count that its record has taken in?
inline bool is_crowded(const RegionRecord& region, uint32_t size) {
  return size > 1 && region.threads_seen > region.cpus_seen;
}

// The facts for a region of that request, found out anew.
Told foresee(RegionRecord& region, uint32_t request);

// Has the count of threads or of CPUs changed since the region's master took it in? It is taken in as well, and nothing
// that was derived from the last one holds any more.
inline bool knows_headcount(const RegionRecord& region) {
  return region.threads_seen == headcount.threads.load(std::memory_order_relaxed) &&
         region.cpus_seen == headcount.cpus.load(std::memory_order_relaxed);
}
inline void take_headcount(RegionRecord& region) {
  if (knows_headcount(region)) return;
  region.threads_seen = headcount.threads.load(std::memory_order_relaxed);
  region.cpus_seen = headcount.cpus.load(std::memory_order_relaxed);
  ++region.generation;
}

// Does the note still hold, as far as that depends on the request and the record?
inline bool holds(const NoteRecord& note, const RegionRecord& region, uint32_t request) {
  return note.request == request && note.generation == region.generation && knows_headcount(region) &&
         !due(region.entered);
}
// Anew; `same`: it is the note of the same region of the program.
inline void renew(NoteRecord& note, const RegionRecord& region, uint32_t request, bool same) {
  note = {request, region.generation, same ? note.idle : 0, same ? note.idle_limit : kIdleLimit};
}
// The region has met a barrier, and should have been told.
inline void note_missed(NoteRecord& note) {
  note.idle = 0;
  if (note.idle_limit < 1u << 30) note.idle_limit *= 2;
}

// Are those facts still told by a Block of these?
inline bool says(const Told& told, const Told& wanted) {
  return told.barrier == wanted.barrier && told.size == wanted.size && told.level == wanted.level &&
         wanted.epoch - told.epoch <= kTagMask;
}

// Finds out the rest of a position of which no more than the word is known. `told`: what the word names; `is_master`:
// the calling thread has opened that region, and is inside it. False: the barrier there is the runtime's.
bool take_position(Position& position, const Told& told, bool is_master);

// The thread leaves a region that it was told of.
inline void leave_told(const Position& position) {
  if (!position.barrier || position.thread != 0) return;
  RegionRecord& region = *position.region;
  count(region.counters.passed, position.epoch - region.epoch);
  // One past the last barrier: tasks made after it have marked that number, and it is the runtime's join that serves
  // them.
  region.epoch = position.epoch + 1;
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

// In a child after fork.
void forget_loops_of(RegionRecord& region);

// Says how many threads the region's team has, to the process-wide count.
void count_team(RegionRecord& region, uint32_t threads);

}  // namespace smelt::openmp
