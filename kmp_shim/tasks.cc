// libomp's entry points that make tasks: the barrier is marked (tasks.h), then they run as they are.
//
// A task that may wait for a thread begins in an alloc here. Those that GCC's names make (GOMP_task, GOMP_taskloop)
// begin inside libomp and come by in __kmpc_omp_task, __kmpc_omp_task_with_deps or __kmpc_taskloop, before anybody else
// can see them.
#include "tasks.h"

#include "hot_team.h"
#include "libomp.h"
#include "openmp/callers.h"

using namespace smelt::kmp;

// The unusual case: the barrier is not marked yet, or it is not known yet whom the caller means. In assembly
// (stubs.S), for the call must end in a jump, with the arguments as they came: an OMPT tool is told where it
// returns to, and that must be the program (tests/kmp_shim/tool.c).
#define LONG_WAY(name) extern "C" [[gnu::visibility("hidden")]] decltype(name) smelt_kmp_long_way_##name
LONG_WAY(__kmpc_omp_task_alloc);
LONG_WAY(__kmpc_omp_target_task_alloc);
LONG_WAY(__kmpc_omp_task);
LONG_WAY(__kmpc_omp_task_with_deps);
LONG_WAY(__kmpc_taskloop);

// Called by it: answers with the function to go on to.
extern "C" [[gnu::visibility("hidden")]] void* smelt_kmp_mark_and_find(void*& slot, const void* caller) {
  before_task();
  return smelt::openmp::meant(slot, caller);
}

SHORTCUT(__kmpc_omp_task_alloc);
SHORTCUT(__kmpc_omp_task);

// The usual case is asked first, and needs no register saved. Relaxed: the slot holds a code address.
#define HAND_ON(name, ...)                                                                  \
  void* const usual = __atomic_load_n(&smelt_real_##name, __ATOMIC_RELAXED);                \
  if (usual && !position.unmarked && is_known_ours(__builtin_return_address(0))) [[likely]] \
    return reinterpret_cast<decltype(&::name)>(usual)(__VA_ARGS__);                         \
  return smelt_kmp_long_way_##name(__VA_ARGS__)

namespace {
// Relaxed: what it is for happens in this thread.
void note_background() { __atomic_store_n(&smelt_kmp_background, 1, __ATOMIC_RELAXED); }
}  // namespace

extern "C" {

void* __kmpc_omp_task_alloc(KmpIdent* where, KmpThread gtid, int32_t flags, size_t task, size_t shareds,
                            KmpTaskEntry entry) {
  if (!(flags & kTaskInBackground) && !position.unmarked) [[likely]]
    return BY_SHORTCUT(__kmpc_omp_task_alloc)(where, gtid, flags, task, shareds, entry);
  return smelt_kmp_long___kmpc_omp_task_alloc(where, gtid, flags, task, shareds, entry);
}

void* smelt_kmp_long___kmpc_omp_task_alloc(KmpIdent* where, KmpThread gtid, int32_t flags, size_t task, size_t shareds,
                                           KmpTaskEntry entry) {
  if (flags & kTaskInBackground) note_background();
  leave_for(gtid);
  HAND_ON(__kmpc_omp_task_alloc, where, known_as(gtid), flags, task, shareds, entry);
}

void* __kmpc_omp_target_task_alloc(KmpIdent* where, KmpThread gtid, int32_t flags, size_t task, size_t shareds,
                                   KmpTaskEntry entry, int64_t device) {
  note_background();
  leave_for(gtid);
  HAND_ON(__kmpc_omp_target_task_alloc, where, known_as(gtid), flags, task, shareds, entry, device);
}

int32_t __kmpc_omp_task(KmpIdent* where, KmpThread gtid, void* task) {
  if (!position.unmarked) [[likely]]
    return BY_SHORTCUT(__kmpc_omp_task)(where, gtid, task);
  return smelt_kmp_long___kmpc_omp_task(where, gtid, task);
}

int32_t smelt_kmp_long___kmpc_omp_task(KmpIdent* where, KmpThread gtid, void* task) {
  leave_for(gtid);
  HAND_ON(__kmpc_omp_task, where, known_as(gtid), task);
}

int32_t __kmpc_omp_task_with_deps(KmpIdent* where, KmpThread gtid, void* task, int32_t count, void* list,
                                  int32_t noalias_count, void* noalias_list) {
  leave_for(gtid);
  if (smelt_kmp_hot) [[unlikely]]
    spoil_hot();  // libomp keeps the addresses with the implicit task
  HAND_ON(__kmpc_omp_task_with_deps, where, known_as(gtid), task, count, list, noalias_count, noalias_list);
}

void __kmpc_taskloop(KmpIdent* where, KmpThread gtid, void* task, int32_t if_value, uint64_t* lower, uint64_t* upper,
                     int64_t stride, int32_t nogroup, int32_t schedule, uint64_t grain, void* duplicate) {
  leave_for(gtid);
  HAND_ON(__kmpc_taskloop, where, known_as(gtid), task, if_value, lower, upper, stride, nogroup, schedule, grain,
          duplicate);
}

}  // extern "C"
