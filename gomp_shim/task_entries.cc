// Making tasks (own_tasks.h): GOMP_task, and what it does for other entry points. Waiting for them: task_waits.cc.
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/options.h"
#include "hot_team.h"
#include "openmp/callers.h"
#include "openmp/episodes.h"
#include "own_tasks.h"
#include "real.h"
#include "task_barrier.h"
#include "task_entries.h"
#include "task_pool.h"
#include "tasks.h"

namespace smelt::gomp {
namespace {

// These flags change nothing for us. A priority counts only where OMP_MAX_TASK_PRIORITY says so.
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
    task->data = reinterpret_cast<void*>(aligned(reinterpret_cast<uintptr_t>(task->large), align));
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
  if (TaskGroup* const group = parent->group) {
    if (group->runner == me)
      ++group->made;
    else
      group->others.fetch_add(1, std::memory_order_relaxed);  // our own end comes after it
  }
}

// A deferred task is there.
void count_created(Worker& worker) {
  // Relaxed: nobody else writes it, and it is published by the deque or by whatever we publish next.
  worker.deque.made.store(++worker.created, std::memory_order_relaxed);
}

// GOMP_task's list: {n, outs, addresses}, the outs first. False: some are not to be had here. These are omp_all_memory,
// which is no address, and all lists that begin with 0: they may have mutexinoutset, inoutset and omp_depend_t.
template <typename Each>
bool each_dependence(void** list, Each each) {
  const auto count = reinterpret_cast<uintptr_t>(list[0]), outs = reinterpret_cast<uintptr_t>(list[1]);
  if (count == 0) return false;
  for (uintptr_t i = 0; i < count; ++i) {
    if (!list[2 + i]) return false;
    each(list[2 + i], i < outs ? Access::kOut : Access::kIn);
  }
  return true;
}

}  // namespace

bool is_ours_here(Position& position, const void* caller) {
  return smelt_gomp_own_tasks && served(position, caller) && position.in_libgomp == 0 && is_eligible(position);
}

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
  mark_drained(position, worker, task);
  position.unseen = false;
  return position.task = task;
}

void wait_for_node(TaskTeam& team, Position& position, const DependNode& node) {
  help_until(team, position, *position.task, [&] { return is_closed(node); });
}

bool wait_for_dependences(Position& position, void** list) {
  if (!position.task || !settle(position) || !position.task->children)
    return each_dependence(list, [](void*, Access) {});
  TaskTeam& team = *team_of(position);
  return each_dependence(list, [&](void* address, Access access) {
    position.task->children->wait_for(address, access,
                                      [&](const DependNode& node) { wait_for_node(team, position, node); });
  });
}

namespace {

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
  return team_of(position)->workers[position.thread].deque.holds(kMostWaiting);
}

// False: libgomp's. It is not inlined: an undeferred task, which needs none of this, would pay for its registers.
[[gnu::noinline]] bool make_own(Position& position, const TaskCall& call, bool deferred, unsigned flags,
                                void** depend) {
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
    call.copy(task->data, call.data);  // the compiler's, of arguments that have constructors
  } else if (call.size > 0) {
    std::memcpy(task->data, call.data, static_cast<size_t>(call.size));
  }
  count_task(parent, me);
  count_created(worker);
  mark_drained(position, worker, task);
  if (node) {
    task->node = node;
    node->task = task;
    if (add_dependences(*team, position, *node, depend)) return true;  // the end of the last predecessor offers it
    deferred = !worker.deque.holds(kMostWaiting);
  }
  if (deferred)
    offer_task(*team, worker, task);
  else
    run_task(*team, position, task);
  return true;
}

// Fetches the block of the next task: the thread that ran the last task there has its lines, and nobody waits for them
// now.
inline void prefetch_block(const Worker& worker) {
  if (!worker.free) return;
  const char* const block = reinterpret_cast<const char*>(worker.free);
  for (size_t at = 0; at <= offsetof(Task, room); at += 64) prefetch_to_write(block + at);
}

