// How tasks are run: own_tasks.h. A thread takes its own newest task, or steals another's oldest, and sleeps where
// there is none.
#pragma once

#include "base/os/os.h"
#include "policy/wait.h"
#include "task_memory.h"

namespace smelt::gomp {

constexpr unsigned kUntied = 1, kFinal = 2, kMergeable = 4, kDepend = 8, kPriority = 16,
                   kIf = 1024;         // of GOMP_task's flags
constexpr uint32_t kPolls = 3000;      // before a waiting thread gives up its CPU
constexpr uint32_t kCrowdPolls = 60;   // ... and one of more threads than CPUs: somebody waits for that CPU
constexpr uint32_t kCrowdYields = 64;  // ... and then, to others of the team, before it sleeps
constexpr int64_t kNapNs = 1'000'000;  // a sleeper that was missed looks again

// The calling thread is inside a call in which libgomp may run tasks of its own; not so if `is` is false.
class InLibgomp {
 public:
  explicit InLibgomp(Position& position, bool is = true) : position_(position), is_(is) { position_.in_libgomp += is_; }
  ~InLibgomp() { position_.in_libgomp -= is_; }
  InLibgomp(const InLibgomp&) = delete;
  InLibgomp& operator=(const InLibgomp&) = delete;

 private:
  Position& position_;
  const bool is_;
};

// Was a setting changed in the region?
inline bool is_changed(const Position& position) {
  // Relaxed: this thread sees its own changes; the others' changes are theirs.
  return position_region(position).settings.load(std::memory_order_relaxed) != kUnchanged;
}

void wake_workers(TaskTeam& team, const Barrier& barrier);

// There is a task more, and so many sleep. Wakes one thread for it, the nearest, unless those awake are enough for all
// CPUs: one more would only take a CPU, and the task, from its maker, which will run it next.
void wake_one(TaskTeam& team, uint32_t sleepers);

// A task that others can have. One that the deque has no room for follows when there is some.
inline void offer_task(TaskTeam& team, Worker& worker, Task* task) {
  if (!worker.deque.push(task)) {
    task->next = worker.spilled;
    worker.spilled = task;
  } else if (const uint32_t sleepers = team.sleepers.load(std::memory_order_relaxed)) {
    wake_one(team, sleepers);
  }
}

// May the stubs run undeferred tasks unseen? They may not inside one that is adopted, because we could not tell the
// next one from it then, nor in a group, because those that make libgomp's tasks are to end with them.
inline void note_unseen(Position& position) { position.unseen = !position.task->adopted && !position.task->group; }

// Ends what is over of undeferred tasks. Is the body that the calling thread runs that of position.task? If not, it is
// that of an undeferred task inside it, or of none of this region's.
bool settle_adopted(Position& position);
inline bool settle(Position& position) {
  if (position.task->shell == shell()) [[likely]]
    return true;
  return position.task->adopted && settle_adopted(position);
}

// The undeferred tasks inside that one, which has come to its end or to a barrier.
void settle_all(TaskTeam& team, Position& position, const Task* until);

// A task of a deque, here and now; and an undeferred one that is in a group.
void run_task(TaskTeam& team, Position& position, Task* task);
void run_grouped(Position& position, GompFunction function, void* data);
// All that this thread has.
void run_own(TaskTeam& team, Position& position);

// One of this thread's tasks that fits. The spilled tasks are older than those pushed since. Like the deque they have
// the tasks made above a waiting one before those below it.
template <typename Fits>
Task* take_own(Worker& own, Fits fits) {
  if (Task* const task = own.deque.take(fits)) return task;
  Task* const task = own.spilled;
  if (!task || !fits(*task)) return nullptr;
  Task* rest = task->next;
  while (rest && !own.deque.holds(kMostWaiting) && fits(*rest)) {  // where others can have them
    Task* const next = rest->next;
    own.deque.push(rest);
    rest = next;
  }
  own.spilled = rest;
  return task;
}

// One task that fits, of this thread's or another's; nullptr: none was found.
template <typename Fits>
Task* find_task(TaskTeam& team, const Position& position, Fits fits) {
  Worker& own = team.workers[position.thread];
  if (Task* const task = take_own(own, fits)) return task;
  const uint32_t threads = position.barrier->participants();
  const auto steal = [&](uint32_t victim) { return team.workers[victim].deque.steal(fits); };
  // The last victim had a task and may have more; else the nearest.
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
void wait_idly(TaskTeam& team, const Position& position, uint32_t turns, Sleep sleep, Done done) {
  const bool crowd = position.barrier->is_crowd();
  if (turns < (crowd ? kCrowdPolls : kPolls)) return cpu_pause();
  constexpr uint32_t kAwakeTurns = kPolls + 16;
  if (!crowd && turns < kAwakeTurns) return os::yield_cpu();
  if (crowd && turns < kCrowdPolls + kCrowdYields && yield_to_team()) return;
  std::atomic<uint32_t>& asleep = team.workers[position.thread].asleep;
  team.sleepers.fetch_add(1, std::memory_order_relaxed);
  asleep.store(sleep, std::memory_order_relaxed);
  full_fence();
  // The threads that wake do without a fence. The first nap alone, because membarrier interrupts those that work: a
  // thread that is missed later, or where the kernel refuses, wakes when its nap is over.
  if (!crowd && turns == kAwakeTurns) os::process_barrier();
  if (!done()) os::futex_wait(&asleep, sleep, kNapNs);
  if (asleep.exchange(kAwake, std::memory_order_relaxed) != kAwake)
    team.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

// Runs descendants of the current task until `done`.
template <typename Done>
void help_until(TaskTeam& team, Position& position, const Task& waiting, Done done) {
  for (uint32_t turns = 0; !done();) {
    Task* const task = find_task(team, position, [&](const Task& candidate) { return is_below(candidate, waiting); });
    if (task) {
      run_task(team, position, task);
      turns = 0;
    } else {
      wait_idly(team, position, turns++, kForItsOwn, done);
    }
  }
}

}  // namespace smelt::gomp
