// Where a surplus thread (surplus.h) would wait for another one in libgomp or in the kernel: critical sections, locks,
// sched_yield(). It lets others of its block run instead.
#include <sched.h>

#include "base/os/bare.h"
#include "base/os/os.h"
#include "openmp/callers.h"
#include "real.h"
#include "surplus.h"
#include "tasks.h"

namespace smelt::gomp {
namespace {

constexpr uint32_t kTurns = 64;  // in vain, before the kernel is asked, too

// Critical sections that a thread may be left in. A thread on a carrier takes this before it asks libgomp, so that it
// does not keep the carrier from the thread that it waits for. Advice: libgomp's own lock decides.
struct Critical {
  std::atomic<void**> name;
  std::atomic<const Lent*> holder;
};
constexpr uint32_t kCriticals = 256;       // names; one beyond has no entry
constinit Critical criticals[kCriticals];  // by name, open addressing; a name stays for good
constinit Critical unnamed, for_atomic;

Critical* critical_of(void** name) {
  const auto bits = reinterpret_cast<uintptr_t>(name);
  for (uint32_t i = 0; i < kCriticals; ++i) {
    Critical& critical = criticals[(bits / sizeof(void*) + i) % kCriticals];
    // Relaxed, all: the word says all there is to say.
    void** seen = critical.name.load(std::memory_order_relaxed);
    if (!seen && critical.name.compare_exchange_strong(seen, name, std::memory_order_relaxed)) return &critical;
    if (seen == name) return &critical;
  }
  return nullptr;  // then the watchdog has to do
}

// Gives way until try_it() succeeds, true; false: one might as well block.
template <typename Try>
bool give_way_until(Lent& self, Try try_it) {
  for (uint32_t turn = 1; !try_it(); ++turn) {
    if (!give_way(self)) return false;
    if (turn % kTurns == 0) os::bare_yield();  // to the holder, perhaps, on another CPU
  }
  return true;
}

void enter_critical(Critical* critical) {
  Lent* const self = smelt_gomp_lent;
  if (!self || !critical || !is_on_carrier(*self)) return;
  give_way_until(*self, [&] {
    const Lent* nobody = nullptr;
    // Acquire: only to be no weaker than a lock.
    return critical->holder.compare_exchange_strong(nobody, self, std::memory_order_acquire, std::memory_order_relaxed);
  });
}

void exit_critical(Critical* critical) {
  const Lent* const self = smelt_gomp_lent;
  // Relaxed: nobody else makes it us or not us.
  if (!self || !critical || critical->holder.load(std::memory_order_relaxed) != self) return;
  critical->holder.store(nullptr, std::memory_order_release);
}

}  // namespace
}  // namespace smelt::gomp

using namespace smelt::gomp;

extern "C" {

// The functions that the stubs of symbols.def's WAITS and ALONE go on to.
#define OWN(name) [[gnu::visibility("hidden")]] decltype(name) smelt_gomp_##name
OWN(GOMP_critical_start);
OWN(GOMP_critical_end);
OWN(GOMP_critical_name_start);
OWN(GOMP_critical_name_end);
OWN(GOMP_atomic_start);
OWN(GOMP_atomic_end);
OWN(GOMP_reduction_start);
OWN(GOMP_reduction_end);
OWN(GOMP_ordered_start);
OWN(omp_set_lock);
OWN(omp_set_lock_);
OWN(omp_set_nest_lock);
OWN(omp_set_nest_lock_);

void smelt_gomp_GOMP_critical_start(void) {
  enter_critical(&unnamed);
  STOCK(GOMP_critical_start)();
}
void smelt_gomp_GOMP_critical_end(void) {
  STOCK(GOMP_critical_end)();
  exit_critical(&unnamed);
}
void smelt_gomp_GOMP_critical_name_start(void** name) {
  if (smelt_gomp_lent) enter_critical(critical_of(name));
  STOCK(GOMP_critical_name_start)(name);
}
void smelt_gomp_GOMP_critical_name_end(void** name) {
  STOCK(GOMP_critical_name_end)(name);
  if (smelt_gomp_lent) exit_critical(critical_of(name));
}
void smelt_gomp_GOMP_atomic_start(void) {
  enter_critical(&for_atomic);
  STOCK(GOMP_atomic_start)();
}
void smelt_gomp_GOMP_atomic_end(void) {
  STOCK(GOMP_atomic_end)();
  exit_critical(&for_atomic);
}
// One lock for both, as in libgomp.
void smelt_gomp_GOMP_reduction_start(void) {
  enter_critical(&for_atomic);
  STOCK(GOMP_reduction_start)();
}
void smelt_gomp_GOMP_reduction_end(void) {
  STOCK(GOMP_reduction_end)();
  exit_critical(&for_atomic);
}

void smelt_gomp_GOMP_ordered_start(void) {
  smelt_gomp_alone();
  STOCK(GOMP_ordered_start)();
}

#define SET_LOCK(name, test)                                                                                     \
  void smelt_gomp_##name(void* lock) {                                                                           \
    if (Lent* const self = smelt_gomp_lent;                                                                      \
        self && is_ours(__builtin_return_address(0)) && give_way_until(*self, [=] { return REAL(test)(lock); })) \
      return;                                                                                                    \
    STOCK(name)(lock);                                                                                           \
  }
SET_LOCK(omp_set_lock, omp_test_lock)
SET_LOCK(omp_set_lock_, omp_test_lock_)
SET_LOCK(omp_set_nest_lock, omp_test_nest_lock)
SET_LOCK(omp_set_nest_lock_, omp_test_nest_lock_)

void smelt_gomp_alone(void) {
  resolve();
  if (Lent* const self = smelt_gomp_lent) alone(*self);
}

// The shim for LLVM's libomp behind us may leave out yields of that (kmp_shim/thread_calls.cc).
[[gnu::visibility("default")]] bool (*smelt_gomp_yield_left_out)(const void* caller) = nullptr;

// For programs and libraries that wait by polling; Open MPI, with mpi_yield_when_idle.
[[gnu::visibility("default")]] int sched_yield(void) noexcept {
  Lent* const self = smelt_gomp_lent;
  if (self && give_way(*self)) return 0;
  const auto left_out = __atomic_load_n(&smelt_gomp_yield_left_out, __ATOMIC_RELAXED);  // code
  if (!left_out || !left_out(__builtin_return_address(0))) smelt::os::yield_cpu();
  return 0;
}

// For a poller, before it blocks (ompi_pml_smelt/requests.c): nonzero if another thread has run meanwhile.
[[gnu::visibility("default")]] int smelt_gomp_give_way(void) {
  Lent* const self = smelt_gomp_lent;
  return self && give_way(*self);
}

}  // extern "C"
