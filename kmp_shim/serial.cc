// Entry points that are taken for the hot team's sake alone, beside the stubs of symbols.def (stubs.S): those in
// which the stubs' one way is not enough.
#include "hot_team.h"
#include "identity.h"
#include "openmp/callers.h"
#include "region.h"

using namespace smelt::kmp;

SHORTCUT(__kmpc_global_thread_num);

namespace {

// A nest lock's owner is a thread by its number, and a thread that holds one across a region's begin has it inside: it
// is taken by the master's own number in the serial part, too. Nothing else is looked up meanwhile.
class AsMyself {
 public:
  AsMyself() { wear_own(); }
  ~AsMyself() { wear_stand_in(); }
  AsMyself(const AsMyself&) = delete;
  AsMyself& operator=(const AsMyself&) = delete;
};

// A call with omp_set_num_threads(): what it sets already, libomp leaves alone.
void before_threads(int threads) {
  if (REAL(omp_get_max_threads)() == threads) return;
  end_hot("the number of threads is changed");
  spoil_hot();
}

}  // namespace

extern "C" {

// Asks first whose the caller is: in a process with several runtimes this is the first call of each function, and the
// number must be the caller's runtime's.
KmpThread __kmpc_global_thread_num(KmpIdent* where) {
  if (smelt::openmp::is_known_ours(__builtin_return_address(0))) [[likely]]
    return BY_SHORTCUT(__kmpc_global_thread_num)(where);
  return smelt_kmp_long___kmpc_global_thread_num(where);
}

KmpThread smelt_kmp_long___kmpc_global_thread_num(KmpIdent* where) {
  const auto function = STOCK(__kmpc_global_thread_num);
  if (is_parked() && function == REAL(__kmpc_global_thread_num)) return smelt_kmp_identity.own;
  return function(where);
}

void __kmpc_push_num_threads_strict(KmpIdent* where, KmpThread gtid, int32_t threads, int32_t severity,
                                    const char* message) {
  note_clause();
  STRAIGHT(__kmpc_push_num_threads_strict)(where, known_as(gtid), threads, severity, message);
}

void __kmpc_push_num_threads_list(KmpIdent* where, KmpThread gtid, uint32_t count, int32_t* threads) {
  note_clause();
  STRAIGHT(__kmpc_push_num_threads_list)(where, known_as(gtid), count, threads);
}

void __kmpc_push_num_threads_list_strict(KmpIdent* where, KmpThread gtid, uint32_t count, int32_t* threads,
                                         int32_t severity, const char* message) {
  note_clause();
  STRAIGHT(__kmpc_push_num_threads_list_strict)(where, known_as(gtid), count, threads, severity, message);
}

void __kmpc_push_proc_bind(KmpIdent* where, KmpThread gtid, int32_t binding) {
  note_clause();
  STRAIGHT(__kmpc_push_proc_bind)(where, known_as(gtid), binding);
}

// The master's values are the same in both parts. libomp hands the stand-in's number to the functions of tasks.
void* __kmpc_threadprivate(KmpIdent* where, KmpThread gtid, void* data, size_t bytes) {
  return STRAIGHT(__kmpc_threadprivate)(where, owner_of(gtid), data, bytes);
}

void* __kmpc_threadprivate_cached(KmpIdent* where, KmpThread gtid, void* data, size_t bytes, void*** cache) {
  return STRAIGHT(__kmpc_threadprivate_cached)(where, owner_of(gtid), data, bytes, cache);
}

void omp_set_num_threads(int threads) {
  if (smelt_kmp_hot) [[unlikely]]
    before_threads(threads);
  STOCK(omp_set_num_threads)(threads);
}

void omp_set_num_threads_(const int* threads) {
  if (smelt_kmp_hot) [[unlikely]]
    before_threads(*threads);
  STOCK(omp_set_num_threads_)(threads);
}

// A soft pause has libomp's waiting threads sleep. A hard one unregisters the calling thread from libomp, and takes
// everything down only where no thread is left.
#define PAUSE(name, parameters, ...) \
  int name parameters {              \
    before_pause(kind);              \
    return STOCK(name)(__VA_ARGS__); \
  }
PAUSE(omp_pause_resource, (int kind, int device), kind, device)
PAUSE(omp_pause_resource_, (intptr_t kind, intptr_t device), kind, device)
PAUSE(omp_pause_resource_all, (int kind), kind)
PAUSE(omp_pause_resource_all_, (intptr_t kind), kind)
PAUSE(__kmpc_pause_resource, (int kind, int device), kind, device)

#define NEST_LOCK(type, name)      \
  type name(void* lock) {          \
    if (!is_parked()) [[likely]]   \
      return STRAIGHT(name)(lock); \
    const AsMyself here;           \
    return STRAIGHT(name)(lock);   \
  }
NEST_LOCK(void, omp_set_nest_lock)
NEST_LOCK(void, omp_set_nest_lock_)
NEST_LOCK(void, omp_unset_nest_lock)
NEST_LOCK(void, omp_unset_nest_lock_)
NEST_LOCK(int, omp_test_nest_lock)
NEST_LOCK(int, omp_test_nest_lock_)

}  // extern "C"
