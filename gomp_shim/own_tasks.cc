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
  bool opened;   // a taskgroup of libgomp's, for libgomp's tasks made by one that is in a Group
  Group* group;  // innermost; while running: of what it makes
  Group* member_of;
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

// Of all teams of a Region.
struct TaskTeam {
  std::atomic<uint32_t> sleepers;
  std::atomic<uint32_t> most;                          // threads of the largest team so far
  alignas(kLineBytes) std::atomic<uint64_t> released;  // the last episode that was over without libgomp
  Worker workers[kMaxParticipants];
};

namespace {

TaskTeam* team_of(const Position& position) {
  // Acquire: pairs with whoever put it there.
  return static_cast<Region*>(position.region)->tasks.load(std::memory_order_acquire);
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

// Inside libgomp's undeferred task.
void run_body(void* argument) {
  auto* const task = static_cast<Task*>(argument);
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

struct BareCall {
  GompFunction function;
  void* data;
};

void run_bare_body(void* argument) {
  const auto& call = *static_cast<const BareCall*>(argument);
  call.function(call.data);
  Position& position = smelt_gomp_position;
  if (!position.bare && position.task->opened) close_opened(position);
}

// An undeferred task that has got a Task meanwhile.
[[gnu::noinline]] void end_bare(Position& position, Task* before, uint32_t me) {
  Task* const task = position.task;
  position.task = before ? before : task->parent.load(std::memory_order_relaxed);
  end(*team_of(position), task, me);
}

// An undeferred task without dependences, that is not final either. Made inside another one like it, it counts as a
// child of the same task: it is over before anybody can ask for it.
void run_bare(Position& position, GompFunction function, void* data) {
  Task* const before = position.task;
  const bool bare = position.bare;
  BareCall call{function, data};
  position.bare = true;
  REAL(GOMP_task)(run_bare_body, &call, nullptr, 0, 1, false, 0, nullptr, 0, nullptr);
  if (!position.bare) [[unlikely]]
    end_bare(position, before, position.thread);
  position.bare = bare;
}

void run(TaskTeam& team, Position& position, Task* task) {
  Task* const before = position.task;
  const bool bare = position.bare;
  task->runner = position.thread;
  position.task = task;
  position.bare = false;
  // Relaxed: what this thread has changed itself it sees; what others have changed is theirs.
  const bool changed = static_cast<Region*>(position.region)->settings.load(std::memory_order_relaxed) != kUnchanged;
  const GompFunction body = changed ? run_body_as_made : run_body;
  REAL(GOMP_task)(body, task, nullptr, 0, 1, false, task->final ? kFinal : 0, nullptr, 0, nullptr);
  position.task = before;
  position.bare = bare;
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
  return options().tasks && served(position, caller) && position.in_libgomp == 0 && is_eligible(position);
}

// In the body of a final task, or of one that is included in it and has no Task of its own: libgomp runs all that is
// made there at once, in tasks that we do not see, and has the groups.
bool is_final(const Position& position) { return position.task && position.task->final; }

TaskTeam* make_team(Position& position) {
  auto& word = static_cast<Region*>(position.region)->tasks;
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
  if (HotTeam* hot = static_cast<Region*>(position.region)->hot; hot && hot->active) hot->fork->wake_all();
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
  task->over = task->opened = false;
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

// The task whose body the calling thread runs; nullptr: no memory.
Task* current(Position& position, TaskTeam& team) {
  if (position.task && !position.bare) return position.task;
  const uint32_t me = position.thread;
  Worker& worker = team.workers[me];
  if (!position.task) {
    Task* const task = &worker.implicit;
    task->runner = me;
    // All children of earlier regions are over: the counts add up to none, whatever they are.
    if (task->others.load(std::memory_order_relaxed) == 0) task->others.store(kRunning, std::memory_order_relaxed);
    position.task = task;
  }
  if (!position.bare) return position.task;
  // No part of `created`: it runs within another's body, which is, or has not come to the barrier.
  Task* const task = new_task(worker, me, position.task, {nullptr, nullptr, nullptr, 0, 0}, 0);
  if (!task) return nullptr;
  task->runner = me;
  count_task(position.task, me);
  position.bare = false;
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
  if (!position.task || position.bare || !position.task->children) return each_dependence(list, [](void*, Access) {});
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

// Do so many tasks of this thread's wait that the next one is better run at once?
bool has_enough(const Position& position) {
  const TaskTeam* const team = team_of(position);
  return team && team->workers[position.thread].deque.waiting() >= kMostWaiting;
}

// False: libgomp's. Not inlined: an undeferred task, which needs none of this, would pay for its registers.
[[gnu::noinline]] bool make(Position& position, const TaskCall& call, bool deferred, unsigned flags, void** depend) {
  static const bool priorities = REAL(omp_get_max_task_priority)() > 0;  // else a priority counts nothing
  const unsigned ours = kUntied | kFinal | kMergeable | kDepend | (priorities ? 0 : kPriority);
  if ((flags & ~ours) != 0 || position.tasks_are_libgomps ||
      static_cast<Region*>(position.region)->settings.load(std::memory_order_relaxed) != kUnchanged)
    return false;
  if (!(flags & kDepend)) depend = nullptr;
  TaskTeam* const team = make_team(position);
  if (!team) return false;
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
  if (deferred && !node && worker.deque.waiting() >= kMostWaiting) deferred = false;
  if (!deferred && !call.copy) {  // runs before we return, with the maker's own arguments
    task->data = call.data;
  } else if (call.copy) {
    call.copy(task->data, call.data);
  } else if (call.size > 0) {
    std::memcpy(task->data, call.data, static_cast<size_t>(call.size));
  }
  count_task(parent, me);
  // Relaxed: nobody else writes it, and it is published by the deque or by whatever we publish next.
  worker.created.store(worker.created.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
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

// Everybody runs and steals what there is until that barrier is over. True: it is libgomp's, and has yet to be entered.
bool drain(Position& position) {
  const uint64_t episode = position.epoch + 1;
  const auto& region = *static_cast<Region*>(position.region);
  const auto is_libgomps = [&] { return is_real(region.libgomp_epoch, episode); };
  TaskTeam* const team = team_of(position);
  if (!team) return true;  // none of ours was made, so the marks are libgomp's
  const uint32_t threads = position.barrier->participants();
  Worker& worker = team->workers[position.thread];
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
  // Relaxed: of a task that runs here.
  return position.bare || (position.task && position.task->parent.load(std::memory_order_relaxed));
}

void leave_tasks_to_libgomp(Position& position) {
  if (!options().tasks || !position.barrier || position.in_libgomp != 0 || is_final(position)) return;
  // It needs a Task to note what it opens. Without the memory for one, nothing is opened.
  if (position.bare && position.task && position.task->group) current(position, *team_of(position));
  // libgomp knows nothing of ours: what it makes from now on must not wait for them.
  if (position.task && !position.bare && position.task->children) {
    TaskTeam& team = *team_of(position);
    position.task->children->wait_for_all([&](const DependNode& node) { wait_for_node(team, position, node); });
  }
  position.tasks_are_libgomps = true;
  Task* const task = position.task;
  if (!task || !task->group || position.bare) return;
  bool& opened = task->group->owner == task ? task->group->opened : task->opened;
  if (opened) return;
  opened = true;
  REAL(GOMP_taskgroup_start)();
}

void mark_for_libgomp(Position& position) {
  auto& region = *static_cast<Region*>(position.region);
  if (!options().tasks || !mark(region.libgomp_epoch, position.epoch + 1)) return;
  if (TaskTeam* const team = team_of(position)) wake_all(*team, position.barrier->participants());
}

bool end_episode(Position& position) {
  const bool libgomps = !options().tasks || !is_eligible(position) || drain(position);
  if (libgomps) {
    ++position.in_libgomp;
    REAL(GOMP_barrier)();
    --position.in_libgomp;
  }
  position.tasks_are_libgomps = false;
  return libgomps;
}

void end_region(Position& position) {
  if (!options().tasks) return;
  if (position.word && !take_position(position)) return;
  if (!position.barrier || !is_eligible(position)) return;
  const uint64_t episode = position.epoch + 1;
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

extern "C" {

// Surplus threads wait for no task, for each has run when its maker goes on; but for those with detach.
static void alone_if_tasks_wait() {
  if (Lent* const self = smelt_gomp_lent; self && self->defers) alone(*self);
}

// What the stubs of symbols.def's MAKES and WAITS go on to.
#define OWN(name) [[gnu::visibility("hidden")]] decltype(name) smelt_gomp_##name
OWN(GOMP_task);
OWN(GOMP_taskwait);
OWN(GOMP_taskgroup_start);
OWN(GOMP_taskgroup_end);

// The signature of GCC 12. Callers of before know fewer arguments; what is read in their place is only passed on.
void smelt_gomp_GOMP_task(GompFunction function, void* data, void (*copy)(void*, void*), long size, long align,
                          bool deferred, unsigned flags, void** depend, int priority, void* detach) {
  Position& position = smelt_gomp_position;
  if (!smelt::options().tasks) [[likely]] {
    if (lent_in(position) && !(flags & kDetach)) {
      deferred = false;
      alone_if_tasks_wait();  // for those that it depends on
    } else if (position.unmarked) {
      smelt_gomp_mark();
    }
    return STOCK(GOMP_task)(function, data, copy, size, align, deferred, flags, depend, priority, detach);
  }
  // In a region that we do not see, inside this one, this is right, too: what the task makes is looked at for itself.
  if (position.barrier && !copy && (flags & ~(kUntied | kMergeable)) == 0 && position.in_libgomp == 0 &&
      !position.tasks_are_libgomps && !smelt_openmp_several && !is_final(position) &&
      (!deferred || has_enough(position)))
    return run_bare(position, function, data);
  if (is_ours_here(position, __builtin_return_address(0))) {
    if (is_final(position))
      return REAL(GOMP_task)(function, data, copy, size, align, deferred, flags, depend, priority, detach);
    if (make(position, {function, data, copy, size, align}, deferred, flags, depend)) return;
  }
  smelt_gomp_mark();
  ++position.in_libgomp;
  STOCK(GOMP_task)(function, data, copy, size, align, deferred, flags, depend, priority, detach);
  --position.in_libgomp;
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

void smelt_gomp_GOMP_taskwait(void) {
  Position& position = smelt_gomp_position;
  alone_if_tasks_wait();
  if (!smelt::options().tasks || !position.task || !is_ours_here(position, __builtin_return_address(0)))
    return STOCK(GOMP_taskwait)();
  const Task& task = *position.task;
  if (!position.bare) help_until(*team_of(position), position, task, [&] { return open_children(task) == 0; });
  if (!position.tasks_are_libgomps) return;
  ++position.in_libgomp;
  REAL(GOMP_taskwait)();
  --position.in_libgomp;
}

void GOMP_taskwait_depend(void** depend) {
  Position& position = smelt_gomp_position;
  alone_if_tasks_wait();
  if (!smelt::options().tasks || !is_ours_here(position, __builtin_return_address(0)))
    return STOCK(GOMP_taskwait_depend)(depend);
  if (!wait_for_dependences(position, depend)) {
    leave_tasks_to_libgomp(position);
  } else if (!position.tasks_are_libgomps) {
    return;
  }
  ++position.in_libgomp;
  REAL(GOMP_taskwait_depend)(depend);
  --position.in_libgomp;
}

void smelt_gomp_GOMP_taskgroup_start(void) {
  Position& position = smelt_gomp_position;
  if (!smelt::options().tasks || is_final(position) || !is_ours_here(position, __builtin_return_address(0)))
    return STOCK(GOMP_taskgroup_start)();
  TaskTeam* const team = position.groups_at_libgomp == 0 ? make_team(position) : nullptr;
  Task* const task = team ? current(position, *team) : nullptr;
  Task* const block = task ? new_block(team->workers[position.thread], position.thread) : nullptr;
  if (!block) {  // no memory: whatever is made inside is libgomp's, too
    ++position.groups_at_libgomp;
    position.tasks_are_libgomps = true;
    return STOCK(GOMP_taskgroup_start)();
  }
  task->group = new (block->room) Group{task->group, task, block, position.thread, false, 0, 0, {0}};
  if (position.tasks_are_libgomps) leave_tasks_to_libgomp(position);
}

void smelt_gomp_GOMP_taskgroup_end(void) {
  Position& position = smelt_gomp_position;
  alone_if_tasks_wait();
  if (!smelt::options().tasks || is_final(position) || !is_ours_here(position, __builtin_return_address(0)))
    return STOCK(GOMP_taskgroup_end)();
  if (position.groups_at_libgomp > 0) {
    --position.groups_at_libgomp;
    return STOCK(GOMP_taskgroup_end)();
  }
  TaskTeam& team = *team_of(position);
  Task& task = *position.task;
  Group* const group = task.group;
  help_until(team, position, task, [&] { return is_empty(*group); });
  if (group->opened) {
    ++position.in_libgomp;
    REAL(GOMP_taskgroup_end)();
    --position.in_libgomp;
  }
  task.group = group->outer;
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
  const bool ours = smelt::options().tasks && is_ours_here(position, __builtin_return_address(0));
  if (ours) {
    if (TaskTeam* const team = team_of(position)) {
      while (Task* const task = take_own(team->workers[position.thread], [](const Task&) { return true; }))
        run(*team, position, task);
    }
  }
  position.in_libgomp += ours;
  STOCK(GOMP_workshare_task_reduction_unregister)(cancelled);
  position.in_libgomp -= ours;
}

// Before constructs whose tasks are libgomp's, in the bodies of which it keeps what the tasks need.
void smelt_gomp_leave(void) {
  resolve();
  if (smelt::options().tasks) smelt_gomp_mark();
}

}  // extern "C"
