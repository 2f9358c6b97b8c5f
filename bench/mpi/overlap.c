/* mpi_overlap: how much of a nonblocking collective is hidden behind computation. A plain MPI program, to be run under
 * one MPI library after the other; the way is that of IMB-NBC (Intel MPI Benchmarks):
 *
 *   1. pure       the nonblocking call and MPI_Wait, nothing between
 *   2. computed   arithmetic that takes as long as that, alone, without MPI
 *   3. together   the call, that computation, MPI_Wait
 *   overlap = (pure + computed - together) / the shorter of pure and computed, between 0 and 1
 *
 * 4. looking    the same with the computation in slices and MPI_Test between them: what a library without a thread of
 *               its own can do if it is given the occasion
 *
 * Each is a tight loop of calls between barriers; its time is the slowest rank's, the figure the median over the
 * batches, and the overlaps are of these medians. Results are checked before and after. One line of JSON per collective
 * and size, with the one-way hop between ranks 0 and 1 just before and after.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node.h"

enum { kSlices = 8, kMostBatches = 101, kGuard = 64, kPage = 4096 };

struct work {
  int rank, ranks;
  size_t bytes;
  double *send, *receive, *row; /* receive: room for all ranks; row: a block for each */
  int *counts, *places;         /* of the blocks of both: all alike */
};

struct kernel {
  const char* name;
  int sized;
  void (*start)(const struct work* work, MPI_Request* request);
  double (*wanted)(const struct work* work, size_t element); /* of the received data */
  int blocks_of_all;                                         /* receives everybody's */
  int root_only;
};

static double value(int rank, size_t element) { return (double)(rank * 131 + (int)(element * 5 & 1023)); }
/* Of a row, the element for rank `to`. */
static double value_for(int rank, int to, size_t element) { return value(rank, element + 3 * (size_t)to); }
static size_t elements(const struct work* w) { return w->bytes / sizeof(double); }

