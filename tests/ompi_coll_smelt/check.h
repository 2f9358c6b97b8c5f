// What the test programs share: start and end, one line per failure, guarded buffers, repeatable random numbers and
// the message lengths around which a collective may change its method.
#ifndef SMELT_TESTS_OMPI_COLL_SMELT_CHECK_H
#define SMELT_TESTS_OMPI_COLL_SMELT_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kSkipped = 77, kGuardBytes = 64, kFill = 0xA5, kMostCounts = 96 };

static int world_rank, world_size;
static int full;   // --full: everything; otherwise (--quick) what fits into seconds
static int light;  // --light, or more ranks than CPUs: waiting is slow then, so do less

// One line, written at once so that the ranks' lines do not mix, and the end of the job.
__attribute__((format(printf, 1, 2), noreturn)) static inline void fail(const char *format, ...) {
  char text[600];
  int length = snprintf(text, sizeof text, "FAILED: rank %d of %d: ", world_rank, world_size);
  va_list arguments;
  va_start(arguments, format);
  length += vsnprintf(text + length, sizeof text - 2 - (size_t)length, format, arguments);
  va_end(arguments);
  if (length > (int)sizeof text - 2) length = (int)sizeof text - 2;
  text[length++] = '\n';
  if (write(STDERR_FILENO, text, (size_t)length) < 0) perror("write");
  MPI_Abort(MPI_COMM_WORLD, 1);
  _Exit(1);
}

#define CHECK(condition)                                                 \
  do {                                                                   \
    if (!(condition)) fail("%s:%d: %s", __FILE__, __LINE__, #condition); \
  } while (0)

static inline int has_argument(int argc, char **argv, const char *wanted) {
  for (int i = 1; i < argc; ++i)
    if (strcmp(argv[i], wanted) == 0) return 1;
  return 0;
}

// The number after `name` on the command line, or `otherwise`.
static inline long number_argument(int argc, char **argv, const char *name, long otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (strcmp(argv[i], name) == 0) return strtol(argv[i + 1], NULL, 10);
  return otherwise;
}

static inline void start_threaded(int *argc, char ***argv, int wanted, int *provided) {
  MPI_Init_thread(argc, argv, wanted, provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  full = has_argument(*argc, *argv, "--full");
  light = has_argument(*argc, *argv, "--light") || world_size > sysconf(_SC_NPROCESSORS_ONLN);
}

static inline void start(int *argc, char ***argv) {
  int provided;
  start_threaded(argc, argv, MPI_THREAD_SINGLE, &provided);
}

// "ok" comes from rank 0 after MPI_Finalize, hence after every rank has passed all its checks.
static inline int finish(void) {
  MPI_Finalize();
  if (world_rank == 0) puts("ok");
  return 0;
}

// All ranks stop together; the driver shows the line.
static inline int skip(const char *reason) {
  if (world_rank == 0) printf("skipped: %s\n", reason);
  MPI_Finalize();
  return kSkipped;
}

// A well mixed 64-bit number for three small ones (the finalizer of SplitMix64 after a linear combination).
static inline uint64_t mix(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t x = a * 0x9E3779B97F4A7C15u + b * 0xC2B2AE3D27D4EB4Fu + c * 0x165667B19E3779F9u + 1;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

static inline uint64_t next_random(uint64_t *state) { return mix(++*state, 7, 11); }

// Memory with guard bytes on both sides; a write outside is noticed, what is inside starts as kFill.
typedef struct guarded {
  unsigned char *whole, *data;
  size_t bytes;
} guarded;

static inline guarded guarded_new(size_t bytes) {
  guarded g = {malloc(bytes + 2 * kGuardBytes), NULL, bytes};
  if (g.whole == NULL) fail("no memory for %zu bytes", bytes);
  g.data = g.whole + kGuardBytes;
  memset(g.whole, kFill, bytes + 2 * kGuardBytes);
  return g;
}

// The first byte, counted from data, at which the guards were overwritten; 0 and *intact = 1 where none was.
static inline ptrdiff_t guarded_damage(const guarded *g, int *intact) {
  *intact = 0;
  for (int i = 0; i < kGuardBytes; ++i) {
    if (g->whole[i] != kFill) return i - kGuardBytes;
    if (g->data[g->bytes + (size_t)i] != kFill) return (ptrdiff_t)g->bytes + i;
  }
  *intact = 1;
  return 0;
}

static inline void guarded_free(guarded *g) {
  free(g->whole);
  g->whole = g->data = NULL;
}

// What an operation does to its buffer: the first differing byte, or -1.
static inline ptrdiff_t first_difference(const void *got, const void *wanted, size_t bytes) {
  const unsigned char *a = got, *b = wanted;
  if (memcmp(a, b, bytes) == 0) return -1;
  for (size_t i = 0; i < bytes; ++i)
    if (a[i] != b[i]) return (ptrdiff_t)i;
  return -1;
}

// Types, ready to use.
static inline MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

static inline MPI_Datatype resized(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent) {
  MPI_Datatype result;
  MPI_Type_create_resized(type, lower, extent, &result);
  MPI_Type_free(&type);
  return committed(result);
}

static inline int add_count(int *counts, int n, size_t count) {
  for (int i = 0; i < n; ++i)
    if ((size_t)counts[i] == count) return n;
  counts[n] = (int)count;
  return n + 1;
}

// Counts of elements of `size` packed bytes around the lengths at which methods change.
// level 0: a handful; 1: all up to 128 KB; 2: with 1 MB + 1 element and 4 MB.
static inline int counts_of(size_t size, int level, int *counts) {
  static const size_t few[] = {1, 24, 56, 57, 512, 2049, 16385};
  static const size_t small[] = {1, 7, 8, 24, 25, 48, 55, 56, 57, 64, 448, 512, 2047, 2048, 2049, 4095, 4096, 4097};
  int n = 0;
  if (level == 0) {
    for (size_t i = 0; i < sizeof few / sizeof *few; ++i) n = add_count(counts, n, (few[i] + size - 1) / size);
    return n;
  }
  for (size_t i = 0; i < sizeof small / sizeof *small; ++i) n = add_count(counts, n, (small[i] + size - 1) / size);
  for (size_t bytes = 8 << 10; bytes <= 128 << 10; bytes *= 2)
    for (size_t offset = 0; offset < 3; ++offset)
      if (bytes / size + offset > 1) n = add_count(counts, n, bytes / size + offset - 1);
  if (level == 2) {
    n = add_count(counts, n, (1 << 20) / size + 1);
    n = add_count(counts, n, (4 << 20) / size);
  }
  return n;
}

#endif
