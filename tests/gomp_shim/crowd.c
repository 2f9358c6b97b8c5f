/* Regions of more threads than CPUs: every construct, the data that are kept per thread, and threads that wait for each
 * other without a word to the runtime.
 *   crowd WHAT [THREADS [ROUNDS]] */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kMost = 256 };

static int threads = 8, rounds = 20;
static int mine;
#pragma omp threadprivate(mine)

/* --- constructs */

static void barriers(void) {
  int slots[kMost];
#pragma omp parallel num_threads(threads)
  {
    const int me = omp_get_thread_num();
    CHECK(omp_get_num_threads() == threads);
    for (int e = 1; e <= 5; ++e) {
      slots[me] = e;
#pragma omp barrier
      for (int i = 0; i < threads; ++i) CHECK(slots[i] == e);
#pragma omp barrier
    }
    CHECK(omp_get_thread_num() == me);
  }
}

static void loops(void) {
  static int done[1000];
  memset(done, 0, sizeof done);
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static, 3)
    for (int i = 0; i < 1000; ++i) done[i] += 1;
#pragma omp for schedule(dynamic, 7)
    for (int i = 0; i < 1000; ++i) done[i] += 10;
#pragma omp for schedule(guided)
    for (int i = 0; i < 1000; ++i) done[i] += 100;
#pragma omp for schedule(runtime)
    for (int i = 0; i < 1000; ++i) done[i] += 1000;
#pragma omp for schedule(dynamic) nowait
    for (unsigned long long i = 0; i < 1000; ++i) {
#pragma omp atomic
      done[i] += 10000;
    }
  }
  for (int i = 0; i < 1000; ++i) CHECK(done[i] == 11111);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 2)
  for (int i = 0; i < 1000; ++i) {
    if (i % 100 == 0) sched_yield();
    done[i] += 1;
  }
  for (int i = 0; i < 1000; ++i) CHECK(done[i] == 11112);
}

static void singles(void) {
  int count = 0, sections = 0, seen = 0;
  long sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
  {
    int value = -1;
#pragma omp single copyprivate(value)
    {
      value = 42;
      ++count;
    }
    CHECK(value == 42);
#pragma omp single
    ++count;
#pragma omp sections
    {
#pragma omp section
      {
#pragma omp atomic
        ++sections;
      }
#pragma omp section
      {
#pragma omp atomic
        ++sections;
      }
#pragma omp section
      {
        sched_yield();
#pragma omp atomic
        ++sections;
      }
    }
#pragma omp master
    seen = 1;
#pragma omp barrier
    CHECK(seen == 1);
    sum += omp_get_thread_num();
  }
  CHECK(count == 2 && sections == 3);
  CHECK(sum == (long)threads * (threads - 1) / 2);
}

/* Each is left inside: by sched_yield(), to others that want the same. */
static void criticals(void) {
  int unnamed = 0, named = 0, other = 0, locked = 0, nested = 0;
  omp_lock_t lock;
  omp_nest_lock_t nest;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(threads)
  for (int i = 0; i < 5; ++i) {
#pragma omp critical
    {
      const int before = unnamed;
      sched_yield();
      unnamed = before + 1;
    }
#pragma omp critical(some)
    {
      const int before = named;
      sched_yield();
#pragma omp critical(another)
      {
        const int others = other;
        sched_yield();
        other = others + 1;
      }
      named = before + 1;
    }
    omp_set_lock(&lock);
    const int before = locked;
    sched_yield();
    locked = before + 1;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nest);
    omp_set_nest_lock(&nest);
    const int nests = nested;
    sched_yield();
    nested = nests + 1;
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
  }
  CHECK(unnamed == 5 * threads && named == 5 * threads && other == 5 * threads);
  CHECK(locked == 5 * threads && nested == 5 * threads);
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest);
}

static void in_order(void) {
  int next = 0;
  static int cells[200];
  memset(cells, 0, sizeof cells);
#pragma omp parallel num_threads(threads)
  {
#pragma omp for ordered schedule(dynamic)
    for (int i = 0; i < 60; ++i) {
#pragma omp ordered
      {
        CHECK(next == i);
        ++next;
      }
    }
#pragma omp for ordered schedule(static, 1)
    for (int i = 0; i < 100; ++i) {
#pragma omp ordered
      CHECK(next++ == 60 + i);
    }
#pragma omp for ordered(1) schedule(static, 1)
    for (int i = 0; i < 20; ++i) { /* few: libgomp spins there */
#pragma omp ordered depend(sink : i - 1)
      cells[i] = i == 0 ? 1 : cells[i - 1] + 1;
#pragma omp ordered depend(source)
    }
  }
  CHECK(next == 160 && cells[19] == 20);
}

