// The counters of the shim through the C API: they count what this program does, in known numbers. "absent": there is
// no shim.
#include <errno.h>
#include <smelt/openmp.h>
#include <string.h>

#include "check.h"

static smelt_openmp_counts now(void) {
  smelt_openmp_counts counts;
  CHECK(smelt_openmp_counters(&counts, sizeof counts) == 0);
  return counts;
}

int main(int argc, char** argv) {
  smelt_openmp_counts counts;
  memset(&counts, 0xff, sizeof counts);
  CHECK(smelt_openmp_counters(NULL, sizeof counts) == -EINVAL);
  if (argc > 1 && strcmp(argv[1], "absent") == 0) {
    CHECK(smelt_openmp_counters(&counts, sizeof counts) == -ENOENT);
    CHECK(counts.regions == 0 && counts.sleeps == 0);
    puts("ok");
    return 0;
  }
  // A caller of an earlier Smelt knows fewer members; the rest of its memory is its own.
  CHECK(smelt_openmp_counters(&counts, sizeof counts.regions) == 0);
  CHECK(counts.regions == 0 && counts.sleeps == UINT64_MAX);
  const smelt_openmp_counts before = now();
  for (int i = 0; i < 100; ++i) {
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
#pragma omp barrier
    }
  }
  smelt_openmp_counts after = now();
  CHECK(after.regions - before.regions == 100);
  CHECK(after.hot_regions <= 100 && after.hot_teams <= 1);
  CHECK(after.real_episodes == 0 && after.abandoned == 0 && after.other_regions == 0 && after.shared_loops == 0 &&
        after.own_tasks == 0);
  // Two barriers a region, and a hot region's join.
  CHECK(after.own_episodes - before.own_episodes == 200 + after.hot_regions);
  int ran = 0;
#pragma omp parallel num_threads(2)
  {
#pragma omp single nowait
      {
#pragma omp task shared(ran)
          ++ran;
}
#pragma omp barrier
}
CHECK(ran == 1);
CHECK(now().real_episodes == 0 && now().own_tasks == 1);
puts("ok");
return 0;
}
