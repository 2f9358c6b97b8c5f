// Tasks by work stealing, taken where SMELT_TASKS=1.
//
// libgomp keeps all tasks of a team behind one lock, and wakes a sleeper by a system call for nearly every one. Here
// each thread has a deque (openmp/deque.h) of the tasks that it made; whoever waits takes its newest, or steals
// another's oldest. Work stealing: Blumofe and Leiserson, J. ACM 46(5), 1999.
//
// Queueing, waiting and stealing are ours; the body of every task runs inside a genuine undeferred task of libgomp's
// (GOMP_task with a false if clause), so that its settings, omp_in_final, the owner of nest locks, regions inside, and
// libgomp's own tasks made by it are right without our knowing how.
//
//   GOMP_task            untied, final and mergeable ones; at once if `if(0)`, or when 64 of this thread's are waiting.
//                        What `if(0)` says, most often near the leaves of a recursion, gets a Task only when it makes
//                        tasks or opens a taskgroup (Position::bare)
//   ... with depend      waits in lists of its siblings (openmp/dependences.h), and is put into the deque of whoever
//                        runs the last of them; undeferred: waits on the spot
//   GOMP_taskwait        runs and steals descendants of the waiting task only: a stranger on top of a suspended task
//                        might wait for what lies below it
//   GOMP_taskgroup_*     counted in a Group
//   barriers             see below
//   the end of a region  the same: the hot team's join; else a barrier of ours, and libgomp's join
//
// Barriers. Making a task marks the maker's next one, as openmp/episodes.h has it: then nobody leaves it by the plain
// barrier. If the task is libgomp's, libgomp_epoch is marked before that. So barrier e is ended in one of three ways,
// the same for all its threads:
//   nobody marked e      the plain barrier
//   tasks of ours alone  everybody says that he has arrived, and runs and steals whatever there is until `released` is
//                        e. Any idle thread releases once all have arrived and as many tasks have finished, which is
//                        read first, as were created: then every task has run, and there is nobody left to make one
//                        (is_over). Whether libgomp_epoch is e is asked after that: who marks it has not arrived, or is
//                        in a task that has not finished
//   libgomp_epoch is e   whoever sees it enters libgomp's barrier, with its own deque empty. That alone makes it right:
//                        a task that is still running keeps its thread from that barrier, and what it makes lies in
//                        that thread's deque. Nobody has been released or will be
// The model: tests/model_check/quiet.pml.
//
// Left to libgomp whole: detach, priority where OMP_MAX_TASK_PRIORITY makes it count, depend on omp_all_memory,
// taskloops, target tasks; task reductions, in a taskgroup of libgomp's own (it keeps the private copies, by thread,
// under that group); teams of one; what is made after a setting (omp_set_...) was changed in the region, for tasks
// inherit it from their maker (those that wait then get what all had before). The thread that has made such a task
// makes no other until its next barrier, and what is made inside a body that libgomp runs is libgomp's. A taskgroup
// with such tasks is opened at libgomp, too; a task of ours in a group that makes some ends when they have. Before it
// makes one, those of ours that have dependences and the same parent have ended: so no dependence ever is between one
// of libgomp's and one of ours.
//
// More threads than CPUs: who has nothing to do sleeps after 60 polls, for somebody may be waiting for its CPU.
//
// Children are counted without atomics as long as they end on the thread that runs their parent: Task::made and ended
// are that thread's; ends elsewhere are subtracted from Task::others. A parent that ends before its children adds what
// is open to `others`; then whoever brings that to 0 frees it. It also holds its own parent's memory for that long, so
// that a thief can follow the chain of parents of every waiting task.
#pragma once

#include "region.h"

namespace smelt::gomp {

// The program's function is over in a region that libgomp joins.
void end_region(Position& position);

// The calling thread is about to make tasks that are libgomp's.
void leave_tasks_to_libgomp(Position& position);

// ... and its next barrier, and that of all others, is libgomp's.
void mark_for_libgomp(Position& position);

// The barrier of episode position.epoch + 1, which is marked. True: libgomp has served it; false: all its tasks were
// ours, and have run.
bool end_episode(Position& position);

// Does the calling thread run the body of an explicit task that we know of, and not the region's own?
bool is_explicit(const Position& position);

// The calling thread is about to change a setting: the region's tasks that wait have what was inherited till now, and
// those made from now on are libgomp's.
void note_settings(Position& position);

void free_tasks(Region& region);

// In the child of a fork: tasks of before are not run.
void forget_tasks(Region& region);

}  // namespace smelt::gomp