// A task without dependences, which is not final, and whose arguments have room in a Task; in the body of `parent`.
// False: make_own() knows.
inline bool make_plain(Position& position, Task& parent, const TaskCall& call) {
  TaskTeam& team = *team_of(position);
  const uint32_t me = position.thread;
  Worker& worker = team.workers[me];
  // The first task of an episode: the others have had the last one, and so the lines that a push stores to.
  if (position.marked != position.epoch + 1) worker.deque.prefetch_push();
  if (has_enough(position)) return false;
  Task* const task = new_task(worker, me, &parent, call, 0);
  if (!task) return false;
  if (call.copy)
    call.copy(task->data, call.data);
  else
    copy_arguments(task->room, call.data, call.size);
  count_task(&parent, me);
  // Before the push, whose lines come meanwhile: a thread that leaves a barrier because of the mark takes two transfers
  // to get to the deque, the push one.
  mark_drained(position, worker, task);
  count_created(worker);
  offer_task(team, worker, task);
  prefetch_block(worker);
  return true;
}

}  // namespace

bool is_explicit(const Position& position) {
  return position.task && team_of(position)->workers[position.thread].implicit.shell != shell();
}

bool needs_look(const Position& position) {
  return may_make_own(position) || (position.task && !position.unseen && !is_final(position));
}

void start_tasks() {
  if (REAL(omp_get_max_task_priority)() == 0) plain_flags |= kPriority;
  smelt_gomp_own_tasks = options().tasks && find_shell();
}

}  // namespace smelt::gomp

using namespace smelt::gomp;

bool smelt_gomp_own_tasks = false;

namespace {

void call_libgomp(const MakeCall& c, const void* caller) {
  reinterpret_cast<decltype(&::GOMP_task)>(meant(smelt_real_GOMP_task, caller))(
      c.task.function, c.task.data, c.task.copy, c.task.size, c.task.align, c.deferred, c.flags, c.depend, c.priority,
      c.detach);
}

// Passes the call on where tasks are libgomp's.
void pass_on(const Position& position, const MakeCall& call, const void* caller) {
  if (position.unmarked) smelt_gomp_mark();
  call_libgomp(call, caller);
}

[[gnu::noinline]] void make_any(Position& position, MakeCall& call, const void* caller) {
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
      if (make_own(position, call.task, call.deferred, call.flags, call.depend)) return;
    }
  }
  smelt_gomp_mark();
  const InLibgomp inside(position);
  call_libgomp(call, caller);
}

inline void make(MakeCall call, const void* caller) {
  Position& position = smelt_gomp_position;
  Task* const parent = position.task;
  if (parent && parent->shell == shell() && call.deferred && is_plain(call.flags) &&
      call.task.size <= static_cast<long>(sizeof parent->room) && call.task.align <= static_cast<long>(alignof(Task)) &&
      !position.tasks_are_libgomps && !parent->final && !smelt_openmp_several && !is_changed(position)) [[likely]] {
    if (make_plain(position, *parent, call.task)) return;
  }
  make_any(position, call, caller);
}

}  // namespace

bool smelt::gomp::makes_own(Position& position, const void* caller) {
  return is_ours_here(position, caller) && may_make_own(position) && (position.task || begin_tasks(position));
}

void smelt::gomp::make_task(const MakeCall& call, const void* caller) { make(call, caller); }

extern "C" {

// The function that the stub goes on to.
[[gnu::visibility("hidden")]] decltype(GOMP_task) smelt_gomp_GOMP_task;

// The signature of GCC 12. Callers of before know fewer arguments; the words read in their place are only passed on.
void smelt_gomp_GOMP_task(GompFunction function, void* data, void (*copy)(void*, void*), long size, long align,
                          bool deferred, unsigned flags, void** depend, int priority, void* detach) {
  make({{function, data, copy, size, align}, deferred, flags, depend, priority, detach}, __builtin_return_address(0));
}

}  // extern "C"
