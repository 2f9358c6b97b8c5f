// libomp's entry points that make tasks: the barrier is marked (tasks.h), then they run as they are.
//
// A task that may wait for a thread begins in an alloc here. Those that GCC's names make (GOMP_task, GOMP_taskloop)
// begin inside libomp and come by in __kmpc_omp_task, __kmpc_omp_task_with_deps or __kmpc_taskloop, before anybody else
// can see them.
#include "tasks.h"

#include "libomp.h"
#include "openmp/callers.h"

using namespace smelt::kmp;

extern "C" {

void* __kmpc_omp_task_alloc(KmpIdent* where, KmpThread gtid, int32_t flags, size_t task, size_t shareds,
                            KmpTaskEntry entry) {
  before_task();
  return STOCK(__kmpc_omp_task_alloc)(where, gtid, flags, task, shareds, entry);
}

void* __kmpc_omp_target_task_alloc(KmpIdent* where, KmpThread gtid, int32_t flags, size_t task, size_t shareds,
                                   KmpTaskEntry entry, int64_t device) {
  before_task();
  return STOCK(__kmpc_omp_target_task_alloc)(where, gtid, flags, task, shareds, entry, device);
}

int32_t __kmpc_omp_task(KmpIdent* where, KmpThread gtid, void* task) {
  before_task();
  return STOCK(__kmpc_omp_task)(where, gtid, task);
}

int32_t __kmpc_omp_task_with_deps(KmpIdent* where, KmpThread gtid, void* task, int32_t count, void* list,
                                  int32_t noalias_count, void* noalias_list) {
  before_task();
  return STOCK(__kmpc_omp_task_with_deps)(where, gtid, task, count, list, noalias_count, noalias_list);
}

void __kmpc_taskloop(KmpIdent* where, KmpThread gtid, void* task, int32_t if_value, uint64_t* lower, uint64_t* upper,
                     int64_t stride, int32_t nogroup, int32_t schedule, uint64_t grain, void* duplicate) {
  before_task();
  STOCK(__kmpc_taskloop)(where, gtid, task, if_value, lower, upper, stride, nogroup, schedule, grain, duplicate);
}

}  // extern "C"
