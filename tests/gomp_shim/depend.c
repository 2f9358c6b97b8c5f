// Tasks with dependences: random graphs, held against what the same program does without tasks.
//
// Every cell has a version, which a writer must find as its number of earlier writers says, with all readers of that
// version done; and a reader as well, from its beginning to its end. Cells are not atomic: their order is the tasks'.
//   depend [ROUNDS [SEED]]
#include <omp.h>
#include <string.h>

#include "check.h"

enum { kCells = 12, kUses = 4, kFan = 300 };

typedef struct {
  int version;
  int readers;  // that are done with it
  char fill[56];
} Cell;

typedef struct {
  int cell, write, version, readers;
} Use;

typedef struct {
  Use uses[kUses];
  int count, spin;
  Cell* cells;
} Job;

// What has been planned so far.
typedef struct {
  int version[kCells], readers[kCells];
  Cell cells[kCells];
} Plan;

static int wrong, ended;

static void run(const Job* job) {
  int bad = 0;
  for (int i = 0; i < job->count; ++i) {
    const Use* use = &job->uses[i];
    Cell* cell = &job->cells[use->cell];
    bad += cell->version != use->version;
    if (use->write) {
      bad += __atomic_load_n(&cell->readers, __ATOMIC_RELAXED) != use->readers;
      cell->version = -1;
    }
  }
  for (volatile int i = 0; i < job->spin; i = i + 1) {
  }
  for (int i = 0; i < job->count; ++i) {
    const Use* use = &job->uses[i];
    Cell* cell = &job->cells[use->cell];
    bad += cell->version != (use->write ? -1 : use->version);
    if (use->write) {
      cell->readers = 0;
      cell->version = use->version + 1;
    } else {
      __atomic_fetch_add(&cell->readers, 1, __ATOMIC_RELAXED);
    }
  }
  if (bad) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
}

// The next task of the program without tasks: `writes` of its uses write.
static Job plan(Plan* p, unsigned* state, int count, int writes) {
  Job job = {
      .count = count, .cells = p->cells, .spin = (int)(next_random(state) % 5 == 0 ? next_random(state) % 3000 : 0)};
  for (int i = 0; i < count; ++i) {
    int cell, again;
    do {
      cell = (int)(next_random(state) % kCells);
      again = 0;
      for (int k = 0; k < i; ++k) again |= job.uses[k].cell == cell;
    } while (again);
    Use* use = &job.uses[i];
    *use = (Use){cell, i < writes, p->version[cell], p->readers[cell]};
    if (use->write) {
      ++p->version[cell];
      p->readers[cell] = 0;
    } else {
      ++p->readers[cell];
    }
  }
  return job;
}

#define AT(i) job.cells[job.uses[i].cell]

// One task of any form. 1: made; the mixed ones are libgomp's.
static void make(Plan* p, unsigned* state, int mixed) {
  Cell* const c = p->cells;
  switch (next_random(state) % (mixed ? 13 : 11)) {
    case 0:
    case 1: {
      const Job job = plan(p, state, 1, 1);
#pragma omp task firstprivate(job) depend(inout : AT(0))
      run(&job);
      break;
    }
    case 2:
    case 3: {
      const Job job = plan(p, state, 1, 0);
#pragma omp task firstprivate(job) depend(in : AT(0)) untied
      run(&job);
      break;
    }
    case 4: {
      const Job job = plan(p, state, 3, 1);
#pragma omp task firstprivate(job) depend(out : AT(0)) depend(in : AT(1), AT(2))
      run(&job);
      break;
    }
    case 5: {
      const Job job = plan(p, state, 2, 1);
#pragma omp task firstprivate(job) depend(mutexinoutset : AT(0)) depend(in : AT(1))
      run(&job);
      break;
    }
    case 6: {  // the same address twice: the stronger counts
      const Job job = plan(p, state, 2, 2);
#pragma omp task firstprivate(job) depend(in : AT(0)) depend(inout : AT(0), AT(1)) depend(in : AT(1))
      run(&job);
      break;
    }
    case 7: {
      const Job job = plan(p, state, kUses, 2);
      omp_depend_t reads, writes;
#pragma omp depobj(reads) depend(in : AT(3))
#pragma omp depobj(writes) depend(inout : AT(1))
#pragma omp task firstprivate(job) depend(depobj : reads, writes) depend(out : AT(0)) depend(in : AT(2))
      run(&job);
#pragma omp depobj(reads) destroy
#pragma omp depobj(writes) destroy
      break;
    }
    case 8: {
      const Job job = plan(p, state, kUses, 2);
#pragma omp task firstprivate(job) depend(iterator(int i = 0 : 2), out                              \
                                          : c[job.uses[i].cell]) depend(iterator(int i = 2 : 4), in \
                                                                        : c[job.uses[i].cell])
      run(&job);
      break;
    }
    case 9: {  // at once, but not before its turn
      const Job job = plan(p, state, 2, 1);
#pragma omp task firstprivate(job) depend(inout : AT(0)) depend(in : AT(1)) if (0)
      run(&job);
      break;
    }
    case 10: {  // waits for writers of one cell, and for all of another
      const int read = (int)(next_random(state) % kCells), written = (int)(next_random(state) % kCells);
#pragma omp taskwait depend(in : c[read]) depend(out : c[written])
      if (c[read].version != p->version[read] || c[written].version != p->version[written] ||
          __atomic_load_n(&c[written].readers, __ATOMIC_RELAXED) != p->readers[written])
        __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
      return;
    }
    case 11: {
      const Job job = plan(p, state, 2, 1);
      omp_event_handle_t event;
#pragma omp task firstprivate(job) depend(inout : AT(0)) depend(in : AT(1)) detach(event)
      {
        run(&job);
        omp_fulfill_event(event);
      }
      break;
    }
    case 12: {
      const Job job = plan(p, state, 2, 1);
#pragma omp task firstprivate(job) depend(inout : AT(0)) depend(in : AT(1)) priority(3)
      run(&job);
      break;
    }
  }
}

