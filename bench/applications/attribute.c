/* Where a program's time goes, as libgomp's caller sees it: a library for LD_PRELOAD, in front of the shim or alone.
 *
 * It stands between the program and GOMP_parallel and its kin, takes the time before and after each outermost region of
 * the first thread that opens one, and adds up
 *
 *   before | first | second | regions and gaps in turns | after
 *
 * At the end of the process it asks the kernel what all threads waited for: CPUs (run-queue wait), each other
 * (voluntary switches), and how often they were moved. One line of JSON is added to the file that ATTRIBUTE_FILE names.
 * What it costs, two looks at the clock for a region, it costs on both sides. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

/* Of the thread that opened the first region: nobody else writes here. */
static struct {
  long loaded, begin, last_end;        /* when: this library, the first region, the last one's end */
  long regions, first, second, inside; /* how many; ns; ns of all after the second */
  long between, longest;               /* ns from the first region's end on; the longest gap */
} seen;
static pthread_t opener;
static int is_known; /* 0: nobody has opened a region yet, 1: being set, 2: opener holds */
static __thread int depth __attribute__((tls_model("initial-exec")));

static int is_opener(void) {
  int nobody = 0;
  /* acquire: the opener's name was written before the 2 */
  if (__atomic_load_n(&is_known, __ATOMIC_ACQUIRE) == 2) return pthread_equal(opener, pthread_self());
  if (!__atomic_compare_exchange_n(&is_known, &nobody, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return 0;
  opener = pthread_self();
  __atomic_store_n(&is_known, 2, __ATOMIC_RELEASE);
  return 1;
}

static long enter(void) {
  if (depth++ > 0 || !is_opener()) return 0;
  const long begin = now_ns();
  if (seen.regions == 0) {
    seen.begin = begin;
  } else {
    const long gap = begin - seen.last_end;
    seen.between += gap;
    if (gap > seen.longest) seen.longest = gap;
  }
  return begin;
}

static void leave(long begin) {
  --depth;
  if (begin == 0) return;
  seen.last_end = now_ns();
  const long time = seen.last_end - begin;
  ++seen.regions;
  *(seen.regions == 1 ? &seen.first : seen.regions == 2 ? &seen.second : &seen.inside) += time;
}

/* What the program would have called: the shim's, or libgomp's, which may be loaded where only its users see it. */
static void* behind(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (!found) {
    void* const libgomp = dlopen("libgomp.so.1", RTLD_LAZY);
    if (libgomp) found = dlsym(libgomp, name);
  }
  if (!found) {
    fprintf(stderr, "attribute: no %s behind this library\n", name);
    abort();
  }
  return found;
}

#define FUNCTION(result, name, parameters, arguments, keep, give)                                             \
  __attribute__((visibility("default"))) result name parameters;                                              \
  result name parameters {                                                                                    \
    static result(*next) parameters;                                                                          \
    result(*call) parameters = __atomic_load_n(&next, __ATOMIC_RELAXED);                                      \
    if (!call) {                                                                                              \
      *(void**)&call = behind(#name);                  /* POSIX: a pointer to data holds one to a function */ \
      __atomic_store_n(&next, call, __ATOMIC_RELAXED); /* the same whoever wrote it */                        \
    }                                                                                                         \
    const long begin = enter();                                                                               \
    keep call arguments;                                                                                      \
    leave(begin);                                                                                             \
    give;                                                                                                     \
  }

#define REGION(name, parameters, arguments) FUNCTION(void, name, parameters, arguments, , )
#define LOOP(name)                                                                                                 \
  REGION(name,                                                                                                     \
         (void (*body)(void*), void* data, unsigned n, long from, long to, long step, long chunk, unsigned flags), \
         (body, data, n, from, to, step, chunk, flags))
#define RUNTIME_LOOP(name)                                                                                   \
  REGION(name, (void (*body)(void*), void* data, unsigned n, long from, long to, long step, unsigned flags), \
         (body, data, n, from, to, step, flags))

REGION(GOMP_parallel, (void (*body)(void*), void* data, unsigned n, unsigned flags), (body, data, n, flags))
REGION(GOMP_parallel_sections, (void (*body)(void*), void* data, unsigned n, unsigned count, unsigned flags),
       (body, data, n, count, flags))
FUNCTION(unsigned, GOMP_parallel_reductions, (void (*body)(void*), void* data, unsigned n, unsigned flags),
         (body, data, n, flags), const unsigned result =, return result)
LOOP(GOMP_parallel_loop_static)
LOOP(GOMP_parallel_loop_dynamic)
LOOP(GOMP_parallel_loop_guided)
LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
LOOP(GOMP_parallel_loop_nonmonotonic_guided)
RUNTIME_LOOP(GOMP_parallel_loop_runtime)
RUNTIME_LOOP(GOMP_parallel_loop_nonmonotonic_runtime)
RUNTIME_LOOP(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

__attribute__((constructor)) static void begin(void) { seen.loaded = now_ns(); }

/* The number behind a word of a file of /proc; -1: it does not say. */
static double number_in(const char* path, const char* word) {
  FILE* const file = fopen(path, "r");
  double number = -1;
  char line[256];
  while (file && fgets(line, sizeof line, file)) {
    const char* at = strstr(line, word);
    if (!at) continue;
    at = strpbrk(at + strlen(word), ":");
    if (at) number = atof(at + 1);
    break;
  }
  if (file) fclose(file);
  return number;
}

__attribute__((destructor)) static void end(void) {
  const char* const name = getenv("ATTRIBUTE_FILE");
  if (!name || seen.regions == 0) return;
  const long ended = now_ns();
  double queued_ns = 0, moves = 0;
  long threads = 0;
  DIR* const tasks = opendir("/proc/self/task");
  for (const struct dirent* task; tasks && (task = readdir(tasks));) {
    if (task->d_name[0] == '.') continue;
    char path[300];
    snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
    FILE* const file = fopen(path, "r");
    double ran, waited;
    if (file && fscanf(file, "%lf %lf", &ran, &waited) == 2) queued_ns += waited;
    if (file) fclose(file);
    snprintf(path, sizeof path, "/proc/self/task/%s/sched", task->d_name);
    const double moved = number_in(path, "nr_migrations");
    moves = moved < 0 || moves < 0 ? -1 : moves + moved;
    ++threads;
  }
  if (tasks) closedir(tasks);
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  FILE* const out = fopen(name, "a");
  if (!out) return;
  fprintf(out,
          "{\"inside_ms\": %.3f, \"before_ms\": %.3f, \"first_ms\": %.4f, \"second_ms\": %.4f, \"regions_ms\": %.3f, "
          "\"between_ms\": %.3f, \"after_ms\": %.3f, \"longest_gap_ms\": %.3f, \"regions\": %ld, \"threads\": %ld, "
          "\"queue_ms\": %.3f, \"moves\": %.0f, \"user_ms\": %.3f, \"system_ms\": %.3f, \"gave_way\": %ld, "
          "\"preempted\": %ld, \"faults\": %ld}\n",
          1e-6 * (double)(ended - seen.loaded), 1e-6 * (double)(seen.begin - seen.loaded), 1e-6 * (double)seen.first,
          1e-6 * (double)seen.second, 1e-6 * (double)seen.inside, 1e-6 * (double)seen.between,
          1e-6 * (double)(ended - seen.last_end), 1e-6 * (double)seen.longest, seen.regions, threads, 1e-6 * queued_ns,
          moves, 1e3 * (double)used.ru_utime.tv_sec + 1e-3 * (double)used.ru_utime.tv_usec,
          1e3 * (double)used.ru_stime.tv_sec + 1e-3 * (double)used.ru_stime.tv_usec, used.ru_nvcsw, used.ru_nivcsw,
          used.ru_minflt);
  fclose(out);
}
