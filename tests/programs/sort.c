/* Merge sort by tasks: one thread starts, every half above the cutoff is a task of its own, taskwait before each merge,
 * and all other threads wait at the end of a single, where they are given the tasks.
 *
 *   sort [RECORDS] [CUTOFF] [ROUNDS]
 *
 * Stable: records with equal keys stay in their order. So there is one right result, whoever sorts which part.
 */
#include <string.h>

#include "program.h"

struct record {
  uint32_t key;
  uint32_t place; /* before sorting */
};

/* Few different keys: stability is put to the test. */
static uint32_t key_of(long round, long count, long place) {
  return (uint32_t)(random_number((uint64_t)(round * count + place)) % (uint64_t)(count / 8 + 1));
}

/* Merges from[begin, middle) and from[middle, end) into `to`. */
static void merge(const struct record* from, struct record* to, long begin, long middle, long end) {
  long left = begin, right = middle;
  for (long i = begin; i < end; i++)
    to[i] = left < middle && (right == end || from[left].key <= from[right].key) ? from[left++] : from[right++];
}

static void insertion_sort(struct record* records, long begin, long end) {
  for (long i = begin + 1; i < end; i++) {
    const struct record moving = records[i];
    long hole = i;
    for (; hole > begin && records[hole - 1].key > moving.key; hole--) records[hole] = records[hole - 1];
    records[hole] = moving;
  }
}

/* Sorts records[begin, end); `spare` holds a copy of it, and is overwritten. */
static void sort_part(struct record* records, struct record* spare, long begin, long end, long cutoff) {
  const long middle = begin + (end - begin) / 2;
  if (end - begin <= 16) {
    insertion_sort(records, begin, end);
    return;
  }
  if (end - begin > cutoff) {
#pragma omp task
    sort_part(spare, records, begin, middle, cutoff);
#pragma omp task
    sort_part(spare, records, middle, end, cutoff);
#pragma omp taskwait
  } else {
    sort_part(spare, records, begin, middle, cutoff);
    sort_part(spare, records, middle, end, cutoff);
  }
  merge(spare, records, begin, middle, end);
}

int main(int argc, char** argv) {
  const long count = size_argument(argc, argv, 1, 60000, 1, 100000000);
  const long cutoff = size_argument(argc, argv, 2, 500, 16, 100000000);
  const long rounds = size_argument(argc, argv, 3, 3, 1, 1000);
  const size_t bytes = (size_t)count * sizeof(struct record);
  struct record *records = malloc(bytes), *spare = malloc(bytes);
  char* seen = malloc((size_t)count);
  if (!records || !spare || !seen) fail("no memory");

  for (long round = 0; round < rounds; round++) {
#pragma omp parallel
    {
#pragma omp for schedule(static)
      for (long i = 0; i < count; i++) spare[i] = records[i] = (struct record){key_of(round, count, i), (uint32_t)i};
#pragma omp single
      sort_part(records, spare, 0, count, cutoff);
      /* The single's barrier ends when all tasks are done. */
    }

    memset(seen, 0, (size_t)count);
    for (long i = 0; i < count; i++) {
      const struct record r = records[i];
      if (r.place >= (uint64_t)count || seen[r.place]++) fail("a record was lost");
      if (r.key != key_of(round, count, r.place)) fail("a record was damaged");
      if (i > 0 && records[i - 1].key > r.key) fail("not sorted");
      if (i > 0 && records[i - 1].key == r.key && records[i - 1].place > r.place) fail("not stable");
    }
    printf("round %ld: %ld records, keys %u to %u, order %016llx\n", round, count, records[0].key,
           records[count - 1].key, checksum(records, bytes));
  }
  free(records);
  free(spare);
  free(seen);
  return 0;
}
