// The parts of tasks, and the memory where they lie: own_tasks.h. Each thread of a region has a Worker, with its deque
// and the memory of the tasks that it makes, in blocks of one size; a block goes back to the thread that it came from.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/arch/cpu.h"
#include "openmp/dependences.h"
#include "openmp/deque.h"
#include "region.h"
#include "shell.h"

namespace smelt::openmp {

struct TaskGroup;

// Explicit tasks lie in blocks that stay tasks as long as the region's memory lives.
struct alignas(64) Task {
  // Read by thieves, perhaps of a task that is gone: Deque.
  std::atomic<Task*> parent;
  std::atomic<uint32_t> depth;

  uint32_t runner;  // thread number
  uint32_t home;    // thread number, of the block's owner
  bool final, over;
  bool adopted;      // undeferred: it began without us, and its end is noticed later
  bool opened;       // a taskgroup of libgomp's, for libgomp's tasks made by one that is in a TaskGroup
  TaskGroup* group;  // innermost; while running: of what it makes
  TaskGroup* member_of;
  gomp::Shell shell;     // while running
  uint64_t made, ended;  // children; the runner's
  // kRunning, + kHold for each child's memory that needs ours, - children that ended elsewhere. Once it is over, this
  // counts those open.
  std::atomic<int64_t> others;
  void (*function)(void*);
  void* data;
  void* large;            // of malloc; nullptr: data is in `room`
  Task* next;             // free, or Worker::spilled
  DependNode* node;       // nullptr: depends on none
  DependTable* children;  // that have dependences; nullptr: none. The runner's
  alignas(64) unsigned char room[128];
};

// A taskgroup; in the room of a Task.
struct TaskGroup {
  TaskGroup* outer;
  Task* owner;
  Task* block;
  uint32_t runner;
  bool opened;                  // at libgomp, too
  uint64_t made, ended;         // on the owner's thread
  std::atomic<int64_t> others;  // made - ended elsewhere
};
static_assert(sizeof(TaskGroup) <= sizeof(Task::room) && sizeof(DependTable) <= sizeof(Task::room) &&
              kDependBlockBytes <= sizeof(Task::room));

}  // namespace smelt::openmp

namespace smelt::gomp {

constexpr int64_t kMostWaiting = 64;  // of a thread; as libgomp has it, for the mean of a team
// In Task::others. kHold: no task has so many children.
constexpr int64_t kRunning = int64_t{1} << 62, kHold = int64_t{1} << 32;

struct TaskChunk {
  TaskChunk* next;
};

enum Sleep : uint32_t { kAwake, kForItsOwn, kForAnything };  // by the tasks that may be run on waking

struct alignas(kLineBytes) Worker {
  Deque<Task, 2 * kMostWaiting> deque;
  // Only the owner uses it.
  Task implicit;
  Task* free;
  TaskChunk* chunks;
  uint32_t last_victim;
  Task* spilled;                                    // newest first: made ready while the deque was full
  uint64_t created;                                 // tasks; for others in deque.made
  uint64_t ran;                                     // of `finished`
  uint64_t led;                                     // the last episode marked, if this thread was the first; else 0
  uint64_t reported;                                // of `created`: in the counters
  alignas(kLineBytes) std::atomic<Task*> returned;  // blocks freed by others
  // Written by the owner, read by threads that ask whether a barrier is over. They only grow.
  alignas(kLineBytes) std::atomic<uint64_t> arrived;  // at the barrier of that episode
  std::atomic<uint64_t> finished;                     // tasks that ran here, made by any thread
  alignas(kLineBytes) std::atomic<uint32_t> asleep;   // a Sleep; the thread that makes it kAwake takes it off
                                                      // `sleepers`
};

// The stub of GOMP_task knows: whose deque holds so many gets no more of them.
static_assert(offsetof(Worker, deque) == 0 && offsetof(decltype(Worker::deque), pushed) == 0 &&
              offsetof(decltype(Worker::deque), seen) == 8 && offsetof(decltype(Worker::deque), top) == 128 &&
              kMostWaiting == 64);

// All teams of a Region share one.
struct TaskTeam {
  std::atomic<uint32_t> sleepers;
  std::atomic<uint32_t> most;                          // threads of the largest team so far
  alignas(kLineBytes) std::atomic<uint64_t> released;  // the last episode that was over without libgomp
  Worker workers[kMaxParticipants];
};

// The region's; made by the thread that needs it first. nullptr: no memory.
TaskTeam* make_team(Position& position);

inline Region& position_region(const Position& position) { return *static_cast<Region*>(position.region); }

inline TaskTeam* team_of(const Position& position) {
  // Acquire: pairs with make_team().
  return position_region(position).tasks.load(std::memory_order_acquire);
}

// More of them for that thread. False: no memory.
bool map_blocks(Worker& worker, uint32_t me);

inline Task* new_block(Worker& worker, uint32_t me) {
  // Acquire: pairs with put_back(), whose caller has done with the block.
  if (!worker.free) worker.free = worker.returned.exchange(nullptr, std::memory_order_acquire);
  if (!worker.free && !map_blocks(worker, me)) return nullptr;
  Task* const block = worker.free;
  worker.free = block->next;
  return block;
}
inline void put_back(TaskTeam& team, Task* block, uint32_t me) {
  if (block->home == me) {
    block->next = team.workers[me].free;
    team.workers[me].free = block;
    return;
  }
  std::atomic<Task*>& returned = team.workers[block->home].returned;
  Task* first = returned.load(std::memory_order_relaxed);
  do block->next = first;  // release: our use of the block, before its next use
  while (!returned.compare_exchange_weak(first, block, std::memory_order_release, std::memory_order_relaxed));
}

inline Task* block_with(void* room) {
  return reinterpret_cast<Task*>(static_cast<unsigned char*>(room) - offsetof(Task, room));
}

// The memory for nodes of dependences.
struct DependBlocks {
  TaskTeam& team;
  uint32_t me;
  void* get() {
    Task* const block = new_block(team.workers[me], me);
    return block ? block->room : nullptr;
  }
  void put(void* room) { put_back(team, block_with(room), me); }
};

inline bool is_below(const Task& task, const Task& ancestor) {
  // Relaxed: ordered by the deque if the answer is to count; else any answer will do, in as many steps as we are deep.
  const uint32_t depth = ancestor.depth.load(std::memory_order_relaxed);
  const Task* at = &task;
  for (uint32_t left = at->depth.load(std::memory_order_relaxed); left > depth; --left) {
    at = at->parent.load(std::memory_order_relaxed);
    if (at == &ancestor) return true;
    if (!at) return false;
  }
  return false;
}

// Children that have not ended.
inline uint32_t open_children(const Task& task) {
  // Acquire: pairs with end_task(), for what they did.
  return static_cast<uint32_t>(task.made - task.ended) +
         static_cast<uint32_t>(task.others.load(std::memory_order_acquire));
}

inline bool is_empty(const TaskGroup& group) {
  return static_cast<int64_t>(group.made - group.ended) + group.others.load(std::memory_order_acquire) == 0;
}

// May the region's tasks be ours? The same for all its threads, and as long as it lasts.
inline bool is_eligible(const Position& position) { return position.barrier->participants() >= 2; }

}  // namespace smelt::gomp
