// Uses OpenMP where there is one, as libraries do that know of it by weak references only. Nothing here brings one; the
// shim's functions are there all the same and must bear to be called. A library with a runtime may come later.
//   weak stock|under [LIBRARY]
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"

void omp_set_num_threads(int) __attribute__((weak));
void omp_set_dynamic_(const int*) __attribute__((weak));
int omp_pause_resource_all(int) __attribute__((weak));
void GOMP_parallel(void (*)(void*), void*, unsigned, unsigned) __attribute__((weak));
unsigned GOMP_parallel_reductions(void (*)(void*), void*, unsigned, unsigned) __attribute__((weak));
void GOMP_barrier(void) __attribute__((weak));
bool GOMP_barrier_cancel(void) __attribute__((weak));

static void region(void* data) {
  ++*(int*)data;
  if (GOMP_barrier) GOMP_barrier();
  if (GOMP_barrier_cancel) CHECK(!GOMP_barrier_cancel());
}

int main(int argc, char** argv) {
  CHECK(argc >= 2 && (GOMP_parallel != NULL) == (strcmp(argv[1], "under") == 0));
  const int on = 1;
  int ran = 0;
  if (omp_set_num_threads) omp_set_num_threads(2);
  if (omp_set_dynamic_) omp_set_dynamic_(&on);
  if (omp_pause_resource_all) CHECK(omp_pause_resource_all(1) == 0);
  if (GOMP_parallel)
    GOMP_parallel(region, &ran, 2, 0);
  else
    region(&ran);
  if (GOMP_parallel_reductions)
    CHECK(GOMP_parallel_reductions(region, &ran, 2, 0) == 1);
  else
    region(&ran);
  CHECK(ran == 2);
  if (argc > 2) {
    void* library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    CHECK(library);
    int (*count)(int);
    *(void**)&count = dlsym(library, "plugin_count");
    CHECK(count && count(2) == 102 && count(3) == 103);
  }
  puts("ok");
  return 0;
}
