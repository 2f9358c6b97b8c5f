/* A team of threads that crosses a Smelt barrier a million times.
 *   cc -O2 barrier.c $(pkg-config --cflags --libs smelt) -pthread -o barrier && ./barrier 2
 */
#include <pthread.h>
#include <smelt/smelt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kEpisodes = 1000000 };
static smelt_barrier *barrier;

static void *member(void *number) {
  const unsigned me = (unsigned)(size_t)number;
  for (int i = 0; i < kEpisodes; ++i) smelt_barrier_wait(barrier, me);
  return NULL;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  const int asked = argc > 1 ? atoi(argv[1]) : 2;
  if (asked < 1 || asked > SMELT_MAX_PARTICIPANTS) {
    fprintf(stderr, "usage: barrier THREADS (1 to %d)\n", SMELT_MAX_PARTICIPANTS);
    return 2;
  }
  const unsigned threads = (unsigned)asked;
  smelt_context *context = NULL;
  int error = smelt_context_create(NULL, threads, NULL, NULL, &context);
  if (!error) error = smelt_barrier_create(context, &barrier);
  if (error) {
    fprintf(stderr, "barrier: %s\n", strerror(-error));
    return 1;
  }
  pthread_t *others = calloc(threads, sizeof *others);
  const double start = seconds();
  for (size_t i = 1; i < threads; ++i) pthread_create(&others[i], NULL, member, (void *)i);
  member(NULL);
  for (size_t i = 1; i < threads; ++i) pthread_join(others[i], NULL);
  printf("%u threads, pattern %s: %.0f ns per barrier\n", threads, smelt_context_pattern(context),
         (seconds() - start) / kEpisodes * 1e9);
  free(others);
  smelt_barrier_free(barrier);
  smelt_context_free(context);
  return 0;
}
