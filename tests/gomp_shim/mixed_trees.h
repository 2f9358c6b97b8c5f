// Trees of random tasks of both kinds, libgomp's and ours, that make one another, and regions full of them. Included
// by mixed.c. The oracle is sequential: what a tree adds up to is computed by the same recursion without tasks. Looked
// at are
//
//   sums      at every taskwait (the children's bodies), end of a taskgroup, region and barrier (all below)
//   rule      a thread that waits inside a task may run descendants of that task only (OpenMP's task scheduling
//             constraint): whoever begins a body looks what this thread was at
//   once      every iteration of a loop, exactly
#ifndef SMELT_TESTS_GOMP_SHIM_MIXED_TREES_H
#define SMELT_TESTS_GOMP_SHIM_MIXED_TREES_H

#include "mixed_common.h"

#ifndef UNTIED  // empty for libomp 14, which asserts that taskwaits in such tasks have a tied one above
#define UNTIED untied
#endif

enum { kFrames = 1 << 18, kWide = 5, kRoot = -1 };

// ---- the parents of tasks, for the rule ----

// Of a body, or of a region's implicit tasks together. Not used again within a region, so that a parent may be gone.
static int parent_of[kFrames];
static int frames;
static _Thread_local int running = kRoot;

static int new_frame(int parent) {
  const int frame = __atomic_fetch_add(&frames, 1, __ATOMIC_RELAXED);
  EXPECT(frame < kFrames, "too large a tree; the test is wrong");
  parent_of[frame] = parent;
  return frame;
}

// The body of `frame` begins on this thread. Returns what was running.
static int enter(int frame) {
  const int before = running;
  int at = frame;
  while (at > before) at = parent_of[at];  // parents have smaller numbers
  EXPECT(at == before, "a stranger on top of a task that waits");
  running = frame;
  return before;
}
static void leave(int before) { running = before; }

// ---- trees of tasks ----

static long weight(unsigned node) { return 1 + node % 1000; }
// A tree with the bit set has no tasks of libgomp's, whose makers would make no others until the next barrier.
static const unsigned kOurs = 1u << 31;
static unsigned child_of(unsigned node, int i) { return (hash(node, (unsigned)i + 1) & ~kOurs) | (node & kOurs); }
static int width_of(unsigned node, int depth) { return depth == 0 ? 0 : (int)(hash(node, 3) % (kWide + 1)); }

// What a node does with its children.
enum Kind { kWaits, kRuns, kGroups, kUndeferred, kFinal, kDepends, kPriority, kLoops, kInside, kMixes, kKinds };
static enum Kind kind_of(unsigned node) {
  static const enum Kind ours[] = {kWaits, kWaits, kRuns, kGroups, kGroups, kGroups, kUndeferred, kFinal};
  return node & kOurs ? ours[hash(node, 5) % 8] : (enum Kind)(hash(node, 5) % kKinds);
}

// Sequential: of a node and all below it.
static long total(unsigned node, int depth) {
  long sum = weight(node);
  for (int i = 0; i < width_of(node, depth); ++i) sum += total(child_of(node, i), depth - 1);
  return sum;
}
static long total_below(unsigned node, int depth) { return total(node, depth) - weight(node); }

static void grow(unsigned node, int depth, long* tally, int frame);

// The body of a task.
static void body(unsigned node, int depth, long* tally, int frame) {
  const int before = enter(frame);
  delay(node);
  grow(node, depth, tally, frame);
  leave(before);
}
// Of one whose maker waits for it: *done, plain on purpose, must be visible behind the taskwait.
static void awaited(unsigned node, int depth, long* tally, int frame, int* done) {
  body(node, depth, tally, frame);
  *done = 1;
}

// A region inside a task, or on its own. Repeats with the same size, now and then with another.
static void inside(unsigned node, int depth, long* tally, int frame) {
  const int width = width_of(node, depth), size = 2 + (int)(node % 5 == 0);
  const int root = new_frame(frame);
  int times[40] = {0}, mark[4 * 16] = {0};
  long here = 0, reduced = 0, members = 0;
#pragma omp parallel num_threads(size) reduction(+ : reduced)
  {
    const int before = running, me = omp_get_thread_num(), now = omp_get_num_threads();
    running = root;
#pragma omp for schedule(dynamic, 3) nowait
    for (int i = 0; i < 40; ++i) ++times[i];
    mark[me * 16] = 1;
#pragma omp single nowait
    for (int i = 0; i < width; ++i) {
      const unsigned child = child_of(node, i);
      const int f = new_frame(root);
#pragma omp task firstprivate(child, depth, f) shared(here)
      body(child, depth - 1, &here, f);
    }
#pragma omp barrier
    for (int t = 0; t < now; ++t) EXPECT(mark[t * 16] == 1, "a thread left a barrier early");
    EXPECT(read_of(&here) == total_below(node, depth), "a barrier was left before its tasks were over");
    reduced += me + 1;
    if (me == 0) members = now;
    running = before;
  }
  EXPECT(reduced == members * (members + 1) / 2, "a reduction");
  for (int i = 0; i < 40; ++i) EXPECT(times[i] == 1, "an iteration was not run once");
  add(tally, here);
}

