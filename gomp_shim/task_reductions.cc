// Reductions of tasks: taskgroup task_reduction, taskloop reduction, and the in_reduction of tasks inside.
//
// The compiler lists the variables of a construct in an array and registers that with the taskgroup. libgomp then
// allocates a copy of all of them for each thread of the team, and a task asks for its thread's (the remap). After the
// group the compiler's code adds the copies up. So the copies belong to threads, and not to tasks: a task of ours
// needs the array of its group, and the number of the thread that runs it.
//
// A group of ours with reductions is opened at libgomp, too, where they are registered: it has the copies allocated,
// and the tasks that libgomp itself makes in the group find them. A task of ours, which may run where libgomp knows of
// no such group, looks through the groups that it is in, the innermost first: for an address that is a registered
// variable's, or lies in somebody's copy, for a task may pass on what it got. One of libgomp's that was made in a task
// of ours finds neither; it looks through all groups with reductions that the region has now. Addresses tell them
// apart, because a variable is registered with one group at a time, or, where groups are nested, as the copy that the
// outer one gave.
//
// The layout of the array is between GCC's compiler and libgomp, the same since GCC 9 (gomp_reduction_register() and
// GOMP_task_reduction_remap() in libgomp/task.c): how many variables, the bytes of one thread's copies, the address of
// all, ..., [4] the next array of the construct; from [7] on three words a variable: address, offset in a thread's
// copies, libgomp's own.
#include "openmp/callers.h"
#include "own_tasks.h"
#include "real.h"
#include "task_entries.h"
#include "task_pool.h"
#include "tasks.h"

namespace smelt::gomp {
namespace {

enum : uint32_t { kVariables, kBytes, kCopies, kNext = 4, kFirst = 7, kWords = 3 };

// A variable's copy of the calling thread.
struct Copy {
  uintptr_t at, original;
};

const uintptr_t* next_of(const uintptr_t* array) { return reinterpret_cast<const uintptr_t*>(array[kNext]); }

// Both lie within one array of a construct. `original` is 0 where the address is inside a variable.
bool find_in(const uintptr_t* array, uintptr_t address, const Position& position, Copy& copy) {
  const uintptr_t bytes = array[kBytes], mine = array[kCopies] + position.thread * bytes;
  const uintptr_t* const end = array + kFirst + kWords * array[kVariables];
  for (const uintptr_t* variable = array + kFirst; variable < end; variable += kWords) {
    if (variable[0] == address) return copy = {mine + variable[1], address}, true;
  }
  if (address - array[kCopies] >= bytes * position.barrier->participants()) return false;
  const uintptr_t offset = (address - array[kCopies]) % bytes;
  copy = {mine + offset, 0};
  for (const uintptr_t* variable = array + kFirst; variable < end; variable += kWords) {
    if (variable[1] == offset) copy.original = variable[0];
  }
  return true;
}

bool find_in(const TaskGroup& group, uintptr_t address, const Position& position, Copy& copy) {
  const uintptr_t* array = group.reductions;
  for (uint32_t i = 0; i < group.arrays; ++i, array = next_of(array)) {
    if (find_in(array, address, position, copy)) return true;
  }
  return false;
}

// It holds the region's groups with reductions; a thread waits for another that is looking, and they are few.
class Reducing {
 public:
  explicit Reducing(TaskTeam& team) : team_(team) {
    // Acquire: what the thread before us has put in or taken out.
    while (team_.reducing_locked.exchange(true, std::memory_order_acquire)) os::yield_cpu();
  }
  ~Reducing() { team_.reducing_locked.store(false, std::memory_order_release); }  // pairs with it
  Reducing(const Reducing&) = delete;
  Reducing& operator=(const Reducing&) = delete;

  void add(TaskGroup& group) {
    group.other = team_.reducing.load(std::memory_order_relaxed);
    team_.reducing.store(&group, std::memory_order_relaxed);
  }
  void remove(const TaskGroup& group) {
    TaskGroup* const first = team_.reducing.load(std::memory_order_relaxed);
    if (first == &group) return team_.reducing.store(group.other, std::memory_order_relaxed);
    for (TaskGroup* before = first; before; before = before->other) {
      if (before->other == &group) before->other = group.other;
    }
  }
  bool find(uintptr_t address, const Position& position, Copy& copy) const {
    for (const TaskGroup* at = team_.reducing.load(std::memory_order_relaxed); at; at = at->other) {
      if (find_in(*at, address, position, copy)) return true;
    }
    return false;
  }

 private:
  TaskTeam& team_;
};

bool find_copy(const Position& position, uintptr_t address, Copy& copy) {
  for (const TaskGroup* group = position.task ? position.task->group : nullptr; group; group = group->outer) {
    if (find_in(*group, address, position, copy)) return true;
  }
  TaskTeam* const team = team_of(position);
  // Relaxed: a task that wants a copy was made after its group was put in.
  return team && team->reducing.load(std::memory_order_relaxed) && Reducing(*team).find(address, position, copy);
}

}  // namespace

bool add_reductions(Position& position, uintptr_t* arrays) {
  if (!settle(position)) return false;
  TaskGroup* const group = position.task->group;
  if (!group || group->owner != position.task || group->arrays != 0) return false;
  uint32_t count = 0;  // before libgomp puts the outer groups' behind them
  for (const uintptr_t* array = arrays; array; array = next_of(array)) ++count;
  if (!group->opened) REAL(GOMP_taskgroup_start)();
  group->opened = true;
  REAL(GOMP_taskgroup_reduction_register)(arrays);
  group->reductions = arrays;
  group->arrays = count;
  Reducing(*team_of(position)).add(*group);
  return true;
}

void end_reductions(Position& position) { Reducing(*team_of(position)).remove(*position.task->group); }

}  // namespace smelt::gomp

using namespace smelt::gomp;

extern "C" {

void GOMP_taskgroup_reduction_register(uintptr_t* arrays) {
  Position& position = smelt_gomp_position;
  if (makes_own(position, __builtin_return_address(0)) && add_reductions(position, arrays)) return;
  smelt_gomp_leave();
  STOCK(GOMP_taskgroup_reduction_register)(arrays);
}

// `addresses`: of `count` variables, in whose place the calling thread's copies are written; behind them there is room
// for the first `originals` variables themselves.
void GOMP_task_reduction_remap(size_t count, size_t originals, void** addresses) {
  Position& position = smelt_gomp_position;
  const void* const caller = __builtin_return_address(0);
  if (!smelt_gomp_own_tasks || !served(position, caller) || !is_eligible(position))
    return STOCK(GOMP_task_reduction_remap)(count, originals, addresses);
  for (size_t i = 0; i < count; ++i) {
    const bool wants_original = i < originals;
    Copy copy;
    if (find_copy(position, reinterpret_cast<uintptr_t>(addresses[i]), copy) && (copy.original || !wants_original)) {
      addresses[i] = reinterpret_cast<void*>(copy.at);
      if (wants_original) addresses[count + i] = reinterpret_cast<void*>(copy.original);
      continue;
    }
    // The reduction is libgomp's: of the region itself, or of a loop.
    void* one[] = {addresses[i], nullptr};
    REAL(GOMP_task_reduction_remap)(1, wants_original, one);
    addresses[i] = one[0];
    if (wants_original) addresses[count + i] = one[1];
  }
}

}  // extern "C"
