// Reductions of teams of 2 to 9 threads, in every form that compilers have: at the end of a loop with its barrier and
// without, of a region, of several variables (too many for atomics), of an array, of a user's own kind; sums, where the
// team's size decides the method, must come out right each time, and be there for all threads behind the barrier.
#include <omp.h>
#include <unistd.h>

#include "../gomp_shim/check.h"

struct Pair {
  long sum, most;
};
static void join(struct Pair* into, const struct Pair* from) {
  into->sum += from->sum;
  if (from->most > into->most) into->most = from->most;
}
#pragma omp declare reduction(pairs         \
                              : struct Pair \
                              : join(&omp_out, &omp_in)) initializer(omp_priv = (struct Pair){0, -1})

enum { kItems = 200 };
static const long kSum = (long)kItems * (kItems - 1) / 2;

static void check_all(int threads, int rounds) {
  long sum = 0, bits = 0, least = 0;
  double weight = 0;
  long table[5] = {0};
  struct Pair pair = {0, -1};
#pragma omp parallel num_threads(threads)
  {
    for (int r = 0; r < rounds; ++r) {
#pragma omp single
      {
        sum = bits = 0;
        least = kItems;
        weight = 0;
        pair = (struct Pair){0, -1};
        for (int i = 0; i < 5; ++i) table[i] = 0;
      }
#pragma omp for reduction(+ : sum, weight) reduction(| : bits) reduction(min : least)
      for (int i = 0; i < kItems; ++i) {
        sum += i;
        weight += i;
        bits |= 1l << i % 60;
        if (i + r < least) least = i + r;
      }
      CHECK(sum == kSum && weight == (double)kSum && bits == (1l << 60) - 1 && least == r);
#pragma omp for reduction(+ : table) schedule(dynamic, 3)
      for (int i = 0; i < kItems; ++i) table[i % 5] += i;
      long all = 0;
      for (int i = 0; i < 5; ++i) all += table[i];
      CHECK(all == kSum);
#pragma omp for reduction(pairs : pair)
      for (int i = 0; i < kItems; ++i) join(&pair, &(struct Pair){i, i});
      CHECK(pair.sum == kSum && pair.most == kItems - 1);
#pragma omp barrier
#pragma omp single
      pair = (struct Pair){0, -1};
#pragma omp for reduction(pairs : pair) nowait
      for (int i = 0; i < kItems; ++i) join(&pair, &(struct Pair){i, i});
#pragma omp barrier
      CHECK(pair.sum == kSum && pair.most == kItems - 1);
#pragma omp barrier
      // Tasks that are waiting when a reduction comes, and one more after it.
      static long run, made;
#pragma omp single
      run = made = sum = 0;
#pragma omp task shared(run)
      {
#pragma omp atomic
        ++run;
      }
#pragma omp atomic
      ++made;
#pragma omp for reduction(+ : sum)
      for (int i = 0; i < kItems; ++i) sum += i;
      CHECK(sum == kSum);
#pragma omp barrier
      CHECK(run == made && made == omp_get_num_threads());
#pragma omp barrier
      // A task that is made late, by each thread in turn: others wait, and have taken up values, when it comes.
#pragma omp single
      pair = (struct Pair){0, -1}, run = 0;
      if (omp_get_thread_num() == r % omp_get_num_threads()) usleep(300);
#pragma omp for reduction(pairs : pair) schedule(static)
      for (int i = 0; i < kItems; ++i) {
        if (i == r % omp_get_num_threads() * kItems / omp_get_num_threads()) {
#pragma omp task shared(run)
          {
#pragma omp atomic
            ++run;
          }
        }
        join(&pair, &(struct Pair){i, i});
      }
      CHECK(pair.sum == kSum && pair.most == kItems - 1 && run >= 1);
#pragma omp barrier
    }
  }
  long of_region = 0, tasks = 0;
#pragma omp parallel num_threads(threads) reduction(+ : of_region) reduction(task, + : tasks)
  {
    of_region += omp_get_thread_num() + 1;
#pragma omp task in_reduction(+ : tasks)
    tasks += 7;
  }
  CHECK(of_region == (long)threads * (threads + 1) / 2 && tasks == 7l * threads);
}

int main(void) {
  omp_set_dynamic(0);
  for (int threads = 1; threads <= 9; ++threads) check_all(threads, 20);
  for (int i = 0; i < 40; ++i) check_all(2 + i * 5 % 8, 2);
  puts("ok");
  return 0;
}
