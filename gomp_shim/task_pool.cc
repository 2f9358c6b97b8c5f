#include "task_pool.h"

#include <dlfcn.h>

#include <cstdlib>

#include "hot_team.h"
#include "own_tasks.h"
#include "real.h"

namespace smelt::gomp {
namespace {

// Wakes that thread if it sleeps. One that is missed wakes by itself: so relaxed will do here and below.
bool wake_worker(TaskTeam& team, uint32_t thread) {
  std::atomic<uint32_t>& asleep = team.workers[thread].asleep;
  if (asleep.load(std::memory_order_relaxed) == kAwake) return false;
  if (asleep.exchange(kAwake, std::memory_order_relaxed) == kAwake) return false;
  team.sleepers.fetch_sub(1, std::memory_order_relaxed);
  os::futex_wake_all(&asleep);
  return true;
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

// The body is over, and those that wait for it may begin.
void end_dependences(TaskTeam& team, Task* task, uint32_t me) {
  DependBlocks blocks{team, me};
  if (DependTable* const children = task->children) {
    children->free_all(blocks);
    blocks.put(children);
  }
  if (!task->node) return;
  close(*task->node, [&](void* ready) { offer_task(team, team.workers[me], static_cast<Task*>(ready)); });
  drop(task->node, blocks);
}

// The body is over.
void end_task(TaskTeam& team, Task* task, uint32_t me) {
  if (task->node || task->children) end_dependences(team, task, me);
  Task* const parent = task->parent.load(std::memory_order_relaxed);
  const uint32_t maker = task->home;  // which runs the parent, whose other words it is writing
  TaskGroup* const group = task->member_of;
  std::free(task->large);
  const auto open = static_cast<int64_t>(task->made - task->ended);
  task->over = true;
  // Acquire: the children's use of it, before its next.
  if (task->others.load(std::memory_order_acquire) == kRunning - open) {
    put_back(team, task, me);
  } else {
    parent->others.fetch_add(kHold, std::memory_order_relaxed);  // which is there until we are counted below
    // Release: our use of the task, for the thread that frees it. Acquire: we may be that thread.
    if (task->others.fetch_add(open - kRunning, std::memory_order_acq_rel) + open - kRunning == 0)
      release(team, task, me);
  }
  if (group) {
    const uint32_t runner = group->runner;
    if (runner == me) {
      ++group->ended;
    } else {
      group->others.fetch_sub(1, std::memory_order_release);  // the task's effects, for the end of the group
      wake_worker(team, runner);
    }
  }
  if (maker == me && !parent->over) {
    ++parent->ended;
    return;
  }
  // Release: the task's effects, for the taskwait. Acquire: for the thread that frees the parent.
  if (parent->others.fetch_sub(1, std::memory_order_acq_rel) == 1) release(team, parent, me);
  wake_worker(team, maker);
}

// The body that is over has made tasks of libgomp's in a group of ours. Still inside libgomp's undeferred task.
[[gnu::noinline]] void close_opened(Position& position) {
  const InLibgomp inside(position);
  REAL(GOMP_taskgroup_end)();
}

// The undeferred task that is position.task is over.
void end_adopted(TaskTeam& team, Position& position) {
  Task* const task = position.task;
  position.task = task->parent.load(std::memory_order_relaxed);
  end_task(team, task, position.thread);
}

// It runs inside libgomp's undeferred task.
void run_body(void* argument) {
  auto* const task = static_cast<Task*>(argument);
  task->shell = shell();
  task->function(task->data);
  if (task->opened) close_opened(smelt_gomp_position);
}

// The same, of a task made before a setting was changed in the region, perhaps by the thread that runs it now. It has
// the settings of its maker, which are those that the region had inherited: a thread that has changed a setting makes
// no more of our tasks.
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

}  // namespace

void wake_workers(TaskTeam& team, const Barrier& barrier) {
  if (barrier.is_crowd())
    full_fence();  // what is new, before the look at sleepers: wait_idly()
  else             // the sleeper's membarrier does the rest
    std::atomic_signal_fence(std::memory_order_seq_cst);
  if (team.sleepers.load(std::memory_order_relaxed) == 0) return;
  for (uint32_t i = 0; i < barrier.participants(); ++i) wake_worker(team, i);
}

void wake_one(TaskTeam& team, uint32_t sleepers) {
  const Position& position = smelt_gomp_position;
  const uint32_t threads = position.barrier->participants();
  if (threads >= sleepers + headcount.cpus.load(std::memory_order_relaxed)) return;
  for (const Sleep sleep : {kForAnything, kForItsOwn}) {
    for (uint32_t i = 0; i + 1 < threads; ++i) {
      const uint32_t other = victim_of(position.region->victims, position.thread, threads, i);
      if (team.workers[other].asleep.load(std::memory_order_relaxed) == sleep && wake_worker(team, other)) return;
    }
  }
}

bool settle_adopted(Position& position) {
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

void settle_all(TaskTeam& team, Position& position, const Task* until) {
  while (position.task != until) end_adopted(team, position);
}

void run_grouped(Position& position, GompFunction function, void* data) {
  const Task* const around = position.task;
  GroupedCall call{function, data};
  REAL(GOMP_task)(run_grouped_body, &call, nullptr, 0, 1, false, 0, nullptr, 0, nullptr);
  if (position.task == around) [[likely]]
    return;
  settle_all(*team_of(position), position, around);
  note_unseen(position);
}

void run_task(TaskTeam& team, Position& position, Task* task) {
  Task* const before = position.task;
  const bool unseen = position.unseen;
  const uint32_t unmarked = position.unmarked;
  // Where its end is counted, while it runs: that of a stolen one at its parent, which another thread runs.
  Worker& worker = team.workers[position.thread];
  prefetch_to_write(&worker.finished);
  // Relaxed: the deque has brought it.
  Task* const parent = task->parent.load(std::memory_order_relaxed);
  if (task->home != position.thread) prefetch_to_write(&parent->others);
  task->runner = position.thread;
  position.task = task;
  position.unseen = !task->group;
  // In the body of a final task libgomp runs all that is made there at once, in tasks that we do not see.
  position.unmarked = !task->final;
  const Crossing crossing(Transition::kRunTask);
  const GompFunction body = is_changed(position) ? run_body_as_made : run_body;
  REAL(GOMP_task)(body, task, nullptr, 0, 1, false, task->final ? kFinal : 0, nullptr, 0, nullptr);
  settle_all(team, position, task);
  position.task = before;
  position.unseen = unseen;
  position.unmarked = unmarked;
  end_task(team, task, position.thread);
  // Release: the body with all that it made or marked, and our use of the task.
  worker.finished.store(++worker.ran, std::memory_order_release);
}

void run_own(TaskTeam& team, Position& position) {
  while (Task* const task = take_own(team.workers[position.thread], [](const Task&) { return true; }))
    run_task(team, position, task);
}

void note_settings(Position& position) {
  if (position.word) take_position(position);
  // In a region inside that is libgomp's, only what that one has made inherits it.
  if (!position.barrier || REAL(omp_get_level)() != position.level) return;
  auto* const region = static_cast<Region*>(position.region);
  // Relaxed: a thread that makes a task after this call, or runs one, knows of it: a change is its thread's alone.
  uint32_t before = kUnchanged;
  if (!region->settings.compare_exchange_strong(before, kNoting, std::memory_order_relaxed)) return;
  region->inherited = icvs_now();
  region->settings.store(kChanged, std::memory_order_release);  // pairs with run_body_as_made()
}

}  // namespace smelt::gomp
