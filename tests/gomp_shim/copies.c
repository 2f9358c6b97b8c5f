// What libgomp makes tasks of without saying so: asynchronous copies (GCC 13), fills (GCC 16) and interop (GCC 15).
// They must be over behind the next barrier or taskwait, and wait for the tasks that they depend on.
//   copies [ROUNDS]         what this libgomp has of them; it says how many
#include <omp.h>
#include <string.h>

#include "check.h"

int omp_target_memcpy_async(void*, const void*, size_t, size_t, size_t, int, int, int, omp_depend_t*)
    __attribute__((weak));
int omp_target_memcpy_rect_async(void*, const void*, size_t, int, const size_t*, const size_t*, const size_t*,
                                 const size_t*, const size_t*, int, int, int, omp_depend_t*) __attribute__((weak));
void* omp_target_memset_async(void*, int, size_t, int, int, omp_depend_t*) __attribute__((weak));

enum { kInts = 256, kThreads = 4 };
static int from[kThreads][kInts], to[kThreads][kInts], rect[kThreads][kInts];
static unsigned char filled[kThreads][kInts];

static void work(int turns) {
  for (volatile int i = 0; i < turns; i = i + 1) {
  }
}

static int all_are(const int* what, int value) {
  for (int i = 0; i < kInts; ++i)
    if (what[i] != value) return 0;
  return 1;
}

// Whether there is one: where libgomp has none, what the shim stands there for refuses.
static int copies_are_there(void) {
  if (!omp_target_memcpy_async) return 0;
  int a = 1, b = 0;
  const int here = omp_get_initial_device();
  return omp_target_memcpy_async(&b, &a, sizeof a, 0, 0, here, here, 0, NULL) == 0;
}
static int fills_are_there(void) {
  unsigned char byte = 0;
  return omp_target_memset_async &&
         omp_target_memset_async(&byte, 1, 1, omp_get_initial_device(), 0, NULL) == (void*)&byte;
}

// In one thread of the team: copies, for others to see behind the barrier.
static void copy(int me, int round, int fills) {
  const int here = omp_get_initial_device();
  static const size_t volume = kInts, none = 0;  // read when the copy is made
  for (int i = 0; i < kInts; ++i) from[me][i] = round;
  CHECK(omp_target_memcpy_async(to[me], from[me], sizeof to[me], 0, 0, here, here, 0, NULL) == 0);
  CHECK(omp_target_memcpy_rect_async(rect[me], from[me], sizeof(int), 1, &volume, &none, &none, &volume, &volume, here,
                                     here, 0, NULL) == 0);
  if (fills) CHECK(omp_target_memset_async(filled[me], round & 0x7f, kInts, here, 0, NULL) == filled[me]);
}

static void look(int round, int fills, int threads) {
  for (int t = 0; t < threads; ++t) {
    CHECK(all_are(to[t], round) && all_are(rect[t], round));
    for (int i = 0; i < kInts && fills; ++i) CHECK(filled[t][i] == (round & 0x7f));
  }
}

// Behind a task that takes its time.
static void depend(int me, int round) {
  const int here = omp_get_initial_device();
  int* const source = from[me];
  int* const middle = to[me];
  omp_depend_t on[2];
#pragma omp depobj(on[0]) depend(in : source[0])
#pragma omp depobj(on[1]) depend(out : middle[0])
#pragma omp task depend(out : source[0])
  {
    work(2000);
    for (int i = 0; i < kInts; ++i) source[i] = -round;
  }
  CHECK(omp_target_memcpy_async(middle, source, sizeof to[me], 0, 0, here, here, 2, on) == 0);
  int sum = 0;
#pragma omp task depend(in : middle[0]) shared(sum)
  for (int i = 0; i < kInts; ++i) sum += middle[i];
#pragma omp taskwait
  CHECK(sum == -round * kInts && all_are(middle, -round));
#pragma omp depobj(on[0]) destroy
#pragma omp depobj(on[1]) destroy
}

#if __GNUC__ >= 15 && !defined __clang__
static void interop(int round) {
  omp_interop_t object __attribute__((unused)) = omp_interop_none;
  int done = 0;
#pragma omp task depend(out : done) shared(done)
  {
    work(2000);
    done = round;
  }
#pragma omp interop init(targetsync : object) depend(in : done)
  CHECK(done == round);
#pragma omp task depend(out : done) shared(done)
  {
    work(2000);
    done = -round;
  }
#pragma omp interop destroy(object) depend(inout : done) nowait
#pragma omp barrier
  CHECK(done == -round);
}
#define HAS_INTEROP 1
#else
static void interop(int round) { (void)round; }
#define HAS_INTEROP 0
#endif

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 200;
  const int copies = copies_are_there(), fills = fills_are_there();
  for (int round = 1; round <= rounds; ++round) {
    const int threads = 1 + round % kThreads;
#pragma omp parallel num_threads(threads)
    {
      const int me = omp_get_thread_num();
#pragma omp barrier
      if (copies) {
        copy(me, round, fills);
#pragma omp barrier
        look(round, fills, threads);
#pragma omp barrier
        depend(me, round);
#pragma omp barrier
#pragma omp single
        for (int t = 0; t < threads; ++t) copy(t, round + 1, fills);
        look(round + 1, fills, threads);
      }
      interop(round);
    }
  }
  printf("%d kinds\nok\n", 2 * copies + fills + HAS_INTEROP);
  return 0;
}
