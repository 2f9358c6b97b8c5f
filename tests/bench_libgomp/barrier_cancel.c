// Behind a plain barrier the first thread cancels the region, perhaps while others are still waking up in that barrier:
// they must see that their episode is over, and not take the CANCELLED of the next one for "still waiting". (GCC 12's
// own barrier waits there for ever.) The barrier is in a function of its own: beside the cancel it would be a
// cancellable one.
#include <omp.h>

#include "../gomp_shim/check.h"

__attribute__((noinline)) static void plain_barrier(void) {
#pragma omp barrier
}

int main(void) {
  CHECK(omp_get_cancellation());
  const int regions = 2000;
  int members = 0, passed = 0;
  for (int region = 0; region < regions; region++) {
#pragma omp parallel
    {
      __atomic_fetch_add(&members, 1, __ATOMIC_RELAXED);
      plain_barrier();
      CHECK(__atomic_load_n(&members, __ATOMIC_RELAXED) == (region + 1) * omp_get_num_threads());
      __atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED);
      if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
      }
      for (;;) {  // being cancelled is the only way out
#pragma omp cancellation point parallel
      }
    }
    CHECK(passed == members);
  }
  puts("ok");
  return 0;
}
