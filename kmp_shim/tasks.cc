// libomp's entry points that make tasks: the barrier is marked (tasks.h), then they run as they are.
//
// A task that may wait for a thread begins in an alloc here. Those that GCC's names make (GOMP_task, GOMP_taskloop)
// begin inside libomp and come by in __kmpc_omp_task, __kmpc_omp_task_with_deps or __kmpc_taskloop, before anybody else
// can see them.
#include "tasks.h"

#include "libomp.h"
#include "openmp/callers.h"

using namespace smelt::kmp;

namespace {

template <class Function, class... Arguments>
[[gnu::noinline]] auto mark_and_call(Function*, void*& slot, const void* caller, Arguments... arguments) {
  before_task();
  return reinterpret_cast<Function*>(smelt::openmp::meant(slot, caller))(arguments...);
}

}  // namespace

// What is usual is asked first, and needs no register saved: the barrier is marked, and the caller known as ours.
#define HAND_ON(name, ...)                                                                              \
  if (!position.unmarked && smelt_real_##name && is_known_ours(__builtin_return_address(0))) [[likely]] \
    return REAL(name)(__VA_ARGS__);                                                                     \
  return mark_and_call(&::name, smelt_real_##name, __builtin_return_address(0), __VA_ARGS__)

extern "C" {

void* __kmpc_omp_task_alloc(KmpIdent* where, KmpThread gtid, int32_t flags, size_t task, size_t shareds,
                            KmpTaskEntry entry) {
  HAND_ON(__kmpc_omp_task_alloc, where, gtid, flags, task, shareds, entry);
}

void* __kmpc_omp_target_task_alloc(KmpIdent* where, KmpThread gtid, int32_t flags, size_t task, size_t shareds,
                                   KmpTaskEntry entry, int64_t device) {
  HAND_ON(__kmpc_omp_target_task_alloc, where, gtid, flags, task, shareds, entry, device);
}

int32_t __kmpc_omp_task(KmpIdent* where, KmpThread gtid, void* task) { HAND_ON(__kmpc_omp_task, where, gtid, task); }

int32_t __kmpc_omp_task_with_deps(KmpIdent* where, KmpThread gtid, void* task, int32_t count, void* list,
                                  int32_t noalias_count, void* noalias_list) {
  HAND_ON(__kmpc_omp_task_with_deps, where, gtid, task, count, list, noalias_count, noalias_list);
}

void __kmpc_taskloop(KmpIdent* where, KmpThread gtid, void* task, int32_t if_value, uint64_t* lower, uint64_t* upper,
                     int64_t stride, int32_t nogroup, int32_t schedule, uint64_t grain, void* duplicate) {
  HAND_ON(__kmpc_taskloop, where, gtid, task, if_value, lower, upper, stride, nogroup, schedule, grain, duplicate);
}

}  // extern "C"
