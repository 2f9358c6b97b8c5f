// libomp's entry points as far as the shim takes or calls them (LLVM's kmp.h and omp.h; the signatures are ABI).
#pragma once

#include <cstddef>
#include <cstdint>

#include "openmp/omp.h"

// Visible, against the shim's default: those that we define are the ones we interpose.
#pragma GCC visibility push(default)
extern "C" {

struct KmpIdent {  // where in the source
  int32_t reserved;
  int32_t flags;
  int32_t reserved_too, reserved_still;
  const char* source;
};
// A loop's schedule: one of these, and what it may be changed by. Simd: chunks are multiples of the one that is named.
inline constexpr int32_t kScheduleDynamic = 35, kScheduleGuided = 36, kScheduleAuto = 38, kScheduleGuidedSimd = 46;
inline constexpr int32_t kScheduleMonotonic = 1 << 29, kScheduleNonmonotonic = 1 << 30;
inline constexpr int32_t kIdentKmpc = 0x02;
inline constexpr int32_t kIdentAtomicReduce = 0x10;  // the compiler has made code with atomics for this reduction
// These flags of a task mean: a proxy for something elsewhere, detachable, for a hidden helper thread.
inline constexpr int32_t kTaskInBackground = 0x10 | 0x40 | 0x80;
using KmpCombine = void (*)(void* into, void* from);
using KmpCriticalName = int32_t[8];

using KmpThread = int32_t;
using KmpMicrotask = void (*)(KmpThread* gtid, KmpThread* tid, ...);
using KmpTaskEntry = int32_t (*)(KmpThread, void*);

void __kmpc_fork_call(KmpIdent*, int32_t argc, KmpMicrotask, ...);
void __kmpc_fork_teams(KmpIdent*, int32_t argc, KmpMicrotask, ...);
void __kmpc_fork_call_if(KmpIdent*, int32_t argc, KmpMicrotask, int32_t condition, void* argument);
void __kmpc_push_num_threads(KmpIdent*, KmpThread, int32_t threads);
void __kmpc_push_num_threads_strict(KmpIdent*, KmpThread, int32_t threads, int32_t severity, const char* message);
void __kmpc_push_num_threads_list(KmpIdent*, KmpThread, uint32_t count, int32_t* threads);
void __kmpc_push_num_threads_list_strict(KmpIdent*, KmpThread, uint32_t count, int32_t* threads, int32_t severity,
                                         const char* message);
void __kmpc_push_proc_bind(KmpIdent*, KmpThread, int32_t binding);
void __kmpc_serialized_parallel(KmpIdent*, KmpThread);
void __kmpc_end_serialized_parallel(KmpIdent*, KmpThread);
KmpThread __kmpc_global_thread_num(KmpIdent*);
uint64_t __kmpc_get_parent_taskid(void);
void* __kmpc_threadprivate(KmpIdent*, KmpThread, void* data, size_t bytes);
void* __kmpc_threadprivate_cached(KmpIdent*, KmpThread, void* data, size_t bytes, void*** cache);

void __kmpc_barrier(KmpIdent*, KmpThread);
void __kmpc_copyprivate(KmpIdent*, KmpThread, size_t bytes, void* data, void (*copy)(void*, void*), int32_t didit);
void* __kmpc_copyprivate_light(KmpIdent*, KmpThread, void* data);

int32_t __kmpc_reduce(KmpIdent*, KmpThread, int32_t count, size_t bytes, void* data, KmpCombine, KmpCriticalName*);
void __kmpc_end_reduce(KmpIdent*, KmpThread, KmpCriticalName*);

// Loops of all schedules but static; bounds are inclusive. 0: there is no chunk left.
// NOLINTBEGIN(bugprone-macro-parentheses): types.
#define LOOP_OF(suffix, number, difference)                                                              \
  void __kmpc_dispatch_init_##suffix(KmpIdent*, KmpThread, int32_t schedule, number lower, number upper, \
                                     difference step, difference chunk);                                 \
  int __kmpc_dispatch_next_##suffix(KmpIdent*, KmpThread, int32_t* last, number* lower, number* upper, difference* step)
LOOP_OF(4, int32_t, int32_t);
LOOP_OF(4u, uint32_t, int32_t);
LOOP_OF(8, int64_t, int64_t);
LOOP_OF(8u, uint64_t, int64_t);
#undef LOOP_OF
// NOLINTEND(bugprone-macro-parentheses)

void* __kmpc_omp_task_alloc(KmpIdent*, KmpThread, int32_t flags, size_t task, size_t shareds, KmpTaskEntry);
void* __kmpc_omp_target_task_alloc(KmpIdent*, KmpThread, int32_t flags, size_t task, size_t shareds, KmpTaskEntry,
                                   int64_t device);
int32_t __kmpc_omp_task(KmpIdent*, KmpThread, void* task);
int32_t __kmpc_omp_task_with_deps(KmpIdent*, KmpThread, void* task, int32_t count, void* list, int32_t noalias_count,
                                  void* noalias_list);
void __kmpc_taskloop(KmpIdent*, KmpThread, void* task, int32_t if_value, uint64_t* lower, uint64_t* upper,
                     int64_t stride, int32_t nogroup, int32_t schedule, uint64_t grain, void* duplicate);

int omp_get_num_procs_(void);
void* omp_get_default_allocator(void);
void omp_set_num_threads_(const int* threads);
void omp_set_default_allocator(void* allocator);
void omp_set_nest_lock(void* lock);
void omp_set_nest_lock_(void* lock);
void omp_unset_nest_lock(void* lock);
void omp_unset_nest_lock_(void* lock);
int omp_test_nest_lock(void* lock);
int omp_test_nest_lock_(void* lock);
int kmp_get_num_known_threads(void);
// Fortran's are by value in libomp, too. For another runtime the word is an address.
inline constexpr intptr_t kPauseHard = 2;
int omp_pause_resource(int kind, int device);
int omp_pause_resource_(intptr_t kind, intptr_t device);
int omp_pause_resource_all(int kind);
int omp_pause_resource_all_(intptr_t kind);
int __kmpc_pause_resource(int kind, int device);
int kmp_get_blocktime(void);
void kmp_set_blocktime(int time);
void kmp_set_blocktime_(const int* time);
void kmpc_set_blocktime(int time);
}
#pragma GCC visibility pop