static int planned_by(Plan* p, unsigned state, int tasks, int mixed) {
  int made = 0;
  for (int i = 0; i < tasks; ++i) {
    Plan before = *p;
    make(p, &state, mixed && i > tasks / 2);
    made += memcmp(before.version, p->version, sizeof before.version) != 0 ||
            memcmp(before.readers, p->readers, sizeof before.readers) != 0;
  }
  return made;
}

static void held_against(const Plan* p) {
  for (int i = 0; i < kCells; ++i) CHECK(p->cells[i].version == p->version[i] && p->cells[i].readers == p->readers[i]);
}

// One writes, many read, one writes, ...: more become ready at once than a deque holds.
static void fans(void) {
  int value = 0, read = 0, bad = 0;
  for (int k = 0; k < 3; ++k) {
#pragma omp task shared(value, read, bad) firstprivate(k) depend(inout : value)
    {
      for (volatile int i = 0; i < 20000; i = i + 1) {
      }
      bad += __atomic_load_n(&read, __ATOMIC_RELAXED) != k * kFan;
      ++value;
    }
    for (int i = 0; i < kFan; ++i) {
#pragma omp task shared(value, read, bad) firstprivate(k) depend(in : value)
      {
        if (value != k + 1) __atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&read, 1, __ATOMIC_RELAXED);
      }
    }
  }
#pragma omp taskwait
  CHECK(bad == 0 && read == 3 * kFan && value == 3);
}

// Parents end before their children, who wait for each other.
static void orphans(int* chain, int depth) {
#pragma omp task firstprivate(chain, depth)
  {
    for (int i = 0; i < 6; ++i) {
#pragma omp task firstprivate(chain, i) depend(inout : chain[0])
      {
        CHECK(chain[0] == i);
        chain[0] = i + 1;
      }
    }
    if (depth > 0) orphans(chain + 1, depth - 1);
  }
}

// Tiles of a factorisation, as dense linear algebra has it; and children of children that have dependences, too.
static long tiles(int n) {
  static long a[16][16], b[16][16];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) a[i][j] = b[i][j] = i * 7 + j + 1;
  for (int k = 0; k < n; ++k) {
#pragma omp task depend(inout : a[k][k])
    {
#pragma omp task depend(inout : a[k][k]) firstprivate(k)
      a[k][k] = a[k][k] * 3 % 10007;
#pragma omp taskwait depend(in : a[k][k])
    }
    b[k][k] = b[k][k] * 3 % 10007;
    for (int i = k + 1; i < n; ++i) {
#pragma omp task depend(in : a[k][k]) depend(inout : a[i][k])
      a[i][k] = (a[i][k] * 5 + a[k][k]) % 10007;
      b[i][k] = (b[i][k] * 5 + b[k][k]) % 10007;
    }
    for (int i = k + 1; i < n; ++i) {
      for (int j = k + 1; j <= i; ++j) {
#pragma omp task depend(in : a[i][k], a[j][k]) depend(inout : a[i][j])
        a[i][j] = (a[i][j] + a[i][k] * a[j][k]) % 10007;
        b[i][j] = (b[i][j] + b[i][k] * b[j][k]) % 10007;
      }
    }
  }
#pragma omp taskwait
  CHECK(memcmp(a, b, sizeof a) == 0);
  return a[n - 1][n - 1];
}

static void round_of(int threads, unsigned* state) {
  static Plan one, other, inside;
  memset(&one, 0, sizeof one);
  memset(&other, 0, sizeof other);
  memset(&inside, 0, sizeof inside);
  const unsigned seed = next_random(state);
  const int mixed = seed % 3 == 0;
  int made[3] = {0};
  int chain[4] = {0};
  ended = wrong = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp single nowait
    {
      made[0] = planned_by(&one, seed + 1, 300, mixed);
#pragma omp taskwait
      held_against(&one);
    }
#pragma omp single nowait
    made[1] = planned_by(&other, seed + 2, 300, 0);
#pragma omp single nowait
    {
#pragma omp task
      {
#pragma omp taskgroup
        made[2] = planned_by(&inside, seed + 3, 200, mixed);
        held_against(&inside);
      }
    }
#pragma omp barrier
    held_against(&other);
#pragma omp single
    fans();
#pragma omp single nowait
    orphans(chain, 3);
#pragma omp single
    tiles(8);
  }
  CHECK(wrong == 0);
  CHECK(ended == made[0] + made[1] + made[2]);
  for (int i = 0; i < 4; ++i) CHECK(chain[i] == 6);
}

int main(int count, char** argument) {
  const int rounds = count > 1 ? atoi(argument[1]) : 12;
  unsigned state = count > 2 ? (unsigned)atoi(argument[2]) : 1;
  for (int r = 0; r < rounds; ++r) round_of(r / 6 % 2 == 0 ? 2 : 4, &state);
  puts("ok");
  return 0;
}