static void tasks(void) {
  int chain = 0, sum = 0, group = 0, looped = 0, reduced = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp single
    for (int i = 0; i < 20; ++i) {
#pragma omp task depend(inout : chain)
      {
        const int before = chain;
        sched_yield();
        chain = before + 1;
      }
    }
    for (int i = 0; i < 3; ++i) {
#pragma omp task shared(sum)
      {
#pragma omp task shared(sum)
        {
#pragma omp atomic
          ++sum;
        }
#pragma omp taskwait
#pragma omp atomic
        ++sum;
      }
    }
#pragma omp taskgroup
    {
#pragma omp task shared(group)
      {
#pragma omp atomic
        ++group;
      }
    }
#pragma omp single
#pragma omp taskloop grainsize(3) shared(looped)
    for (int i = 0; i < 30; ++i) {
#pragma omp atomic
      ++looped;
    }
#pragma omp single
#pragma omp taskloop reduction(+ : reduced)
    for (int i = 0; i < 30; ++i) reduced += i;
  }
  CHECK(chain == 20 && sum == 6 * threads && group == threads && looped == 30 && reduced == 435);
}

/* A task that is over when somebody says so: its barrier is libgomp's, and everybody's. */
static void detached(void) {
  int after = 0;
  omp_event_handle_t event;
#pragma omp parallel num_threads(threads)
  {
#pragma omp single nowait
    {
#pragma omp task detach(event) shared(after)
      {
#pragma omp atomic
        ++after;
      }
      omp_fulfill_event(event);
    }
#pragma omp barrier
    CHECK(after == 1);
#pragma omp for reduction(task, + : after)
    for (int i = 0; i < threads; ++i) {
#pragma omp task in_reduction(+ : after)
      ++after;
    }
    CHECK(after == 1 + threads);
  }
  /* ... and the join */
#pragma omp parallel num_threads(threads)
#pragma omp master
  {
    omp_event_handle_t own;
#pragma omp task detach(own) shared(after)
    {
#pragma omp atomic
      ++after;
    }
    omp_fulfill_event(own);
  }
  CHECK(after == 2 + threads);
}

static void inside(void) {
  int count = 0;
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(threads)
  {
#pragma omp parallel num_threads(2) if (omp_get_thread_num() % 3 == 0)
    {
#pragma omp atomic
      ++count;
#pragma omp barrier
      sched_yield();
#pragma omp barrier
    }
#pragma omp barrier
  }
  CHECK(count == threads + (threads + 2) / 3);
}

/* --- a thread's own data */

static void own(void) {
  static pthread_t self[kMost];
#pragma omp parallel num_threads(threads)
  {
    const int me = omp_get_thread_num();
    mine = 1000 + me;
    errno = 1 + me;
    self[me] = pthread_self();
    char* volatile block = malloc(100 + me);
#pragma omp barrier
    CHECK(errno == 1 + me && mine == 1000 + me && pthread_equal(pthread_self(), self[me]));
    sched_yield();
    CHECK(errno == 1 + me && mine == 1000 + me);
    for (int i = 0; i < me; ++i) CHECK(!pthread_equal(self[i], self[me]));
    free(block);
  }
#pragma omp parallel num_threads(threads)
  CHECK(mine == 1000 + omp_get_thread_num());
}

/* --- threads that wait for each other without a word to the runtime */

static void flags(void) {
  static atomic_int turn;
  atomic_store(&turn, 0);
#pragma omp parallel num_threads(threads)
  {
    const int me = omp_get_thread_num();
    while (atomic_load(&turn) != threads - 1 - me) /* the last one first, and nobody gives way */
      ;
    atomic_store(&turn, threads - me);
#pragma omp barrier
    CHECK(atomic_load(&turn) == threads);
  }
}

