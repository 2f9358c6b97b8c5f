#include "own_tasks.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/options.h"
#include "base/os/os.h"
#include "hot_team.h"
#include "openmp/callers.h"
#include "openmp/dependences.h"
#include "openmp/deque.h"
#include "openmp/episodes.h"
#include "real.h"
#include "shell.h"
#include "surplus.h"
#include "tasks.h"

namespace smelt::gomp {
namespace {

constexpr int64_t kMostWaiting = 64;  // of a thread; as libgomp has it, for the mean of a team
constexpr unsigned kUntied = 1, kFinal = 2, kMergeable = 4, kDepend = 8, kPriority = 16, kIf = 1024,
                   kDetach = 8192;  // of GOMP_task's flags
constexpr uintptr_t kDependIn = 1, kDependOut = 2, kDependMutexinoutset = 4, kDependInoutset = 5;  // of omp_depend_t
constexpr int64_t kRunning = int64_t{1} << 62, kHold = int64_t{1} << 32;
constexpr uint32_t kPolls = 3000;      // before a waiting thread gives up its CPU
constexpr uint32_t kCrowdPolls = 60;   // ... and one of more threads than CPUs: somebody waits for that CPU
constexpr uint32_t kCrowdYields = 64;  // ... and then, to others of the team, before it sleeps
constexpr int64_t kNapNs = 1'000'000;  // a sleeper that was missed looks again
constexpr size_t kChunkBytes = 1 << 16;
constexpr uint32_t kFirstRegions = 16;  // whose end is a barrier of ours, whether tasks were ever made or not

}  // namespace

}  // namespace smelt::gomp

namespace smelt::openmp {

struct Group;

// Explicit tasks lie in blocks that stay tasks as long as the region's memory lives.
struct alignas(64) Task {
  // Read by thieves, perhaps of a task that is gone: Deque.
  std::atomic<Task*> parent;
  std::atomic<uint32_t> depth;

