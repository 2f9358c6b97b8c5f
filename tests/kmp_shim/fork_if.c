// What flang and newer compilers call in place of what clang 14 does, by hand, where the libomp has it: regions by
// __kmpc_fork_call_if, whose condition holds or not, and copyprivate by __kmpc_copyprivate_light.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdint.h>

#include "../gomp_shim/check.h"

struct Place {
  int32_t reserved, flags, unused[2];
  const char* text;
};
static struct Place place = {0, 2, {0, 0}, ";unknown;unknown;0;0;;"};
typedef void (*Function)(int32_t*, int32_t*, ...);
void __kmpc_fork_call_if(void*, int32_t, Function, int32_t, void*) __attribute__((weak));
void* __kmpc_copyprivate_light(void*, int32_t, void*) __attribute__((weak));
void __kmpc_barrier(void*, int32_t);
void __kmpc_push_num_threads(void*, int32_t, int32_t);
int32_t __kmpc_global_thread_num(void*);

// The shim has both, in front of any libomp.
static int libomp_has(const char* name) {
  void* const library = dlopen("libomp.so.5", RTLD_LAZY | RTLD_NOLOAD);
  CHECK(library);
  return dlsym(library, name) != NULL;
}
static int has_light;

enum { kRounds = 30 };
static int marks[64], counted;

static void body(int32_t* gtid, int32_t* tid, int* threads) {
  (void)tid;
  const int me = omp_get_thread_num(), now = omp_get_num_threads();
  if (me == 0) *threads = now;
  for (int r = 1; r <= kRounds; ++r) {
    marks[me] = r;
    __kmpc_barrier(&place, *gtid);
    for (int t = 0; t < now; ++t) CHECK(marks[t] == r);
    int mine = 0;
    if (has_light) {
      if (me == r % now) mine = 100 + r;
      const int* const copied = __kmpc_copyprivate_light(&place, *gtid, me == r % now ? &mine : NULL);
      CHECK(*copied == 100 + r);
    }
    __kmpc_barrier(&place, *gtid);
  }
#pragma omp atomic
  ++counted;
}

int main(void) {
  omp_set_dynamic(0);
  has_light = libomp_has("__kmpc_copyprivate_light");
  const int has_if = libomp_has("__kmpc_fork_call_if");
  for (int i = 0; has_if && i < 40; ++i) {
    const int size = 2 + i % 3, forks = i % 4 != 3;
    int threads = 0;
    counted = 0;
    omp_set_num_threads(size);
    __kmpc_fork_call_if(&place, 1, (Function)body, forks, &threads);
    CHECK(threads == (forks ? size : 1) && counted == threads);
  }
  // A clause beside the condition is not the next region's.
  const int32_t gtid = __kmpc_global_thread_num(&place);
  for (int i = 0; has_if && i < 40; ++i) {
    int alone = 0, threads = 0;
    __kmpc_push_num_threads(&place, gtid, 1);
    __kmpc_fork_call_if(&place, 1, (Function)body, i % 2, &alone);
    __kmpc_fork_call_if(&place, 1, (Function)body, 1, &threads);
    CHECK(alone == 1 && threads == omp_get_max_threads());
  }
  puts("ok");
  return 0;
}