static void grow(unsigned node, int depth, long* tally, int frame) {
  const int width = width_of(node, depth);
  int done[kWide] = {0}, order = 0;
  long here = 0;
  const enum Kind kind = kind_of(node);
  if (kind == kInside && width > 0 && omp_get_level() < 2) {
    inside(node, depth, tally, frame);
    add(tally, weight(node));
    return;
  }
  switch (kind) {
    case kWaits:
    case kInside:
      for (int i = 0; i < width; ++i) {
        const unsigned child = child_of(node, i);
        const int f = new_frame(frame);
#pragma omp task firstprivate(child, depth, tally, f, i) shared(done) UNTIED
        awaited(child, depth - 1, tally, f, &done[i]);
      }
#pragma omp taskwait
      for (int i = 0; i < width; ++i) EXPECT(done[i], "a taskwait was left before the children were over");
      break;
    case kRuns:
      for (int i = 0; i < width; ++i) {
        const unsigned child = child_of(node, i);
        const int f = new_frame(frame);
#pragma omp task firstprivate(child, depth, tally, f)
        body(child, depth - 1, tally, f);
      }
      break;
    case kGroups:
#pragma omp taskgroup
      for (int i = 0; i < width; ++i) {
        const unsigned child = child_of(node, i);
        const int f = new_frame(frame);
#pragma omp task firstprivate(child, depth, f) shared(here) mergeable
        body(child, depth - 1, &here, f);
      }
      EXPECT(read_of(&here) == total_below(node, depth), "a taskgroup was left before all below it was over");
      add(tally, here);
      break;
    case kUndeferred:
      for (int i = 0; i < width; ++i) {
        const unsigned child = child_of(node, i);
        const int f = new_frame(frame);
#pragma omp task firstprivate(child, depth, tally, f, i) shared(done) if (0)
        awaited(child, depth - 1, tally, f, &done[i]);
        EXPECT(done[i], "an undeferred task was not over");
      }
      break;
    case kFinal:
      for (int i = 0; i < width; ++i) {
        const unsigned child = child_of(node, i);
        const int f = new_frame(frame);
#pragma omp task firstprivate(child, depth, f, i) shared(done, here) final(1)
        {
          EXPECT(omp_in_final(), "a final task does not know it");
          awaited(child, depth - 1, &here, f, &done[i]);
        }
      }
#pragma omp taskwait
      // Everything below a final task is included in it.
      EXPECT(read_of(&here) == total_below(node, depth), "a taskwait was left before final children were over");
      add(tally, here);
      break;
    case kDepends:
      for (int i = 0; i < width; ++i) {
        const unsigned child = child_of(node, i);
        const int f = new_frame(frame);
#pragma omp task firstprivate(child, depth, tally, f, i) shared(done, order) depend(inout : order)
        {
          EXPECT(order == i, "dependent tasks out of order");
          awaited(child, depth - 1, tally, f, &done[i]);
          order = i + 1;
        }
      }
#pragma omp taskwait
      EXPECT(order == width, "a taskwait was left before dependent children were over");
      break;
    case kPriority:
      for (int i = 0; i < width; ++i) {
        const unsigned child = child_of(node, i);
        const int f = new_frame(frame);
#pragma omp task firstprivate(child, depth, tally, f, i) shared(done) priority(i)
        awaited(child, depth - 1, tally, f, &done[i]);
      }
#pragma omp taskwait
      for (int i = 0; i < width; ++i) EXPECT(done[i], "a taskwait was left before children with priorities were over");
      break;
    case kLoops:
      if ((node >> 9) % 2 == 0) {
#pragma omp taskloop firstprivate(node, depth, frame) shared(here) grainsize(1)
        for (int i = 0; i < width; ++i) {  // a task each: what one makes is its child
          body(child_of(node, i), depth - 1, &here, new_frame(frame));
        }
      } else {  // these tasks are libgomp's
        long run = 0;
#pragma omp taskloop firstprivate(node, depth, frame) shared(here) grainsize(1) reduction(+ : run)
        for (int i = 0; i < width; ++i) {
          body(child_of(node, i), depth - 1, &here, new_frame(frame));
          ++run;
        }
        EXPECT(run == width, "a taskloop's reduction");
      }
      EXPECT(read_of(&here) == total_below(node, depth), "a taskloop was left before all below it was over");
      add(tally, here);
      break;
    case kMixes:
    default:
      for (int i = 0; i < width; ++i) {
        const unsigned child = child_of(node, i);
        const int f = new_frame(frame);
        switch ((child >> 7) % 4) {
          case 0:
#pragma omp task firstprivate(child, depth, tally, f, i) shared(done) depend(out : done[i])
            awaited(child, depth - 1, tally, f, &done[i]);
            break;
          case 1:
#pragma omp task firstprivate(child, depth, tally, f, i) shared(done) UNTIED if (child % 3)
            awaited(child, depth - 1, tally, f, &done[i]);
            break;
          case 2:
#pragma omp taskgroup
          {
#pragma omp task firstprivate(child, depth, f, i) shared(done, here)
            awaited(child, depth - 1, &here, f, &done[i]);
#pragma omp taskyield
          }
            EXPECT(done[i], "a taskgroup was left before its member was over");
            break;
          default:
#pragma omp task firstprivate(child, depth, tally, f, i) shared(done)
            awaited(child, depth - 1, tally, f, &done[i]);
        }
      }
#pragma omp taskwait
      for (int i = 0; i < width; ++i) EXPECT(done[i], "a taskwait was left before mixed children were over");
      add(tally, here);
  }
  add(tally, weight(node));
}

