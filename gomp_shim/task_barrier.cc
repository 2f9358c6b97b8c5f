#include "task_barrier.h"

#include <utility>

#include "hot_team.h"
#include "openmp/episodes.h"
#include "own_tasks.h"
#include "real.h"
#include "task_pool.h"

namespace smelt::gomp {
namespace {

constexpr uint32_t kFirstRegions = 16;  // whose end is a barrier of ours, whether tasks were ever made or not

// Has everybody come to that barrier, and has every task run? Once true, it stays so: nobody is left to make one.
// `me` has; `come`: so many threads are known to have come; 0 at first. This thread does not load its own words, whose
// lines others have read since.
bool is_over(const TaskTeam& team, uint32_t me, uint32_t threads, uint64_t episode, uint32_t* come) {
  for (; *come < threads; ++*come) {
    // Acquire: the tasks created and the marks made before.
    if (*come != me && team.workers[*come].arrived.load(std::memory_order_acquire) < episode) return false;
  }
  // Relaxed: all of this team have written it, and larger ones were before.
  const uint32_t most = team.most.load(std::memory_order_relaxed);
  uint64_t finished = team.workers[me].ran, created = team.workers[me].created;
  // Acquire: the tasks that those have created are in the sum below, and their marks are seen. So if the sums are
  // equal, the tasks are the same, and one that is missing in both would have been made by one that is.
  for (uint32_t i = 0; i < most; ++i)
    if (i != me) finished += team.workers[i].finished.load(std::memory_order_acquire);
  // Relaxed: ordered by the acquires above.
  for (uint32_t i = 0; i < most; ++i)
    if (i != me) created += team.workers[i].deque.made.load(std::memory_order_relaxed);
  return finished == created;
}

// The task whose maker has marked this barrier: all lines that a thief touches, at once. By themselves they come one
// after the other, each a transfer between cores.
void prefetch_marked(const Region& region, const Worker& own) {
  // Relaxed: hints, and perhaps not of the same mark.
  const auto* const maker = static_cast<const Worker*>(region.marked_by.load(std::memory_order_relaxed));
  const void* const task = region.marked_for.load(std::memory_order_relaxed);
  const void* const place = region.marked_at.load(std::memory_order_relaxed);
  if (maker && maker != &own) maker->deque.prefetch_steal(task, offsetof(Task, room) + 64, place);
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
  if (position.marked != episode) prefetch_marked(region, worker);
  if (position.task) {
    settle_all(*team, position, &worker.implicit);
    note_unseen(position);
  }
  const uint64_t created = worker.created;
  if (created != worker.reported) count_tasks(position.region->counters, position.thread, created - worker.reported);
  worker.reported = created;
  if (team->most.load(std::memory_order_relaxed) < threads) team->most.store(threads, std::memory_order_relaxed);
  uint32_t come = 0;
  bool here = false, libgomps = false;
  // Acquire: pairs with the release below, for what all have done.
  const auto is_released = [&] { return team->released.load(std::memory_order_acquire) >= episode; };
  const auto say_here = [&] {
    if (!here) worker.arrived.store(episode, std::memory_order_release);  // our tasks and marks
    here = true;
  };
  // A thread that has made tasks says so first, for others wait for it. One that comes for others' tasks says so when
  // it finds none: a thread that steals waits for its own stores, this one goes to a line that others are reading, and
  // nothing is over before the task is.
  if (position.marked == episode) say_here();
  const auto done = [&] {
    say_here();
    if (is_released()) return true;
    libgomps = is_libgomps();
    if (libgomps) return true;
    if (!is_over(*team, position.thread, threads, episode, &come)) return false;
    libgomps = is_libgomps();  // not to be answered before: a task marks before it has finished
    // Release: all that we know the others have done. Every thread that comes to write it here writes the same.
    if (!libgomps) team->released.store(episode, std::memory_order_release);
    return true;
  };
  for (uint32_t turns = 0;;) {
    if (Task* const task = find_task(*team, position, [](const Task&) { return true; })) {
      // One of those who are ahead, made after the barrier, would mark our next one as if it was this one.
      if (is_released()) {
        offer_task(*team, worker, task);
        break;
      }
      run_task(*team, position, task);
      turns = 0;
    } else if (done()) {  // only now: the tasks in our deque must not wait for us while we are in libgomp's barrier
      break;
    } else {
      wait_idly(*team, position, turns++, kForAnything, done);
    }
  }
  wake_workers(*team, *position.barrier);
  return libgomps;
}

}  // namespace

void mark_drained_anew(Position& position, Worker& worker, const Task* task) {
  const uint64_t episode = position.epoch + 1;
  if (worker.led == 0 && is_real(*position.real_epoch, episode)) {
    note_marked(position);
    return;
  }
  // Relaxed: hints.
  position.region->marked_by.store(&worker, std::memory_order_relaxed);
  position.region->marked_for.store(task, std::memory_order_relaxed);
  position.region->marked_at.store(worker.deque.next_place(), std::memory_order_relaxed);
  const uint64_t guess = std::exchange(worker.led, 0);
  if (!mark_next(position, guess)) return;
  worker.led = episode;
  position.barrier->wake_all();
  if (HotTeam* hot = position_region(position).hot; hot && hot->active) hot->fork->wake_all();
}

void mark_for_libgomp(Position& position) {
  auto& region = *static_cast<Region*>(position.region);
  if (!smelt_gomp_own_tasks || !is_eligible(position) || !mark(region.libgomp_epoch, position.epoch + 1)) return;
  if (TaskTeam* const team = team_of(position)) wake_workers(*team, *position.barrier);
}

bool end_episode(Position& position) {
  const bool libgomps = !smelt_gomp_own_tasks || !is_eligible(position) || position.assumed != 0 || drain(position);
  if (libgomps) {
    const InLibgomp inside(position);
    REAL(GOMP_barrier)();
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
    // The others may be in libgomp's join already. This thread runs the tasks that it has: those that it made, but for
    // those that others still take, and the one that it may have brought along from a barrier (drain()).
    TaskTeam* const team = position.barrier ? team_of(position) : nullptr;
    if (!team) return;
    if (position.task) settle_all(*team, position, &team->workers[position.thread].implicit);
    run_own(*team, position);
    if (position.thread == 0) ++position_region(position).generation;  // the next end is a barrier
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

}  // namespace smelt::gomp