  uint32_t runner;  // thread number
  uint32_t home;    // thread number, of the block's owner
  bool final, over;
  bool adopted;  // undeferred: it began without us, and its end is noticed later
  bool opened;   // a taskgroup of libgomp's, for libgomp's tasks made by one that is in a Group
  Group* group;  // innermost; while running: of what it makes
  Group* member_of;
  gomp::Shell shell;     // while running
  uint64_t made, ended;  // children; the runner's
  // kRunning, + kHold for each child's memory that needs ours, - children that ended elsewhere. Once over: those open.
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
struct Group {
  Group* outer;
  Task* owner;
  Task* block;
  uint32_t runner;
  bool opened;                  // at libgomp, too
  uint64_t made, ended;         // on the owner's thread
  std::atomic<int64_t> others;  // made - ended elsewhere
};
static_assert(sizeof(Group) <= sizeof(Task::room) && sizeof(DependTable) <= sizeof(Task::room) &&
              kDependBlockBytes <= sizeof(Task::room));

}  // namespace smelt::openmp

namespace smelt::gomp {

struct Chunk {
  Chunk* next;
};

enum Sleep : uint32_t { kAwake, kForItsOwn, kForAnything };  // by what may be run on waking

struct alignas(kLineBytes) Worker {
  Deque<Task, 2 * kMostWaiting> deque;
  // The owner's.
  Task implicit;
  Task* free;
  Chunk* chunks;
  uint32_t last_victim;
  Task* spilled;                                    // newest first: made ready while the deque was full
  uint64_t marked;                                  // episode that is known to be marked
  uint64_t reported;                                // of `created`: in the counters
  alignas(kLineBytes) std::atomic<Task*> returned;  // blocks freed by others
  // Written by the owner, read by who asks whether a barrier is over. They only grow.
  alignas(kLineBytes) std::atomic<uint64_t> arrived;  // at the barrier of that episode
  std::atomic<uint64_t> created;                      // tasks
  std::atomic<uint64_t> finished;                     // tasks that ran here, whoever made them
  alignas(kLineBytes) std::atomic<uint32_t> asleep;   // a Sleep; whoever makes it kAwake has it leave `sleepers`
};

// The stub of GOMP_task knows: whose deque holds so many gets no more of them.
static_assert(offsetof(Worker, deque) == 0 && offsetof(decltype(Worker::deque), top) == 0 &&
              offsetof(decltype(Worker::deque), bottom) == 128 && kMostWaiting == 64);

// Of all teams of a Region.
struct TaskTeam {
  std::atomic<uint32_t> sleepers;
  std::atomic<uint32_t> most;                          // threads of the largest team so far
  alignas(kLineBytes) std::atomic<uint64_t> released;  // the last episode that was over without libgomp
  Worker workers[kMaxParticipants];
};

namespace {

Region& position_region(const Position& position) { return *static_cast<Region*>(position.region); }

TaskTeam* team_of(const Position& position) {
  // Acquire: pairs with whoever put it there.
  return position_region(position).tasks.load(std::memory_order_acquire);
}

// Was a setting changed in the region?
bool is_changed(const Position& position) {
  // Relaxed: what this thread has changed itself it sees; what others have changed is theirs.
  return position_region(position).settings.load(std::memory_order_relaxed) != kUnchanged;
}

// Wakes that thread if it sleeps. One that is missed wakes by itself: so relaxed will do here and below.
bool wake(TaskTeam& team, uint32_t thread) {
  std::atomic<uint32_t>& asleep = team.workers[thread].asleep;
  if (asleep.load(std::memory_order_relaxed) == kAwake) return false;
  if (asleep.exchange(kAwake, std::memory_order_relaxed) == kAwake) return false;
  team.sleepers.fetch_sub(1, std::memory_order_relaxed);
  os::futex_wake_all(&asleep);
  return true;
}

void wake_all(TaskTeam& team, uint32_t threads) {
  full_fence();  // what there is to see, before the look at sleepers: idle()
  if (team.sleepers.load(std::memory_order_relaxed) == 0) return;
  for (uint32_t i = 0; i < threads; ++i) wake(team, i);
}

// There is a task more. Wakes one thread for it, the nearest, unless those awake are enough for all CPUs: one more
// would only take a CPU, and the task, from whoever made it and will run it next.
void wake_one(TaskTeam& team) {
  const uint32_t sleepers = team.sleepers.load(std::memory_order_relaxed);
  if (sleepers == 0) return;
  const Position& position = smelt_gomp_position;
  const uint32_t threads = position.barrier->participants();
  if (threads >= sleepers + headcount.cpus.load(std::memory_order_relaxed)) return;
  for (const Sleep sleep : {kForAnything, kForItsOwn}) {
    for (uint32_t i = 0; i + 1 < threads; ++i) {
      const uint32_t other = victim_of(position.region->victims, position.thread, threads, i);
      if (team.workers[other].asleep.load(std::memory_order_relaxed) == sleep && wake(team, other)) return;
    }
  }
}

Task* new_block(Worker& worker, uint32_t me) {
  // Acquire: pairs with put_back(), whose caller has done with the block.
  if (!worker.free) worker.free = worker.returned.exchange(nullptr, std::memory_order_acquire);
  if (!worker.free) {
    void* memory = os::map_pages(kChunkBytes);
    if (!memory) return nullptr;
    auto* chunk = new (memory) Chunk{worker.chunks};
    worker.chunks = chunk;
    auto* const blocks = static_cast<Task*>(memory);
    for (size_t i = 1; i < kChunkBytes / sizeof(Task); ++i) {  // the first is the Chunk's
      blocks[i].home = me;
      blocks[i].next = worker.free;
      worker.free = &blocks[i];
    }
  }
  Task* const block = worker.free;
  worker.free = block->next;
  return block;
}

void put_back(TaskTeam& team, Task* block, uint32_t me) {
  if (block->home == me) {
    block->next = team.workers[me].free;
    team.workers[me].free = block;
    return;
  }
  std::atomic<Task*>& returned = team.workers[block->home].returned;
  Task* first = returned.load(std::memory_order_relaxed);
  do block->next = first;  // release: what we did with the block, before its next use
  while (!returned.compare_exchange_weak(first, block, std::memory_order_release, std::memory_order_relaxed));
}

Task* block_with(void* room) {
  return reinterpret_cast<Task*>(static_cast<unsigned char*>(room) - offsetof(Task, room));
}

// What holds the nodes of dependences.
struct DependBlocks {
  TaskTeam& team;
  uint32_t me;
  void* get() {
    Task* const block = new_block(team.workers[me], me);
    return block ? block->room : nullptr;
  }
  void put(void* room) { put_back(team, block_with(room), me); }
};

bool is_below(const Task& task, const Task& ancestor) {
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
uint32_t open_children(const Task& task) {
  // Acquire: pairs with end(), for what they did.
  return static_cast<uint32_t>(task.made - task.ended) +
         static_cast<uint32_t>(task.others.load(std::memory_order_acquire));
}

bool is_empty(const Group& group) {
  return static_cast<int64_t>(group.made - group.ended) + group.others.load(std::memory_order_acquire) == 0;
}

// A task that was over before its children, and now they are: frees it, and perhaps the parent that it held.
void release(TaskTeam& team, Task* task, uint32_t me) {
  for (;;) {
    Task* const parent = task->parent.load(std::memory_order_relaxed);
    put_back(team, task, me);
    // A task that gets here has held its parent.
    if (parent->others.fetch_sub(kHold, std::memory_order_acq_rel) != kHold) return;
    task = parent;
  }
}

// A task that others can have. One that the deque has no room for follows when there is some.
void offer(TaskTeam& team, Worker& worker, Task* task) {
  if (!worker.deque.push(task)) {
    task->next = worker.spilled;
    worker.spilled = task;
  } else {
    wake_one(team);
  }
}

// The body is over, and those that wait for it may begin.
void end_dependences(TaskTeam& team, Task* task, uint32_t me) {
  DependBlocks blocks{team, me};
  if (DependTable* const children = task->children) {
    children->free_all(blocks);
    blocks.put(children);
  }
  if (!task->node) return;
  close(*task->node, [&](void* ready) { offer(team, team.workers[me], static_cast<Task*>(ready)); });
  drop(task->node, blocks);
}

// The body is over.
void end(TaskTeam& team, Task* task, uint32_t me) {
  if (task->node || task->children) end_dependences(team, task, me);
  Task* const parent = task->parent.load(std::memory_order_relaxed);
  Group* const group = task->member_of;
  std::free(task->large);
  const auto open = static_cast<int64_t>(task->made - task->ended);
  task->over = true;
  // Acquire: the children's use of it, before its next.
  if (task->others.load(std::memory_order_acquire) == kRunning - open) {
    put_back(team, task, me);
  } else {
    parent->others.fetch_add(kHold, std::memory_order_relaxed);  // which is there until we are counted below
    // Release: the task is done with for whoever frees it; acquire: if that is us.
    if (task->others.fetch_add(open - kRunning, std::memory_order_acq_rel) + open - kRunning == 0)
      release(team, task, me);
  }
  if (group) {
    const uint32_t runner = group->runner;
    if (runner == me) {
      ++group->ended;
    } else {
      group->others.fetch_sub(1, std::memory_order_release);  // what the task did, for the end of the group
      wake(team, runner);
    }
  }
  if (parent->runner == me && !parent->over) {
    ++parent->ended;
    return;
  }
  const uint32_t runner = parent->runner;
  // Release: what the task did, for the taskwait; acquire: for who frees the parent.
  if (parent->others.fetch_sub(1, std::memory_order_acq_rel) == 1) release(team, parent, me);
  wake(team, runner);
}

// The body that is over has made tasks of libgomp's in a group of ours. Still inside libgomp's undeferred task.
[[gnu::noinline]] void close_opened(Position& position) {
  ++position.in_libgomp;
  REAL(GOMP_taskgroup_end)();
  --position.in_libgomp;
}

// May the stubs run undeferred tasks unseen? Not inside one that is adopted, for then we could not tell the next one
// from it, and not in a group, for those that make libgomp's tasks are to end with them.
void note_unseen(Position& position) { position.unseen = !position.task->adopted && !position.task->group; }

// The undeferred task that is position.task is over.
void end_adopted(TaskTeam& team, Position& position) {
  Task* const task = position.task;
  position.task = task->parent.load(std::memory_order_relaxed);
  end(team, task, position.thread);
}

[[gnu::noinline]] bool settle_adopted(Position& position) {
  if (position.in_libgomp != 0 || REAL(omp_get_level)() != position.level) return false;
  TaskTeam& team = *team_of(position);
  const Shell now = shell();
  const Task* at = position.task;
  while (at->adopted && at->shell != now) at = at->parent.load(std::memory_order_relaxed);
  if (at->shell == now) {
    while (position.task != at) end_adopted(team, position);
  } else if (!position.tasks_are_libgomps) {  // else it may be a deferred one of libgomp's, which lies anywhere
    while (position.task->adopted && now > position.task->shell) end_adopted(team, position);
  }
  note_unseen(position);
  return now == position.task->shell;
}

// Ends what is over of undeferred tasks. Is the body that the calling thread runs that of position.task? Else it is
// that of an undeferred task inside it, or of none of this region's.
inline bool settle(Position& position) {
  if (position.task->shell == shell()) [[likely]]
    return true;
  return position.task->adopted && settle_adopted(position);
}

// The undeferred tasks inside that one, which has come to its end or to a barrier.
inline void settle_all(TaskTeam& team, Position& position, const Task* until) {
  while (position.task != until) end_adopted(team, position);
}

// Inside libgomp's undeferred task.
void run_body(void* argument) {
  auto* const task = static_cast<Task*>(argument);
  task->shell = shell();
  task->function(task->data);
  if (task->opened) close_opened(smelt_gomp_position);
}

// The same, of a task made before a setting was changed in the region, perhaps by the thread that runs it now. It has
// what its maker had, which is what the region had inherited: who has changed a setting makes no more of our tasks.
[[gnu::noinline]] void run_body_as_made(void* argument) {
  auto* const region = static_cast<Region*>(smelt_gomp_position.region);
  // Acquire: pairs with note_settings(), which does nothing between the two but ask libgomp.
  while (region->settings.load(std::memory_order_acquire) == kNoting) os::yield_cpu();
  const Icvs& inherited = region->inherited;
  const Icvs now = icvs_now();
  if (now.threads != inherited.threads) REAL(omp_set_num_threads)(inherited.threads);
  if (now.dynamic != inherited.dynamic) REAL(omp_set_dynamic)(inherited.dynamic);
  if (now.schedule != inherited.schedule || now.chunk != inherited.chunk)
    REAL(omp_set_schedule)(inherited.schedule, inherited.chunk);
  if (now.device != inherited.device) REAL(omp_set_default_device)(inherited.device);
  // Before GCC 11 the process had one for all, which a task does not inherit.
  static const bool levels_are_tasks = dlsym(RTLD_DEFAULT, "omp_get_supported_active_levels") != nullptr;
  if (now.levels != inherited.levels && levels_are_tasks) REAL(omp_set_max_active_levels)(inherited.levels);
  run_body(argument);
}

struct GroupedCall {
  GompFunction function;
  void* data;
};

void run_grouped_body(void* argument) {
  const auto& call = *static_cast<const GroupedCall*>(argument);
  Position& position = smelt_gomp_position;
  const Task* const around = position.task;
  call.function(call.data);
  const Shell now = shell();
  while (position.task != around && position.task->shell != now) end_adopted(*team_of(position), position);
  if (position.task != around && position.task->opened) close_opened(position);
}

// An undeferred task in a group.
void run_grouped(Position& position, GompFunction function, void* data) {
  const Task* const around = position.task;
  GroupedCall call{function, data};
  REAL(GOMP_task)(run_grouped_body, &call, nullptr, 0, 1, false, 0, nullptr, 0, nullptr);
  if (position.task == around) [[likely]]
    return;
  settle_all(*team_of(position), position, around);
  note_unseen(position);
}

void run(TaskTeam& team, Position& position, Task* task) {
  Task* const before = position.task;
  const bool unseen = position.unseen;
  const uint32_t unmarked = position.unmarked;
  task->runner = position.thread;
  position.task = task;
  position.unseen = !task->group;
  // In the body of a final task libgomp runs all that is made there at once, in tasks that we do not see.
  position.unmarked = !task->final;
  const GompFunction body = is_changed(position) ? run_body_as_made : run_body;
  REAL(GOMP_task)(body, task, nullptr, 0, 1, false, task->final ? kFinal : 0, nullptr, 0, nullptr);
  settle_all(team, position, task);
  position.task = before;
  position.unseen = unseen;
  position.unmarked = unmarked;
  end(team, task, position.thread);
  // Relaxed load: nobody else writes it. Release: the body with all that it made or marked, and our use of the task.
  std::atomic<uint64_t>& finished = team.workers[position.thread].finished;
  finished.store(finished.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

// One of this thread's tasks that fits. What was spilled is older than what was pushed since, and like the deque it
// has what was made above a waiting task before what lies below it.
template <typename Fits>
Task* take_own(Worker& own, Fits fits) {
  if (Task* const task = own.deque.take(fits)) return task;
  Task* const task = own.spilled;
  if (!task || !fits(*task)) return nullptr;
  Task* rest = task->next;
  while (rest && own.deque.waiting() < kMostWaiting && fits(*rest)) {  // where others can have them
    Task* const next = rest->next;
    own.deque.push(rest);
    rest = next;
  }
  own.spilled = rest;
  return task;
}

// All that this thread has.
void run_own(TaskTeam& team, Position& position) {
  while (Task* const task = take_own(team.workers[position.thread], [](const Task&) { return true; }))
    run(team, position, task);
}

// One task that fits, of this thread's or another's; nullptr: none was found.
template <typename Fits>
Task* find(TaskTeam& team, const Position& position, Fits fits) {
  Worker& own = team.workers[position.thread];
  if (Task* const task = take_own(own, fits)) return task;
  const uint32_t threads = position.barrier->participants();
  const auto steal = [&](uint32_t victim) { return team.workers[victim].deque.steal(fits); };
  // Who had something has more; else the nearest.
  if (own.last_victim < threads && own.last_victim != position.thread) {
    if (Task* const task = steal(own.last_victim)) return task;
  }
  for (uint32_t i = 0; i + 1 < threads; ++i) {
    const uint32_t victim = victim_of(position.region->victims, position.thread, threads, i);
    if (Task* const task = steal(victim)) {
      own.last_victim = victim;
      return task;
    }
  }
  return nullptr;
}

// Nothing to do: polls, then yields, then sleeps. `done` is asked once more between saying so and sleeping.
template <typename Done>
void idle(TaskTeam& team, const Position& position, uint32_t turns, Sleep sleep, Done done) {
  const bool crowd = position.barrier->is_crowd();
  if (turns < (crowd ? kCrowdPolls : kPolls)) return cpu_pause();
  if (!crowd && turns < kPolls + 16) return os::yield_cpu();
  if (crowd && turns < kCrowdPolls + kCrowdYields && yield_to_team()) return;
  std::atomic<uint32_t>& asleep = team.workers[position.thread].asleep;
  team.sleepers.fetch_add(1, std::memory_order_relaxed);
  asleep.store(sleep, std::memory_order_relaxed);
  full_fence();
  if (!done()) os::futex_wait(&asleep, sleep, kNapNs);
  if (asleep.exchange(kAwake, std::memory_order_relaxed) != kAwake)
    team.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

// Runs descendants of the current task until `done`.
template <typename Done>
void help_until(TaskTeam& team, Position& position, const Task& waiting, Done done) {
  for (uint32_t turns = 0; !done();) {
    Task* const task = find(team, position, [&](const Task& candidate) { return is_below(candidate, waiting); });
    if (task) {
      run(team, position, task);
      turns = 0;
    } else {
      idle(team, position, turns++, kForItsOwn, done);
    }
  }
}

// Has everybody come to that barrier, and has every task run? Once true, it stays so: nobody is left to make one.
// `come`: so many threads are known to have come; 0 at first.
bool is_over(const TaskTeam& team, uint32_t threads, uint64_t episode, uint32_t* come) {
  for (; *come < threads; ++*come) {
    // Acquire: what was created before, and marked.
    if (team.workers[*come].arrived.load(std::memory_order_acquire) < episode) return false;
  }
  // Relaxed: all of this team have written it, and larger ones were before.
  const uint32_t most = team.most.load(std::memory_order_relaxed);
  uint64_t finished = 0, created = 0;
  // Acquire: what those tasks have created is in the sum below, and what they have marked is seen. So if the sums are
  // equal, the tasks are the same, and one that is missing in both would have been made by one that is.
  for (uint32_t i = 0; i < most; ++i) finished += team.workers[i].finished.load(std::memory_order_acquire);
  // Relaxed: ordered by the acquires above.
  for (uint32_t i = 0; i < most; ++i) created += team.workers[i].created.load(std::memory_order_relaxed);
  return finished == created;
}

// May the region's tasks be ours? The same for all its threads, and as long as it lasts.
bool is_eligible(const Position& position) { return position.barrier->participants() >= 2; }

// Is the calling thread in a body whose constructs are ours?
bool is_ours_here(Position& position, const void* caller) {
  return smelt_gomp_own_tasks && served(position, caller) && position.in_libgomp == 0 && is_eligible(position);
}

// In the body of a final task, or of one that is included in it and has no Task of its own: libgomp runs all that is
// made there at once, in tasks that we do not see, and has the groups.
bool is_final(const Position& position) { return position.task && position.task->final; }

// May the calling thread make tasks that are ours, till its next barrier?
bool may_make_own(const Position& position) {
  return smelt_gomp_own_tasks && position.barrier && is_eligible(position) && !position.tasks_are_libgomps &&
         position.assumed == 0 && !is_final(position);
}

TaskTeam* make_team(Position& position) {
  auto& word = position_region(position).tasks;
  if (TaskTeam* const team = word.load(std::memory_order_acquire)) return team;
  auto* const team = static_cast<TaskTeam*>(os::map_pages(sizeof(TaskTeam)));
  TaskTeam* first = nullptr;
  if (!team || word.compare_exchange_strong(first, team, std::memory_order_acq_rel, std::memory_order_acquire))
    return team;
  os::unmap_pages(team, sizeof(TaskTeam));
  return first;
}

// The maker's next barrier is to be drained, by all.
void mark_drained(Position& position, Worker& worker) {
  const uint64_t episode = position.epoch + 1;
  if (worker.marked == episode) return;
  worker.marked = episode;
  if (!mark(*position.real_epoch, episode)) return;
  position.barrier->wake_all();
  if (HotTeam* hot = position_region(position).hot; hot && hot->active) hot->fork->wake_all();
}

// Of flags that change nothing for us. A priority counts only where OMP_MAX_TASK_PRIORITY says so.
unsigned plain_flags = kUntied | kMergeable;
bool is_plain(unsigned flags) { return (flags & ~plain_flags) == 0; }

// memcpy, for which few bytes are not worth a call.
inline void copy_arguments(void* to, const void* from, long size) {
  if (size == 8)
    std::memcpy(to, from, 8);
  else if (size == 16)
    std::memcpy(to, from, 16);
  else
    std::memcpy(to, from, static_cast<size_t>(size));
}

struct TaskCall {
  GompFunction function;
  void* data;
  void (*copy)(void*, void*);
  long size, align;
};

// A task with its arguments, not counted yet; nullptr: no memory.
Task* new_task(Worker& worker, uint32_t me, Task* parent, const TaskCall& call, unsigned flags) {
  Task* const task = new_block(worker, me);
  if (!task) return nullptr;
  const auto align = static_cast<uintptr_t>(call.align > 1 ? call.align : 1);
  task->large = nullptr;
  task->data = task->room;
  if (call.size > static_cast<long>(sizeof task->room) || align > alignof(Task)) {
    task->large = std::malloc(static_cast<size_t>(call.size) + align);
    if (!task->large) {
      put_back(*team_of(smelt_gomp_position), task, me);
      return nullptr;
    }
    task->data = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(task->large) + align - 1) & ~(align - 1));
  }
  // Relaxed: published by the deque.
  task->parent.store(parent, std::memory_order_relaxed);
  task->depth.store(parent->depth.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  task->others.store(kRunning, std::memory_order_relaxed);
  task->final = (flags & kFinal) != 0;
  task->over = task->adopted = task->opened = false;
  task->group = task->member_of = parent->group;
  task->made = task->ended = 0;
  task->function = call.function;
  task->node = nullptr;
  task->children = nullptr;
  return task;
}

void count_task(Task* parent, uint32_t me) {
  ++parent->made;
  if (Group* const group = parent->group) {
    if (group->runner == me)
      ++group->made;
    else
      group->others.fetch_add(1, std::memory_order_relaxed);  // our own end comes after it
  }
}

// A deferred task is there.
void count_created(Worker& worker) {
  // Relaxed: nobody else writes it, and it is published by the deque or by whatever we publish next.
  worker.created.store(worker.created.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// The calling thread, in the body of its implicit task, is about to make the first explicit one of a region. False:
// its tasks are libgomp's.
bool begin_tasks(Position& position) {
  if (!has_shell()) return false;
  TaskTeam* const team = make_team(position);
  if (!team) return false;
  Worker& worker = team->workers[position.thread];
  Task& task = worker.implicit;
  task.runner = position.thread;
  task.shell = shell();
  // All children of earlier regions are over: the counts add up to none, whatever they are.
  if (task.others.load(std::memory_order_relaxed) == 0) task.others.store(kRunning, std::memory_order_relaxed);
  position.task = &task;
  position.deque = &worker.deque;
  note_unseen(position);
  return true;
}

// The task whose body the calling thread runs; nullptr: no memory.
Task* current(Position& position, TaskTeam& team) {
  if (settle(position)) return position.task;
  // It began as a jump to libgomp. No part of `created`: it runs within another's body, which is, or has not come to
  // the barrier. That barrier is marked, so that its end is noticed there at the latest.
  const uint32_t me = position.thread;
  Worker& worker = team.workers[me];
  Task* const around = position.task;
  Task* const task = new_task(worker, me, around, {nullptr, nullptr, nullptr, 0, 0}, 0);
  if (!task) return nullptr;
  task->adopted = true;
  task->runner = me;
  task->shell = shell();
  count_task(around, me);
  mark_drained(position, worker);
  position.unseen = false;
  return position.task = task;
}

// GOMP_task's list: {n, outs, addresses}, the outs first, or {0, n, outs, mutexinoutsets, ins, addresses, pointers to
// omp_depend_t}. False: some are not to be had here (omp_all_memory, which is no address, and kinds not known).
template <typename Each>
bool each_dependence(void** list, Each each) {
  const auto number = [=](uint32_t i) { return reinterpret_cast<uintptr_t>(list[i]); };
  const bool brief = number(0) != 0;
  const uintptr_t count = brief ? number(0) : number(1);
  const uintptr_t outs = brief ? number(1) : number(2) + number(3);
  const uintptr_t plain = brief ? count : outs + number(4);
  void** const addresses = list + (brief ? 2 : 5);
  for (uintptr_t i = 0; i < count; ++i) {
    void* address = addresses[i];
    Access access = i < outs ? Access::kOut : Access::kIn;
    if (i >= plain) {
      void** const object = static_cast<void**>(address);
      const auto kind = reinterpret_cast<uintptr_t>(object[1]);
      address = object[0];
      if (kind < kDependIn || kind > kDependInoutset) return false;
      if (kind >= kDependOut && kind <= kDependMutexinoutset) access = Access::kOut;
      if (kind == kDependInoutset) access = Access::kInoutset;
    }
    if (!address) return false;
    each(address, access);
  }
  return true;
}

// Back when the task of that node, a child of the current one, has ended.
void wait_for_node(TaskTeam& team, Position& position, const DependNode& node) {
  help_until(team, position, *position.task, [&] { return is_closed(node); });
}

// Back when the children of the current task that the list depends on have ended. False: as each_dependence().
bool wait_for_dependences(Position& position, void** list) {
  if (!position.task || !settle(position) || !position.task->children)
    return each_dependence(list, [](void*, Access) {});
  TaskTeam& team = *team_of(position);
  return each_dependence(list, [&](void* address, Access access) {
    position.task->children->wait_for(address, access,
                                      [&](const DependNode& node) { wait_for_node(team, position, node); });
  });
}

// A node for a child of `parent` with `count` dependences, and room for them in the parent's table. nullptr: no memory.
DependNode* new_node(TaskTeam& team, uint32_t me, Task* parent, uint32_t count) {
  DependBlocks blocks{team, me};
  if (!parent->children) {
    void* const room = blocks.get();
    if (!room) return nullptr;
    parent->children = new (room) DependTable{};
  }
  if (!parent->children->reserve(count, blocks)) return nullptr;
  void* const room = blocks.get();
  if (!room) return nullptr;
  auto* const node = new (room) DependNode{};
  if (reserve_memberships(*node, count, blocks)) return node;
  drop(node, blocks);
  return nullptr;
}

// The task waits for those before it, and those after it will wait for it. False: it has none to wait for any more.
bool add_dependences(TaskTeam& team, Position& position, DependNode& node, void** list) {
  DependTable& table = *position.task->children;
  DependBlocks blocks{team, position.thread};
  each_dependence(list, [&](void* address, Access access) { table.stamp(node, address, access); });
  each_dependence(list, [&](void* address, Access) {
    table.add(node, address, blocks, [&](const DependNode& other) { wait_for_node(team, position, other); });
  });
  return !one_less(node);
}

// Do so many tasks of this thread's wait that the next one is run at once?
bool has_enough(const Position& position) {
  return team_of(position)->workers[position.thread].deque.waiting() >= kMostWaiting;
}

// False: libgomp's. Not inlined: an undeferred task, which needs none of this, would pay for its registers.
[[gnu::noinline]] bool make(Position& position, const TaskCall& call, bool deferred, unsigned flags, void** depend) {
  if (!is_plain(flags & ~(kFinal | kDepend)) || is_changed(position)) return false;
  if (!(flags & kDepend)) depend = nullptr;
  TaskTeam* const team = team_of(position);
  const uint32_t me = position.thread;
  Worker& worker = team->workers[me];
  Task* const parent = current(position, *team);
  if (!parent) return false;
  uint32_t count = 0;
  if (depend && !each_dependence(depend, [&](void*, Access) { ++count; })) return false;
  DependNode* const node = deferred && count > 0 ? new_node(*team, me, parent, count) : nullptr;
  if (count > 0 && !node) {
    deferred = false;
    wait_for_dependences(position, depend);
  }
  Task* const task = new_task(worker, me, parent, call, flags);
  if (!task) {
    DependBlocks blocks{*team, me};
    if (node) drop(node, blocks);
    return false;
  }
  if (deferred && !node && has_enough(position)) deferred = false;
  if (!deferred && !call.copy) {  // runs before we return, with the maker's own arguments
    task->data = call.data;
  } else if (call.copy) {
    call.copy(task->data, call.data);
  } else if (call.size > 0) {
    std::memcpy(task->data, call.data, static_cast<size_t>(call.size));
  }
  count_task(parent, me);
  count_created(worker);
  mark_drained(position, worker);
  if (node) {
    task->node = node;
    node->task = task;
    if (add_dependences(*team, position, *node, depend)) return true;  // who ends the last one before it offers it
    deferred = worker.deque.waiting() < kMostWaiting;
  }
  if (deferred)
    offer(*team, worker, task);
  else
    run(*team, position, task);
  return true;
}

// A task without dependences, which is not final, and whose arguments have room in a Task; in the body of `parent`.
// False: make() knows.
inline bool make_plain(Position& position, Task& parent, const TaskCall& call) {
  TaskTeam& team = *team_of(position);
  const uint32_t me = position.thread;
  Worker& worker = team.workers[me];
  if (has_enough(position)) return false;
  Task* const task = new_task(worker, me, &parent, call, 0);
  if (!task) return false;
  if (call.copy)
    call.copy(task->data, call.data);
  else
    copy_arguments(task->room, call.data, call.size);
  count_task(&parent, me);
  count_created(worker);
  mark_drained(position, worker);
  offer(team, worker, task);
  return true;
}

// Everybody runs and steals what there is until that barrier is over. True: it is libgomp's, and has yet to be entered.
bool drain(Position& position) {
  const uint64_t episode = position.epoch + 1;
  const auto& region = *static_cast<Region*>(position.region);
  const auto is_libgomps = [&] { return is_real(region.libgomp_epoch, episode); };
  TaskTeam* const team = team_of(position);
  if (!team) return true;  // none of ours was made, so the marks are libgomp's
  const uint32_t threads = position.barrier->participants();
  Worker& worker = team->workers[position.thread];
  if (position.task) {
    settle_all(*team, position, &worker.implicit);
    note_unseen(position);
  }
  // Relaxed: our own. And a sum.
  const uint64_t created = worker.created.load(std::memory_order_relaxed);
  if (created != worker.reported)
    position.region->counters.tasks.fetch_add(created - worker.reported, std::memory_order_relaxed);
  worker.reported = created;
  if (team->most.load(std::memory_order_relaxed) < threads) team->most.store(threads, std::memory_order_relaxed);
  worker.arrived.store(episode, std::memory_order_release);  // what we have created, and marked
  uint32_t come = 0;
  bool libgomps = false;
  // Acquire: pairs with the release below, for what all have done.
  const auto is_released = [&] { return team->released.load(std::memory_order_acquire) >= episode; };
  const auto done = [&] {
    if (is_released()) return true;
    libgomps = is_libgomps();
    if (libgomps) return true;
    if (!is_over(*team, threads, episode, &come)) return false;
    libgomps = is_libgomps();  // not to be answered before: a task marks before it has finished
    // Release: what we know all others have done. Whoever comes to write it here writes the same.
    if (!libgomps) team->released.store(episode, std::memory_order_release);
    return true;
  };
  for (uint32_t turns = 0;;) {
    if (Task* const task = find(*team, position, [](const Task&) { return true; })) {
      // One of those who are ahead, made after the barrier, would mark our next one as if it was this one.
      if (is_released()) {
        offer(*team, worker, task);
        break;
      }
      run(*team, position, task);
      turns = 0;
    } else if (done()) {  // only now: what is in our deque must not wait for us while we are in libgomp's barrier
      break;
    } else {
      idle(*team, position, turns++, kForAnything, done);
    }
  }
  wake_all(*team, threads);
  return libgomps;
}

}  // namespace

void note_settings(Position& position) {
  if (position.word) take_position(position);
  // In a region inside that is libgomp's, only what that one has made inherits it.
  if (!position.barrier || REAL(omp_get_level)() != position.level) return;
  auto* const region = static_cast<Region*>(position.region);
  // Relaxed: who makes a task after this call, or runs one, knows of it: a change is its thread's alone.
  uint32_t before = kUnchanged;
  if (!region->settings.compare_exchange_strong(before, kNoting, std::memory_order_relaxed)) return;
  region->inherited = icvs_now();
  region->settings.store(kChanged, std::memory_order_release);  // pairs with run_body_as_made()
}

bool is_explicit(const Position& position) {
  return position.task && team_of(position)->workers[position.thread].implicit.shell != shell();
}

bool needs_look(const Position& position) {
  return may_make_own(position) || (position.task && !position.unseen && !is_final(position));
}

void start_tasks() {
  const char* const setting = options().tasks;
  const bool own = std::strcmp(setting, "1") == 0 || (std::strcmp(setting, "auto") == 0 && !options().surplus);
  if (REAL(omp_get_max_task_priority)() == 0) plain_flags |= kPriority;
  smelt_gomp_own_tasks = own && find_shell();
}

void leave_tasks_to_libgomp(Position& position) {
  if (!smelt_gomp_own_tasks || !position.barrier || position.in_libgomp != 0 || is_final(position)) return;
  Task* task = position.task;
  if (!task) {
    position.tasks_are_libgomps = true;
    return;
  }
  TaskTeam& team = *team_of(position);
  bool whole = settle(position);
  task = position.task;
  // An undeferred one needs a Task to note what it opens. Without the memory for one, nothing is opened.
  if (!whole && task->group) {
    if (Task* const adopted = current(position, team)) {
      task = adopted;
      whole = true;
    }
  }
  // libgomp knows nothing of ours: what it makes from now on must not wait for them.
  if (whole && task->children)
    task->children->wait_for_all([&](const DependNode& node) { wait_for_node(team, position, node); });
  position.tasks_are_libgomps = true;
  if (!whole || !task->group) return;
  bool& opened = task->group->owner == task ? task->group->opened : task->opened;
  if (opened) return;
  opened = true;
  REAL(GOMP_taskgroup_start)();
}

void mark_for_libgomp(Position& position) {
  auto& region = *static_cast<Region*>(position.region);
  if (!smelt_gomp_own_tasks || !mark(region.libgomp_epoch, position.epoch + 1)) return;
  if (TaskTeam* const team = team_of(position)) wake_all(*team, position.barrier->participants());
}

bool end_episode(Position& position) {
  const bool libgomps = !smelt_gomp_own_tasks || !is_eligible(position) || position.assumed != 0 || drain(position);
  if (libgomps) {
    ++position.in_libgomp;
    REAL(GOMP_barrier)();
    --position.in_libgomp;
  }
  position.tasks_are_libgomps = false;
  return libgomps;
}

bool expects_tasks(const Region& region) {
  // Relaxed: any answer will do, as long as all threads get the same.
  return smelt_gomp_own_tasks &&
         (region.entered <= kFirstRegions || region.tasks.load(std::memory_order_relaxed) != nullptr);
}

void end_region(Position& position, bool drains) {
  if (!smelt_gomp_own_tasks) return;
  if (!drains) {
    // The others may be in libgomp's join already. What this thread has made it runs, but for what others still take.
    if (!position.task) return;
    TaskTeam& team = *team_of(position);
    settle_all(team, position, &team.workers[position.thread].implicit);
    run_own(team, position);
    if (position.thread == 0) ++position_region(position).generation;  // the next one's end is a barrier
    return;
  }
  if (position.word && !take_position(position)) return;
  if (!position.barrier || !is_eligible(position)) return;
  const uint64_t episode = position.epoch + 1;
  if (position.assumed != 0) return;
  if (is_real(*position.real_epoch, episode) ||
      !position.barrier->arrive_and_wait(position.thread, episode, position.real_epoch))
    drain(position);
}

void free_tasks(Region& region) {
  TaskTeam* const team = region.tasks.load(std::memory_order_relaxed);  // its threads are gone
  if (!team) return;
  for (Worker& worker : team->workers) {
    if (worker.implicit.children) std::free(worker.implicit.children->entries);  // all else is in the chunks
    for (Chunk* chunk = worker.chunks; chunk;) {
      Chunk* const next = chunk->next;
      os::unmap_pages(chunk, kChunkBytes);
      chunk = next;
    }
  }
  os::unmap_pages(team, sizeof(TaskTeam));
  forget_tasks(region);
}

void forget_tasks(Region& region) { region.tasks.store(nullptr, std::memory_order_relaxed); }

}  // namespace smelt::gomp

using namespace smelt::gomp;

bool smelt_gomp_own_tasks = false;

// What the caller means, as STOCK; a jump where there is nothing to find out.
#define STRAIGHT(name) \
  (smelt_openmp_several || !smelt_real_##name ? STOCK(name) : reinterpret_cast<decltype(&::name)>(smelt_real_##name))

namespace {

// Surplus threads wait for no task, for each has run when its maker goes on; but for those with detach.
void alone_if_tasks_wait() {
  if (Lent* const self = smelt_gomp_lent; self && self->defers) alone(*self);
}

struct Call {
  TaskCall task;
  bool deferred;
  unsigned flags;
  void** depend;
  int priority;
  void* detach;
};

void call_libgomp(const Call& c, const void* caller) {
  const auto& [function, data, copy, size, align] = c.task;
  reinterpret_cast<decltype(&::GOMP_task)>(meant(smelt_real_GOMP_task, caller))(
      function, data, copy, size, align, c.deferred, c.flags, c.depend, c.priority, c.detach);
}

// Where tasks are libgomp's.
void pass_on(Position& position, Call& call, const void* caller) {
  if (lent_in(position) && !(call.flags & kDetach)) {
    call.deferred = false;
    alone_if_tasks_wait();  // for those that it depends on
  } else if (position.unmarked) {
    smelt_gomp_mark();
  }
  call_libgomp(call, caller);
}

[[gnu::noinline]] void make_any(Position& position, Call& call, const void* caller) {
  if (!smelt_gomp_own_tasks) return pass_on(position, call, caller);
  if (is_ours_here(position, caller)) {
    if (is_final(position)) return call_libgomp(call, caller);
    const bool own = may_make_own(position) && (position.task || begin_tasks(position));
    if (position.task) settle(position);
    if (own) {
      // The stub has seen to that already, on x86-64.
      if (position.unseen && is_plain(call.flags) && has_enough(position)) call.deferred = false;
      if (!call.deferred && (call.flags & (kDepend | kFinal)) == 0 && !(position.task->group && call.task.copy))
        return position.task->group ? run_grouped(position, call.task.function, call.task.data)
                                    : call_libgomp(call, caller);
      if (make(position, call.task, call.deferred, call.flags, call.depend)) return;
    }
  }
  smelt_gomp_mark();
  ++position.in_libgomp;
  call_libgomp(call, caller);
  --position.in_libgomp;
}

}  // namespace

extern "C" {

// What the stub goes on to.
[[gnu::visibility("hidden")]] decltype(GOMP_task) smelt_gomp_GOMP_task;

// The signature of GCC 12. Callers of before know fewer arguments; what is read in their place is only passed on.
void smelt_gomp_GOMP_task(GompFunction function, void* data, void (*copy)(void*, void*), long size, long align,
                          bool deferred, unsigned flags, void** depend, int priority, void* detach) {
  Position& position = smelt_gomp_position;
  Task* const parent = position.task;
  if (parent && parent->shell == shell() && deferred && is_plain(flags) &&
      size <= static_cast<long>(sizeof parent->room) && align <= static_cast<long>(alignof(Task)) &&
      !position.tasks_are_libgomps && !parent->final && !smelt_openmp_several && !is_changed(position)) [[likely]] {
    if (make_plain(position, *parent, {function, data, copy, size, align})) return;
  }
  Call call{{function, data, copy, size, align}, deferred, flags, depend, priority, detach};
  make_any(position, call, __builtin_return_address(0));
}

// Task loops are libgomp's. It runs their bodies here, too, while it waits for them.
void GOMP_taskloop(GompFunction function, void* data, void (*copy)(void*, void*), long size, long align, unsigned flags,
                   unsigned long tasks, int priority, long start, long end, long step) {
  Position& position = smelt_gomp_position;
  if (lent_in(position))
    flags &= ~kIf;
  else if (position.unmarked)
    smelt_gomp_mark();
  ++position.in_libgomp;
  STOCK(GOMP_taskloop)(function, data, copy, size, align, flags, tasks, priority, start, end, step);
  --position.in_libgomp;
}

void GOMP_taskloop_ull(GompFunction function, void* data, void (*copy)(void*, void*), long size, long align,
                       unsigned flags, unsigned long tasks, int priority, GompUll start, GompUll end, GompUll step) {
  Position& position = smelt_gomp_position;
  if (lent_in(position))
    flags &= ~kIf;
  else if (position.unmarked)
    smelt_gomp_mark();
  ++position.in_libgomp;
  STOCK(GOMP_taskloop_ull)(function, data, copy, size, align, flags, tasks, priority, start, end, step);
  --position.in_libgomp;
}

// The calling thread has made tasks in its region.
[[gnu::noinline]] static void wait_for_children(Position& position, const void* caller) {
  const bool ours = !smelt_openmp_several || is_ours(caller);
  if (ours && settle(position)) {
    const Task& task = *position.task;
    help_until(*team_of(position), position, task, [&] { return open_children(task) == 0; });
    if (!position.tasks_are_libgomps) return;
  }
  // Its children are libgomp's, or some are.
  position.in_libgomp += ours;
  reinterpret_cast<decltype(&::GOMP_taskwait)>(meant(smelt_real_GOMP_taskwait, caller))();
  position.in_libgomp -= ours;
}

// Does the body that the calling thread runs have children that are ours, or libgomp's beside them? Any other is an
// undeferred one that has made none, or libgomp's.
static bool may_have_children(const Position& position) {
  const Task* const task = position.task;
  return task && (task->shell == shell() || task->adopted || position.tasks_are_libgomps);
}

[[gnu::noinline]] static void wait_otherwise(Position& position, const void* caller) {
  if (may_have_children(position)) return wait_for_children(position, caller);
  alone_if_tasks_wait();
  reinterpret_cast<decltype(&::GOMP_taskwait)>(meant(smelt_real_GOMP_taskwait, caller))();
}

void GOMP_taskwait(void) {
  Position& position = smelt_gomp_position;
  // Acquire: pairs with start_regions(), for the slot.
  if (!__atomic_load_n(&smelt_gomp_plain, __ATOMIC_ACQUIRE) || smelt_openmp_several || may_have_children(position))
    return wait_otherwise(position, __builtin_return_address(0));
  return reinterpret_cast<decltype(&::GOMP_taskwait)>(smelt_real_GOMP_taskwait)();
}

void GOMP_taskwait_depend(void** depend) {
  Position& position = smelt_gomp_position;
  alone_if_tasks_wait();
  if (!is_ours_here(position, __builtin_return_address(0))) return STOCK(GOMP_taskwait_depend)(depend);
  if (!wait_for_dependences(position, depend)) {
    leave_tasks_to_libgomp(position);
  } else if (!position.tasks_are_libgomps) {
    return;
  }
  ++position.in_libgomp;
  REAL(GOMP_taskwait_depend)(depend);
  --position.in_libgomp;
}

void GOMP_taskgroup_start(void) {
  Position& position = smelt_gomp_position;
  if (position.barrier ? !is_eligible(position) : !position.word) return STRAIGHT(GOMP_taskgroup_start)();
  if (!is_ours_here(position, __builtin_return_address(0)) || is_final(position) || position.assumed != 0)
    return STOCK(GOMP_taskgroup_start)();
  if (position.tasks_are_libgomps) leave_tasks_to_libgomp(position);  // first: it may open one around this one
  const bool begun =
      position.groups_at_libgomp == 0 && !position.tasks_are_libgomps && (position.task || begin_tasks(position));
  TaskTeam* const team = begun ? team_of(position) : nullptr;
  Task* const task = begun ? current(position, *team) : nullptr;
  Task* const block = task ? new_block(team->workers[position.thread], position.thread) : nullptr;
  if (!block) {  // whatever is made inside is libgomp's, too
    ++position.groups_at_libgomp;
    position.tasks_are_libgomps = true;
    return STOCK(GOMP_taskgroup_start)();
  }
  task->group = new (block->room) Group{task->group, task, block, position.thread, false, 0, 0, {0}};
  note_unseen(position);
}

void GOMP_taskgroup_end(void) {
  Position& position = smelt_gomp_position;
  alone_if_tasks_wait();
  if (!position.barrier || !is_eligible(position)) return STRAIGHT(GOMP_taskgroup_end)();
  if (!is_ours_here(position, __builtin_return_address(0)) || is_final(position) || position.assumed != 0)
    return STOCK(GOMP_taskgroup_end)();
  if (position.groups_at_libgomp > 0) {
    --position.groups_at_libgomp;
    ++position.in_libgomp;
    REAL(GOMP_taskgroup_end)();
    --position.in_libgomp;
    return;
  }
  TaskTeam& team = *team_of(position);
  settle(position);
  Task& task = *position.task;
  Group* const group = task.group;
  help_until(team, position, task, [&] { return is_empty(*group); });
  if (group->opened) {
    ++position.in_libgomp;
    REAL(GOMP_taskgroup_end)();
    --position.in_libgomp;
  }
  task.group = group->outer;
  note_unseen(position);
  put_back(team, group->block, position.thread);
}

void GOMP_taskgroup_reduction_register(uintptr_t* data) {
  smelt_gomp_leave();
  STOCK(GOMP_taskgroup_reduction_register)(data);
}

// The end of a worksharing construct with task reductions: a barrier of libgomp's is in it.
void GOMP_workshare_task_reduction_unregister(bool cancelled) {
  Position& position = smelt_gomp_position;
  smelt_gomp_alone();
  const bool ours = is_ours_here(position, __builtin_return_address(0));
  if (ours && position.task) run_own(*team_of(position), position);
  position.in_libgomp += ours;
  STOCK(GOMP_workshare_task_reduction_unregister)(cancelled);
  position.in_libgomp -= ours;
}

// Of a program built for tools (-fopenmp-ompt): without task reductions, nothing begins.
void GOMP_scope_start_with_end(uintptr_t* reductions) {
  if (reductions) smelt_gomp_leave();
  STOCK(GOMP_scope_start_with_end)(reductions);
}

// Before constructs whose tasks are libgomp's, in the bodies of which it keeps what the tasks need.
void smelt_gomp_leave(void) {
  resolve();
  if (smelt_gomp_own_tasks) smelt_gomp_mark();
}

}  // extern "C"
