// How threads and processes with a parked team of workers end: by every way that POSIX has, each a case of its own,
// named by the argument. Under stock libgomp all of them end too, but for those that say so.
#define _GNU_SOURCE
#include <dirent.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

// So many of one size in a row that a hot team serves most of them.
static void regions(int count) {
  for (int i = 0; i < count; ++i) {
    int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
#pragma omp barrier
      sum += omp_get_thread_num() + 1;
    }
    CHECK(sum == 3);
  }
}

static void* some_regions(void* unused) {
  (void)unused;
  regions(30);
  return NULL;
}

static pthread_t start(void* (*function)(void*), void* argument) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, function, argument) == 0);
  return thread;
}

static void wait_for(pid_t child) {
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

// --- main ends, and others go on -------------------------------------------------------------------------------------

static void* outlive_main(void* main_thread) {
  CHECK(pthread_join(*(pthread_t*)main_thread, NULL) == 0);
  regions(30);
  puts("ok");
  return NULL;  // the last thread: the process ends with status 0
}

static void main_exits(void) {
  static pthread_t self;
  self = pthread_self();
  regions(30);
  start(outlive_main, &self);
  pthread_exit(NULL);
}

// Six masters at once; main ends among them.
static void* master(void* number) {
  for (int i = 0; i < 8; ++i) {
    regions(1 + (int)(size_t)number * i % 7);
    pthread_join(start(some_regions, NULL), NULL);
  }
  if ((size_t)number % 2) pthread_exit(NULL);
  return NULL;
}
static void masters(void) {
  regions(30);
  for (size_t i = 0; i < 6; ++i) start(master, (void*)i);
  puts("ok");
  fflush(stdout);
  pthread_exit(NULL);
}

// --- regions in the destructors of keys ------------------------------------------------------------------------------

static pthread_key_t early_key, late_key;  // made before and after the shim's own
static int rounds_wanted;
static void destroy(void* left) {
  regions(10);
  size_t count = (size_t)left;
  if (count > 1) pthread_setspecific(early_key, (void*)(count - 1));  // another round
}
static void destroy_late(void* left) {
  regions(10);
  size_t count = (size_t)left;
  if (count > 1) pthread_setspecific(late_key, (void*)(count - 1));
}
static void* first_region_in_destructor(void* which) {
  if ((size_t)which & 1) pthread_setspecific(early_key, (void*)(size_t)rounds_wanted);
  if ((size_t)which & 2) pthread_setspecific(late_key, (void*)(size_t)rounds_wanted);
  if ((size_t)which & 4) regions(10);
  return NULL;
}
static void keys(void) {
  CHECK(pthread_key_create(&early_key, destroy) == 0);
  regions(30);
  CHECK(pthread_key_create(&late_key, destroy_late) == 0);
  for (int i = 0; i < 15; ++i) {
    rounds_wanted = 1 + i % 5;  // destructors are run four times at most
    for (size_t which = 1; which < 8; ++which)
      CHECK(pthread_join(start(first_region_in_destructor, (void*)which), NULL) == 0);
  }
  puts("ok");
}

// --- what is left --------------------------------------------------------------------------------------------------

// A region in the destructor of a key that comes after libgomp's and before the shim's: libgomp has let go of the
// thread's pool by then. All threads must be gone in the end, of masters that have opened few regions and many.
static pthread_key_t middle_key;
static void* with_middle_key(void* before) {
  pthread_setspecific(middle_key, &middle_key);
  regions((int)(size_t)before);
  return NULL;
}
static void destroy_middle(void* unused) {
  (void)unused;
  for (int i = 1; i < 4; ++i) regions(i);
}
static int threads_now(void) {
  int number = -2;  // "." and ".."
  DIR* const tasks = opendir("/proc/self/task");
  while (tasks && readdir(tasks)) ++number;
  closedir(tasks);
  return number;
}
static void none_left(void) {
  CHECK(pthread_key_create(&middle_key, destroy_middle) == 0);
  for (size_t i = 0; i < 24; ++i) CHECK(pthread_join(start(with_middle_key, (void*)(i % 8)), NULL) == 0);
  for (int waits = 0; threads_now() > 1 && waits < 6000; ++waits) usleep(10000);
  CHECK(threads_now() == 1);
  puts("ok");
  fflush(stdout);
  pthread_setspecific(middle_key, &middle_key);
  regions(1);
  pthread_exit(NULL);  // the process ends when all threads have
}

// --- cancellation ----------------------------------------------------------------------------------------------------

static int got_through;
static void* cancelled(void* reach) {
  if (reach) regions(30);
  pthread_cancel(pthread_self());  // deferred: there is no cancellation point until pthread_testcancel
  regions(30);
  ++got_through;
  pthread_testcancel();
  CHECK(!"cancelled");
  return NULL;
}
static void cancel(void) {
  for (int i = 0; i < 20; ++i) {
    void* result = NULL;
    CHECK(pthread_join(start(cancelled, i % 2 ? &got_through : NULL), &result) == 0);
    CHECK(result == PTHREAD_CANCELED && got_through == i + 1);
  }
  regions(30);
  puts("ok");
}

// --- children --------------------------------------------------------------------------------------------------------

// Children that nobody was told of: no handler of pthread_atfork runs.
static void untold_children(void) {
  for (int i = 0; i < 4; ++i) {
    regions(30);
    pid_t child = _Fork();
    if (child == 0) exit(0);
    wait_for(child);
    regions(30);
    child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) exit(0);
    wait_for(child);
    regions(30);
  }
  puts("ok");
}

// Regions in the child of a fork. Stock waits for ever for threads that were not copied; under Smelt they run.
static void fork_and_run(int depth) {
  fflush(stdout);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    regions(30);
    omp_set_num_threads(2);
    int count = 0;
#pragma omp parallel reduction(+ : count)
    count += omp_get_max_threads();
    CHECK(count == 4);
    if (depth > 0) fork_and_run(depth - 1);
    pthread_join(start(some_regions, NULL), NULL);
    if (depth % 2) exit(0);
    pthread_exit(NULL);  // the only thread: the process ends with status 0
  }
  wait_for(child);
  regions(30);
}
static void* forking_thread(void* unused) {
  (void)unused;
  regions(30);
  fork_and_run(1);
  return NULL;
}
static void forks(void) {
  fork_and_run(0);
  regions(2);  // not hot yet
  fork_and_run(1);
  regions(30);
  fork_and_run(2);
  omp_set_num_threads(3);
  fork_and_run(1);
  CHECK(omp_get_max_threads() == 3);
  CHECK(pthread_join(start(forking_thread, NULL), NULL) == 0);
  puts("ok");
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } cases[] = {{"main-exits", main_exits},
               {"masters", masters},
               {"keys", keys},
               {"none-left", none_left},
               {"cancel", cancel},
               {"untold-children", untold_children},
               {"forks", forks}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
      cases[i].run();
      return 0;
    }
  return 2;
}