static void start_barrier(const struct work* w, MPI_Request* r) {
  (void)w;
  MPI_Ibarrier(MPI_COMM_WORLD, r);
}
static void start_bcast(const struct work* w, MPI_Request* r) {
  MPI_Ibcast(w->rank == 0 ? w->send : w->receive, (int)elements(w), MPI_DOUBLE, 0, MPI_COMM_WORLD, r);
}
static void start_reduce(const struct work* w, MPI_Request* r) {
  MPI_Ireduce(w->send, w->receive, (int)elements(w), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, r);
}
static void start_allreduce(const struct work* w, MPI_Request* r) {
  MPI_Iallreduce(w->send, w->receive, (int)elements(w), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}
static void start_allgather(const struct work* w, MPI_Request* r) {
  MPI_Iallgather(w->send, (int)elements(w), MPI_DOUBLE, w->receive, (int)elements(w), MPI_DOUBLE, MPI_COMM_WORLD, r);
}

static void start_gather(const struct work* w, MPI_Request* r) {
  MPI_Igather(w->send, (int)elements(w), MPI_DOUBLE, w->receive, (int)elements(w), MPI_DOUBLE, 0, MPI_COMM_WORLD, r);
}
static void start_scatter(const struct work* w, MPI_Request* r) {
  MPI_Iscatter(w->row, (int)elements(w), MPI_DOUBLE, w->receive, (int)elements(w), MPI_DOUBLE, 0, MPI_COMM_WORLD, r);
}
static void start_allgatherv(const struct work* w, MPI_Request* r) {
  MPI_Iallgatherv(w->send, (int)elements(w), MPI_DOUBLE, w->receive, w->counts, w->places, MPI_DOUBLE, MPI_COMM_WORLD,
                  r);
}
static void start_gatherv(const struct work* w, MPI_Request* r) {
  MPI_Igatherv(w->send, (int)elements(w), MPI_DOUBLE, w->receive, w->counts, w->places, MPI_DOUBLE, 0, MPI_COMM_WORLD,
               r);
}
static void start_scatterv(const struct work* w, MPI_Request* r) {
  MPI_Iscatterv(w->row, w->counts, w->places, MPI_DOUBLE, w->receive, (int)elements(w), MPI_DOUBLE, 0, MPI_COMM_WORLD,
                r);
}
static void start_alltoall(const struct work* w, MPI_Request* r) {
  MPI_Ialltoall(w->row, (int)elements(w), MPI_DOUBLE, w->receive, (int)elements(w), MPI_DOUBLE, MPI_COMM_WORLD, r);
}
static void start_alltoallv(const struct work* w, MPI_Request* r) {
  MPI_Ialltoallv(w->row, w->counts, w->places, MPI_DOUBLE, w->receive, w->counts, w->places, MPI_DOUBLE, MPI_COMM_WORLD,
                 r);
}
static void start_reduce_scatter_block(const struct work* w, MPI_Request* r) {
  MPI_Ireduce_scatter_block(w->row, w->receive, (int)elements(w), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}
static void start_reduce_scatter(const struct work* w, MPI_Request* r) {
  MPI_Ireduce_scatter(w->row, w->receive, w->counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}
static void start_scan(const struct work* w, MPI_Request* r) {
  MPI_Iscan(w->send, w->receive, (int)elements(w), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}

static double of_root(const struct work* w, size_t element) { return (void)w, value(0, element); }
static double sum(const struct work* w, size_t element) {
  double result = 0;
  for (int rank = 0; rank < w->ranks; rank++) result += value(rank, element);
  return result;
}
static double of_rank(const struct work* w, size_t element) {
  return value((int)(element / elements(w)), element % elements(w));
}
static double of_root_for_me(const struct work* w, size_t element) { return value_for(0, w->rank, element); }
static double of_rank_for_me(const struct work* w, size_t element) {
  return value_for((int)(element / elements(w)), w->rank, element % elements(w));
}
static double sum_for_me(const struct work* w, size_t element) {
  double result = 0;
  for (int rank = 0; rank < w->ranks; rank++) result += value_for(rank, w->rank, element);
  return result;
}
static double sum_so_far(const struct work* w, size_t element) {
  double result = 0;
  for (int rank = 0; rank <= w->rank; rank++) result += value(rank, element);
  return result;
}

static const struct kernel kernels[] = {
    {"ibarrier", 0, start_barrier, NULL, 0, 0},
    {"ibcast", 1, start_bcast, of_root, 0, 0},
    {"ireduce", 1, start_reduce, sum, 0, 1},
    {"iallreduce", 1, start_allreduce, sum, 0, 0},
    {"iallgather", 1, start_allgather, of_rank, 1, 0},
    {"igather", 1, start_gather, of_rank, 1, 1},
    {"iscatter", 1, start_scatter, of_root_for_me, 0, 0},
    {"iallgatherv", 1, start_allgatherv, of_rank, 1, 0},
    {"igatherv", 1, start_gatherv, of_rank, 1, 1},
    {"iscatterv", 1, start_scatterv, of_root_for_me, 0, 0},
    {"ialltoall", 1, start_alltoall, of_rank_for_me, 1, 0},
    {"ialltoallv", 1, start_alltoallv, of_rank_for_me, 1, 0},
    {"ireduce_scatter_block", 1, start_reduce_scatter_block, sum_for_me, 0, 0},
    {"ireduce_scatter", 1, start_reduce_scatter, sum_for_me, 0, 0},
    {"iscan", 1, start_scan, sum_so_far, 0, 0},
};

static void* memory(size_t bytes) {
  void* const result = aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (!result) {
    fprintf(stderr, "mpi_overlap: no memory for %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return result;
}

static void check(const struct kernel* kernel, const struct work* w) {
  const size_t count = elements(w) * (size_t)(kernel->blocks_of_all ? w->ranks : 1);
  MPI_Request request;
  if (!kernel->wanted) return;
  for (size_t i = 0; i <= count; i++) w->receive[i] = -1;
  kernel->start(w, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const double* const is = strcmp(kernel->name, "ibcast") == 0 && w->rank == 0 ? w->send : w->receive;
  if (kernel->root_only && w->rank != 0) return;
  for (size_t i = 0; i < count; i++)
    if (is[i] != kernel->wanted(w, i)) {
      fprintf(stderr, "mpi_overlap: WRONG RESULT: %s, %zu bytes, rank %d of %d, element %zu: %g instead of %g\n",
              kernel->name, w->bytes, w->rank, w->ranks, i, is[i], kernel->wanted(w, i));
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  if (is == w->receive && w->receive[count] != -1) {
    fprintf(stderr, "mpi_overlap: WRONG RESULT: %s, %zu bytes, rank %d of %d: wrote behind its buffer\n", kernel->name,
            w->bytes, w->rank, w->ranks);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

/* A chain of dependent multiplications and additions: it touches no memory, and its time is the number's. */
static volatile double sink;
static void compute(long steps) {
  double x = sink;
  for (long i = 0; i < steps; i++) x = x * 0.999999 + 1e-9;
  sink = x;
}

struct loop {
  const struct kernel* kernel; /* NULL: computation alone */
  long steps;                  /* of computation in each call */
  int slices;
};

/* The slowest rank's time per call in ns, known to all. */
static double run(const struct loop* loop, const struct work* work, long calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now_ns();
  for (long i = 0; i < calls; i++) {
    MPI_Request request = MPI_REQUEST_NULL;
    int done = 0;
    if (loop->kernel) loop->kernel->start(work, &request);
    for (int s = 0; s < loop->slices; s++) {
      compute(loop->steps / loop->slices);
      if (s + 1 < loop->slices && !done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    if (loop->kernel) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  double mine = (now_ns() - start) / (double)calls, slowest;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static double median_of(double* values, int count) {
  qsort(values, (size_t)count, sizeof values[0], by_value);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

struct figure {
  double median_ns, min_ns, max_ns;
};

static struct figure measure(const struct loop* loop, const struct work* work, long calls, int batches) {
  double ns[kMostBatches];
  for (int i = 0; i < batches; i++) ns[i] = run(loop, work, calls);
  const double median = median_of(ns, batches);
  return (struct figure){median, ns[0], ns[batches - 1]};
}

static double between(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
static double overlap(double pure, double computed, double together) {
  return between((pure + computed - together) / (pure < computed ? pure : computed));
}

static void print_figure(const char* name, struct figure f) {
  printf(", \"%s_us\": [%.3f, %.3f, %.3f]", name, f.min_ns / 1000, f.median_ns / 1000, f.max_ns / 1000);
}

static void measure_one(const struct kernel* kernel, struct node* node, size_t bytes, double batch_ns, int batches) {
  struct work w = {.bytes = kernel->sized ? bytes : 0};
  double hop[2], step_ns;
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  w.send = memory(w.bytes + kGuard);
  w.receive = memory(w.bytes * (size_t)w.ranks + kGuard);
  w.row = memory(w.bytes * (size_t)w.ranks + kGuard);
  w.counts = memory((size_t)w.ranks * sizeof(int));
  w.places = memory((size_t)w.ranks * sizeof(int));
  for (size_t i = 0; i < elements(&w); i++) w.send[i] = value(w.rank, i);
  for (int to = 0; to < w.ranks; to++) {
    const size_t place = elements(&w) * (size_t)to;
    w.counts[to] = (int)elements(&w), w.places[to] = (int)place;
    for (size_t i = 0; i < elements(&w); i++) w.row[place + i] = value_for(w.rank, to, i);
  }
  check(kernel, &w);
  const struct loop pure = {kernel, 0, 1}, calibration = {NULL, 100000, 1};
  (void)run(&pure, &w, 50);
  const double guess = run(&pure, &w, 50), wanted = batch_ns / guess;
  const long calls = wanted < 10 ? 10 : wanted > 1e6 ? (long)1e6 : (long)wanted;
  step_ns = run(&calibration, &w, 20) / 100000;
  for (int i = 0; i < 4; i++) {
    const double again = run(&calibration, &w, 20) / 100000;
    if (again < step_ns) step_ns = again; /* the others were disturbed */
  }
  hop[0] = node_hop_ns(node);
  const struct figure alone = measure(&pure, &w, calls, batches);
  const long steps = (long)(alone.median_ns / step_ns) + kSlices;
  const struct loop computation = {NULL, steps, 1}, both = {kernel, steps, 1}, slices = {kernel, steps, kSlices};
  const struct figure computed = measure(&computation, &w, calls, batches);
  const struct figure together = measure(&both, &w, calls, batches);
  const struct figure looking = measure(&slices, &w, calls, batches);
  hop[1] = node_hop_ns(node);
  check(kernel, &w);
  if (w.rank == 0) {
    printf("{\"kernel\": \"%s\", \"size\": %zu", kernel->name, w.bytes);
    print_figure("pure", alone);
    print_figure("computed", computed);
    print_figure("together", together);
    print_figure("looking", looking);
    printf(", \"overlap\": %.2f, \"overlap_looking\": %.2f, \"hop_ns\": [%.1f, %.1f], \"calls\": %ld}\n",
           overlap(alone.median_ns, computed.median_ns, together.median_ns),
           overlap(alone.median_ns, computed.median_ns, looking.median_ns), hop[0], hop[1], calls);
    fflush(stdout);
  }
  free(w.send);
  free(w.receive);
  free(w.row);
  free(w.counts);
  free(w.places);
}

static const char kHelp[] =
    "mpi_overlap [options]   run with mpirun; prints one line of JSON per nonblocking collective and size,\n"
    "                        times as [fastest, median, slowest batch]\n"
    "  --kernels A,B         which collectives (default all): ibarrier, ibcast, ireduce, iallreduce, iallgather,\n"
    "                        igather, iscatter, iallgatherv, igatherv, iscatterv, ialltoall, ialltoallv,\n"
    "                        ireduce_scatter_block, ireduce_scatter, iscan\n"
    "  --sizes N,N           bytes, multiples of 8 (8,1024,65536,1048576)\n"
    "  --batch-ms MS         length of a batch of pure calls (5)\n"
    "  --batches N           batches; the median is the figure (7)\n";

static int is_in(const char* list, const char* name) {
  const size_t length = strlen(name);
  for (const char* at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == 0)) return 1;
  return 0;
}

int main(int argc, char** argv) {
  const char *chosen = NULL, *sizes = "8,1024,65536,1048576";
  double batch_ms = 5;
  int batches = 7;
  for (int i = 1; i < argc; i++) {
    const char* const given = i + 1 < argc ? argv[i + 1] : NULL;
    if (given && strcmp(argv[i], "--kernels") == 0) {
      chosen = given;
    } else if (given && strcmp(argv[i], "--sizes") == 0) {
      sizes = given;
    } else if (given && strcmp(argv[i], "--batch-ms") == 0 && atof(given) > 0) {
      batch_ms = atof(given);
    } else if (given && strcmp(argv[i], "--batches") == 0 && atoi(given) > 0 && atoi(given) <= kMostBatches) {
      batches = atoi(given);
    } else {
      fputs(kHelp, strcmp(argv[i], "--help") == 0 ? stdout : stderr);
      return strcmp(argv[i], "--help") == 0 ? 0 : 2;
    }
    i++;
  }
  struct node node;
  MPI_Init(&argc, &argv);
  node_open(&node);
  /* A library may set up a communicator in its first blocking calls; this is not to be measured. */
  for (int i = 0; i < 20; i++) {
    double in[100] = {0}, out[100];
    MPI_Allreduce(in, out, 100, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
    if (chosen && !is_in(chosen, kernels[k].name)) continue;
    for (const char* at = sizes; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
      const size_t bytes = strtoull(at, NULL, 10) / 8 * 8;
      if (bytes == 0 || bytes > 1u << 30) continue;
      measure_one(&kernels[k], &node, bytes, batch_ms * 1e6, batches);
      if (!kernels[k].sized) break;
    }
  }
  node_close(&node);
  MPI_Finalize();
  return 0;
}
