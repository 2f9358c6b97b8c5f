// libgomp's entry points as far as the shim takes or calls them (GCC's libgomp_g.h and omp.h; the signatures are ABI).
#pragma once

#include <cstddef>
#include <cstdint>

#include "openmp/omp.h"

// Visible, against the shim's default: those that we define are the ones we interpose.
#pragma GCC visibility push(default)
extern "C" {

void GOMP_barrier(void);
bool GOMP_barrier_cancel(void);
void GOMP_barrier_ext(int);  // GCC 17: what the barrier belongs to
bool GOMP_barrier_cancel_ext(int);
void GOMP_loop_end(void);
bool GOMP_loop_end_cancel(void);
void GOMP_loop_end_nowait(void);
unsigned GOMP_sections_start(unsigned);
unsigned GOMP_sections_next(void);
void GOMP_sections_end(void);
bool GOMP_sections_end_cancel(void);
void GOMP_sections_end_nowait(void);
using GompUll = unsigned long long;
bool GOMP_loop_nonmonotonic_dynamic_start(long, long, long, long, long*, long*);
bool GOMP_loop_nonmonotonic_dynamic_next(long*, long*);
bool GOMP_loop_ull_nonmonotonic_dynamic_start(bool, GompUll, GompUll, GompUll, GompUll, GompUll*, GompUll*);
bool GOMP_loop_ull_nonmonotonic_dynamic_next(GompUll*, GompUll*);
bool GOMP_loop_nonmonotonic_guided_start(long, long, long, long, long*, long*);
bool GOMP_loop_nonmonotonic_guided_next(long*, long*);
bool GOMP_loop_ull_nonmonotonic_guided_start(bool, GompUll, GompUll, GompUll, GompUll, GompUll*, GompUll*);
bool GOMP_loop_ull_nonmonotonic_guided_next(GompUll*, GompUll*);
bool GOMP_single_start(void);
void GOMP_task(void (*)(void*), void*, void (*)(void*, void*), long, long, bool, unsigned, void**, int, void*);
void GOMP_taskloop(void (*)(void*), void*, void (*)(void*, void*), long, long, unsigned, unsigned long, int, long, long,
                   long);
void GOMP_taskloop_ull(void (*)(void*), void*, void (*)(void*, void*), long, long, unsigned, unsigned long, int,
                       GompUll, GompUll, GompUll);
void GOMP_taskwait(void);
void GOMP_taskwait_depend(void**);
void GOMP_taskgroup_start(void);
void GOMP_taskgroup_end(void);
void GOMP_workshare_task_reduction_unregister(bool);
void GOMP_scope_start_with_end(uintptr_t*);
void* GOMP_single_copy_start(void);
void GOMP_single_copy_end(void*);

using GompFunction = void (*)(void*);

void GOMP_parallel(GompFunction, void*, unsigned, unsigned);
unsigned GOMP_parallel_reductions(GompFunction, void*, unsigned, unsigned);
void GOMP_parallel_sections(GompFunction, void*, unsigned, unsigned, unsigned);
void GOMP_parallel_loop_static(GompFunction, void*, unsigned, long, long, long, long, unsigned);
void GOMP_parallel_loop_dynamic(GompFunction, void*, unsigned, long, long, long, long, unsigned);
void GOMP_parallel_loop_guided(GompFunction, void*, unsigned, long, long, long, long, unsigned);
void GOMP_parallel_loop_nonmonotonic_dynamic(GompFunction, void*, unsigned, long, long, long, long, unsigned);
void GOMP_parallel_loop_nonmonotonic_guided(GompFunction, void*, unsigned, long, long, long, long, unsigned);
void GOMP_parallel_loop_runtime(GompFunction, void*, unsigned, long, long, long, unsigned);
void GOMP_parallel_loop_nonmonotonic_runtime(GompFunction, void*, unsigned, long, long, long, unsigned);
void GOMP_parallel_loop_maybe_nonmonotonic_runtime(GompFunction, void*, unsigned, long, long, long, unsigned);

bool GOMP_loop_start(long, long, long, long, long, long*, long*, uintptr_t*, void**);
void GOMP_teams_reg(GompFunction, void*, unsigned, unsigned, unsigned);
void GOMP_target(int, GompFunction, const void*, size_t, void**, size_t*, unsigned char*);
void GOMP_target_ext(int, GompFunction, size_t, void**, size_t*, unsigned short*, unsigned, void**, void**);

int omp_get_proc_bind(void);
int omp_get_max_task_priority(void);
}
#pragma GCC visibility pop
