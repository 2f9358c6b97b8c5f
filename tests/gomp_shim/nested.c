// Nested teams, teams whose size changes, several master threads with teams of their own, masters that end.
#include <omp.h>
#include <pthread.h>

#include "check.h"

static void crossing(int threads, int rounds, int* slots) {
#pragma omp parallel num_threads(threads)
  {
    const int size = omp_get_num_threads(), me = omp_get_thread_num();
    for (int r = 1; r <= rounds; ++r) {
      *(volatile int*)&slots[me] = r;
#pragma omp barrier
      for (int t = 0; t < size; ++t) CHECK(*(volatile int*)&slots[t] == r);
#pragma omp barrier
    }
  }
}

static void nested(int outer, int inner) {
#pragma omp parallel num_threads(outer)
  {
    int slots[16] = {0};
    for (int r = 0; r < 20; ++r) {
      crossing(inner, 10, slots);
#pragma omp barrier
#pragma omp single
      slots[15] = r;
#pragma omp parallel num_threads(inner) if (r % 2)
      {
#pragma omp barrier
        CHECK(omp_get_level() == 2);
      }
#pragma omp barrier
    }
  }
}

static void* master(void* seed) {
  unsigned state = *(unsigned*)seed;
  for (int i = 0; i < 40; ++i) {
    int slots[16] = {0};
    crossing(1 + (int)(next_random(&state) % 5), 20, slots);
  }
  return NULL;
}

int main(void) {
  omp_set_dynamic(0);
  omp_set_max_active_levels(3);
  for (int outer = 1; outer <= 3; ++outer)
    for (int inner = 1; inner <= 3; ++inner) nested(outer, inner);
  omp_set_max_active_levels(1);  // inner teams of one, asked for as three
  nested(3, 3);
  for (int round = 0; round < 3; ++round) {
    pthread_t threads[4];
    unsigned seeds[4] = {1, 2, 3, 4};
    for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, master, &seeds[i]) == 0);
    for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  }
  puts("ok");
  return 0;
}
