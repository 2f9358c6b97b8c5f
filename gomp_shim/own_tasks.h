// Tasks by work stealing, unless SMELT_OPENMP=-tasks.
//
// libgomp keeps all tasks of a team behind one lock, and wakes a sleeper by a system call for nearly every one. Here
// each thread has a deque (openmp/deque.h) of the tasks that it made; a waiting thread takes its own newest, or steals
// another's oldest. Work stealing: Blumofe and Leiserson, J. ACM 46(5), 1999.
//
// Queueing, waiting and stealing are ours. The body of every task runs inside a genuine undeferred task of libgomp's
// (GOMP_task with a false if clause). So its settings, omp_in_final, the owner of nest locks, regions inside, and
// libgomp's own tasks made by it are right without our knowing how.
//
//   GOMP_task            untied, final and mergeable ones; at once if `if(0)`, or when 64 of this thread's are waiting
//   ... with depend      waits in lists of its siblings (openmp/dependences.h), and is put into the deque of the
//                        thread that runs the last of them; undeferred: waits on the spot
//   GOMP_taskloop        ranges of tasks, of which a thief gets half: task_loops.cc
//   GOMP_taskwait        runs and steals descendants of the waiting task only: a stranger on top of a suspended task
//                        might wait for what lies below it
//   GOMP_taskgroup_*     counted in a TaskGroup
//   barriers             see below
//   the end of a region  the same: the hot team's join; else a barrier of ours, and libgomp's join
//
// At once is a jump to libgomp (stubs_<isa>.S), which we see neither begin nor end, so that it costs what it costs
// there; most often it is a leaf of a recursion. When such a task makes one that is not run at once, or opens a
// taskgroup, it is adopted: gets a Task, between that and its parent's. Whether the thread is in such a body tells
// shell.h: libgomp's current task is another than when the body of Position::task began. That an adopted one is over is
// noticed at the next call in another body (settle()); till then its thread's undeferred tasks come by
// (Position::unseen), for the next one might lie in the same place. So they do in a taskgroup, as one that makes tasks
// of libgomp's must end after them.
//
// Barriers. Making a task marks the maker's next one, as openmp/episodes.h has it: then nobody leaves it by the plain
// barrier. If the task is libgomp's, libgomp_epoch is marked before that. So barrier e is ended in one of three ways,
// the same for all its threads:
//   nobody marked e      the plain barrier
//   tasks of ours alone  every thread runs and steals all tasks that it finds. At once where it has made some, and else
//                        when it first finds none, it says that it has arrived; and it goes on until `released` is e.
//                        Any idle thread releases once all have arrived and as many tasks have finished, which is read
//                        first, as were created: then every task has run, and there is nobody left to make one
//                        (is_over). Whether libgomp_epoch is e is asked after that: a thread that marks it has not
//                        arrived, or is in a task that has not finished
//   libgomp_epoch is e   a thread that sees it enters libgomp's barrier, with its own deque empty. That alone makes it
//                        right: a task that is still running keeps its thread from that barrier, and the tasks that it
//                        makes lie in that thread's deque. Nobody has been released or will be
// The model: tests/model_check/quiet.pml.
//
// Left to libgomp whole: (a) detach, priority where OMP_MAX_TASK_PRIORITY makes it count, depend on omp_all_memory,
// mutexinoutset, inoutset or omp_depend_t, target tasks; (b) tasks with reductions, of groups, task loops and
// worksharing constructs; (c) teams of one; (d) tasks made between barriers of which eight in a row were libgomp's
// (openmp/episodes.h); (e) tasks made after a setting (omp_set_...) was changed in the region, because tasks inherit it
// from their maker (those that wait then get the setting from before). The thread that has made such a task makes no
// task of ours until its next barrier, and tasks made inside a body that libgomp runs are libgomp's. A taskgroup in
// which it does so is opened at libgomp, too, and those that it opens after that are libgomp's alone; a task of ours in
// a group that makes some ends when they have. Before it makes one, those of ours that have dependences and the same
// parent have ended: so no dependence ever is between one of libgomp's and one of ours.
//
// The end of a region that libgomp joins is a barrier of ours before that, so that those who come early help: in a
// master's first regions, and where tasks were made before (expects_tasks()). In other regions the threads that have
// made tasks run them.
//
// More threads than CPUs: a thread with nothing to do sleeps after 60 polls, because another one may be waiting for its
// CPU.
//
// Children are counted without atomics as long as they end on the thread that runs their parent: Task::made and ended
// are that thread's; ends elsewhere are subtracted from Task::others. A parent that ends before its children adds the
// number of open ones to `others`; then the thread that brings that to 0 frees it. It also holds its own parent's
// memory for that long, so that a thief can follow the chain of parents of every waiting task.
#pragma once

#include "region.h"

// Are tasks ours in this process?
extern "C" bool smelt_gomp_own_tasks __attribute__((visibility("hidden")));

namespace smelt::gomp {

// The program's function is over in a region that libgomp joins. `drains`: the answer of expects_tasks() at its
// beginning.
void end_region(Position& position, bool drains);

// May tasks of ours wait at the end of a region that libgomp joins? The master asks.
bool expects_tasks(const Region& region);

// The calling thread is about to make tasks that are libgomp's.
void leave_tasks_to_libgomp(Position& position);

// ... and its next barrier, and that of all others, is libgomp's.
void mark_for_libgomp(Position& position);

// The barrier of episode position.epoch + 1, which is marked. True: libgomp has served it; false: all its tasks were
// ours, and have run.
bool end_episode(Position& position);

// Does the calling thread run the body of an explicit task, and not the region's own? We need not know of libgomp's
// tasks: they are marked.
bool is_explicit(const Position& position);

// Must the calling thread's tasks be looked at till its next barrier, since they may be ours or concern what is ours?
bool needs_look(const Position& position);

// While resolving: says whether tasks are ours in this process.
void start_tasks();

// The calling thread is about to change a setting: the region's tasks that wait have what was inherited till now, and
// those made from now on are libgomp's.
void note_settings(Position& position);

void free_tasks(Region& region);

// The child of a fork calls it: tasks of before are not run.
void forget_tasks(Region& region);

}  // namespace smelt::gomp