static void mutexes(void) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  int count = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp barrier
    pthread_mutex_lock(&mutex);
    const int before = count;
    sched_yield();
    count = before + 1;
    pthread_mutex_unlock(&mutex);
  }
  CHECK(count == threads);
}

static void pipes(void) {
  int ends[kMost][2];
  for (int i = 0; i < threads; ++i) CHECK(pipe(ends[i]) == 0);
#pragma omp parallel num_threads(threads)
  {
    const int me = omp_get_thread_num();
    char byte = 'x';
    if (me != threads - 1) CHECK(read(ends[me + 1][0], &byte, 1) == 1); /* from the next one, which waits, too */
    CHECK(write(ends[me][1], &byte, 1) == 1);
#pragma omp barrier
    CHECK(byte == 'x');
  }
  for (int i = 0; i < threads; ++i) close(ends[i][0]), close(ends[i][1]);
}

/* --- ends and beginnings */

static void forks(void) {
  const pid_t between = fork();
  if (between == 0) {
    int sum = 0;
    for (int i = 0; i < 5; ++i) {
#pragma omp parallel num_threads(threads) reduction(+ : sum)
      {
#pragma omp barrier
        ++sum;
      }
    }
    _exit(sum == 5 * threads ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(between, &status, 0) == between && status == 0);
#pragma omp parallel num_threads(threads)
  {
#pragma omp barrier
    if (omp_get_thread_num() == threads - 1) {
      const pid_t child = fork();
      if (child == 0) _exit(sched_yield() == 0 ? 7 : 1);
      int outcome = -1;
      CHECK(waitpid(child, &outcome, 0) == child && WIFEXITED(outcome) && WEXITSTATUS(outcome) == 7);
    }
#pragma omp barrier
  }
}

static void* master(void* argument) {
  for (int i = 0; i < 5; ++i) barriers();
  if (argument) pthread_exit(NULL);
  return NULL;
}

static void masters(void) {
  pthread_t some[3];
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&some[i], NULL, master, i == 1 ? &some : NULL) == 0);
  for (int i = 0; i < 3; ++i) pthread_join(some[i], NULL);
}

static void sizes(void) {
  const int before = threads;
  for (int size = 2; size <= before; size = size * 3 / 2 + 1) {
    threads = size;
    for (int i = 0; i < 4; ++i) barriers(), own();
  }
  threads = before;
}

static void settings(void) {
  for (int i = 0; i < 4; ++i) {
    barriers();
    omp_set_schedule(i % 2 ? omp_sched_dynamic : omp_sched_static, 2);
    loops();
  }
#pragma omp parallel num_threads(threads)
  omp_set_num_threads(3 + omp_get_thread_num());
  barriers();
}

static atomic_int alarms;
static void on_signal(int signal) {
  (void)signal;
  atomic_fetch_add(&alarms, 1);
  errno = EIO;
}
static void signals(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
#pragma omp parallel num_threads(threads)
  {
    for (int i = 0; i < 5; ++i) {
      if (omp_get_thread_num() == i) kill(getpid(), SIGUSR1);
#pragma omp barrier
    }
  }
  CHECK(atomic_load(&alarms) > 0);
}

static const struct {
  const char* name;
  void (*run)(void);
  int once; /* the rest is run `rounds` times */
} parts[] = {{"barriers", barriers, 0}, {"loops", loops, 0},     {"singles", singles, 0},   {"criticals", criticals, 0},
             {"ordered", in_order, 0},  {"tasks", tasks, 0},     {"detached", detached, 0}, {"nested", inside, 0},
             {"own", own, 0},           {"signals", signals, 0}, {"flags", flags, 1},       {"mutexes", mutexes, 1},
             {"pipes", pipes, 1},       {"forks", forks, 1},     {"masters", masters, 1},   {"sizes", sizes, 1},
             {"settings", settings, 1}};

int main(int count, char** arguments) {
  const char* what = count > 1 ? arguments[1] : "all";
  if (count > 2) threads = atoi(arguments[2]);
  if (count > 3) rounds = atoi(arguments[3]);
  int ran = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    if (strcmp(what, parts[i].name) != 0 && strcmp(what, "all") != 0) continue;
    for (int round = 0; round < (parts[i].once ? 3 : rounds); ++round) parts[i].run();
    ran = 1;
  }
  CHECK(ran);
  puts("ok");
  return 0;
}