// ---- regions ----

// What a team shares.
enum { kTreeSteps = 8 };
static long tally[kTreeSteps + 1];
static int times[kTreeSteps][3][kIterations];
static int number[kTreeSteps];

// One step: the same in all threads, by `common`. Behind it a barrier, at which everything is over and right.
static void step(int s, unsigned common, int size, int root) {
  const int me = omp_get_thread_num(), depth = 2 + (int)(common % 3) + (common & kOurs ? 1 : 0),
            who = (int)(common / 8 % (unsigned)size);
  long expected = 0;
  delay(hash(common, 100 + (unsigned)me));
  switch (common / 1024 % 7) {
    case 0:  // one thread's tree
      expected = total(common, depth);
      if (me == who) grow(common, depth, &tally[s], root);
      break;
    case 1:  // everybody's
      for (int t = 0; t < size; ++t) expected += total(child_of(common, t), depth - 1);
      grow(child_of(common, me), depth - 1, &tally[s], root);
      break;
    case 2: expected = total(common, depth);
#pragma omp single
      grow(common, depth, &tally[s], root);
      EXPECT(read_of(&tally[s]) == expected, "the single's barrier was left before its tasks were over");
      break;
    case 3:  // a chain of loops, with tasks in it
      expected = 0;
      for (int i = 0; i < kIterations; ++i) expected += i % 16 == 0 ? total(hash(common, (unsigned)i), 1) : 0;
#pragma omp for schedule(dynamic) nowait
      for (int i = 0; i < kIterations; ++i) {
        ++times[s][0][i];
        if (i % 16 == 0) grow(hash(common, (unsigned)i), 1, &tally[s], root);
      }
#pragma omp for schedule(dynamic, 4) nowait
      for (int i = kIterations - 1; i >= 0; --i) ++times[s][1][i];
#pragma omp for schedule(nonmonotonic : dynamic, 2) nowait
      for (unsigned long long i = 0; i < kIterations; ++i) {
        ++times[s][2][i];
        delay(hash(common, (unsigned)i));
      }
#pragma omp barrier
      for (int i = 0; i < kIterations; ++i)
        EXPECT(times[s][0][i] == 1 && times[s][1][i] == 1 && times[s][2][i] == 1, "an iteration was not run once");
      break;
    case 4: {  // copyprivate, beside a tree
      int copied = -1;
      expected = total(common, depth);
      if (me == who) grow(common, depth, &tally[s], root);
#pragma omp single copyprivate(copied)
      copied = number[s] = (int)(common % 1000);
      EXPECT(copied == (int)(common % 1000), "copyprivate");
      break;
    }
    case 5: {  // task reduction
      static int sum;
#pragma omp single
      sum = 0;
#pragma omp for schedule(dynamic, 2) reduction(+ : sum)
      for (int i = 0; i < 50; ++i) sum += i;
      EXPECT(sum == 1225, "a loop's reduction");
#pragma omp barrier
#pragma omp single
      {
#pragma omp taskgroup task_reduction(+ : sum)
        for (int i = 0; i < 20; ++i) {
#pragma omp task in_reduction(+ : sum) firstprivate(i)
          sum += i;
        }
        EXPECT(sum == 1225 + 190, "a task reduction");
        grow(common, depth, &tally[s], root);
      }
      expected = total(common, depth);
      break;
    }
    default:  // one produces, and everybody has a region inside
      expected = total(common, depth - 1);
      inside(hash(common, 900 + (unsigned)me), 1, &tally[kTreeSteps], root);
      if (me == who) grow(common, depth - 1, &tally[s], root);
  }
#pragma omp barrier
  EXPECT(read_of(&tally[s]) == expected, "a barrier was left before its tasks were over");
}

static void run_trees(unsigned state, int threads) {
  memset(tally, 0, sizeof tally);
  memset(times, 0, sizeof times);
  frames = 0;
  const int root = new_frame(kRoot), steps = 1 + (int)(state % (kTreeSteps - 1));
  long left = 0;
#pragma omp parallel num_threads(threads) firstprivate(root)
  {
    const int before = running, size = omp_get_num_threads();
    running = root;
    for (int s = 0; s < steps; ++s) step(s, hash(state, (unsigned)s), size, root);
#pragma omp masked
    grow(hash(state, 999), 3, &left, root);  // over at the end of the region
    running = before;
  }
  EXPECT(left == total(hash(state, 999), 3), "a region was left before its tasks were over");
}

#endif
