/* mpi_sweep: the time of MPI's collectives over a range of message sizes. A plain MPI program: the patient. mpi_compare
 * runs it under one MPI library after the other; it can be run by hand as well.
 *
 * For every kernel and size: check the results, ping-pong, measure (measure.h), ping-pong, check again; then one line
 * of JSON on standard output. The first line of all says which library this is.
 */
#include <getopt.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels.h"
#include "measure.h"

enum { kMostSizes = 64, kMostKernels = 32 };

struct request {
  const struct kernel* chosen[kMostKernels];
  int chosen_count;
  size_t sizes[kMostSizes];
  int size_count;
  size_t min, max; /* where no --sizes are given */
  struct plan plan;
  bool hop, verify;
  unsigned timeout_s; /* 0: none */
};

static const char kHelp[] =
    "mpi_sweep [options]     run with mpirun; prints one line of JSON per kernel and size\n"
    "  --kernels A,B         which collectives (default all; --list names them)\n"
    "  --min N, --max N      message sizes in bytes, powers of two from min to max (1, 16M); K and M are 1024 and "
    "1024*1024\n"
    "  --sizes N,N           just these sizes\n"
    "  --batch-ms MS         length of a batch (5)\n"
    "  --batches N           batches; the median is the figure (5)\n"
    "  --skew NS             every rank waits a random time up to NS before each call; the time is then from the last\n"
    "                        arrival to the last exit; all ranks on one machine\n"
    "  --strict              a barrier after each call, which is part of its time\n"
    "  --no-hop              no ping-pong\n"
    "  --no-verify           do not check the results\n"
    "  --timeout S           end after S seconds\n"
    "  --list                name the kernels\n";

/* "64", "8K", "16M"; 0 when it is no size. Messages count in int, so 1 GiB is the most. */
static size_t parse_size(const char* text) {
  char* end;
  unsigned long long size = strtoull(text, &end, 10);
  if (end == text || size == 0 || size > 1u << 30) return 0;
  if (*end == 'K')
    size <<= 10, end++;
  else if (*end == 'M')
    size <<= 20, end++;
  return *end == '\0' && size <= 1u << 30 && (size < 8 || size % 8 == 0) ? (size_t)size : 0;
}

/* Each returns the word that is wrong, or NULL. */
static const char* parse_kernels(struct request* request, char* list) {
  request->chosen_count = 0;
  for (char* word = strtok(list, ","); word; word = strtok(NULL, ",")) {
    const struct kernel* kernel = find_kernel(word);
    if (!kernel || request->chosen_count == kMostKernels) return word;
    request->chosen[request->chosen_count++] = kernel;
  }
  return NULL;
}

static const char* parse_sizes(struct request* request, char* list) {
  request->size_count = 0;
  for (char* word = strtok(list, ","); word; word = strtok(NULL, ",")) {
    const size_t size = parse_size(word);
    if (size == 0 || request->size_count == kMostSizes) return word;
    request->sizes[request->size_count++] = size;
  }
  return NULL;
}

static const char* parse_number(const char* text, double least, double most, double* number) {
  char* end;
  const double parsed = strtod(text, &end);
  if (end == text || *end != '\0' || !(parsed >= least && parsed <= most)) return text;
  *number = parsed;
  return NULL;
}

static const char* parse_bound(const char* text, size_t* size) { return (*size = parse_size(text)) ? NULL : text; }

static const char* take_option(struct request* request, int option, char* value) {
  double number = 0;
  const char* bad = NULL;
  switch (option) {
    case 'k': return parse_kernels(request, value);
    case 's': return parse_sizes(request, value);
    case 'm': return parse_bound(value, &request->min);
    case 'M': return parse_bound(value, &request->max);
    case 'w': return parse_number(value, 0, 1e9, &request->plan.skew_ns);
    case 'B': request->plan.strict = true; return NULL;
    case 'H': request->hop = false; return NULL;
    case 'V': request->verify = false; return NULL;
    case 'b':
      if (!(bad = parse_number(value, 0.001, 1e5, &number))) request->plan.batch_ns = number * 1e6;
      return bad;
    case 'n':
      if (!(bad = parse_number(value, 1, 1000, &number))) request->plan.batches = (int)number;
      return bad;
    case 't':
      if (!(bad = parse_number(value, 0, 1e6, &number))) request->timeout_s = (unsigned)number;
      return bad;
    default: return "";
  }
}

static void use_all_sizes(struct request* request) {
  for (size_t size = request->min; size <= request->max && request->size_count < kMostSizes; size *= 2)
    request->sizes[request->size_count++] = size;
}

/* Returns 0, or 2 after a complaint on the rank that may speak. */
static int parse(struct request* request, int argc, char** argv, bool speaks) {
  static const struct option options[] = {{"kernels", 1, 0, 'k'}, {"sizes", 1, 0, 's'},    {"min", 1, 0, 'm'},
                                          {"max", 1, 0, 'M'},     {"batch-ms", 1, 0, 'b'}, {"batches", 1, 0, 'n'},
                                          {"skew", 1, 0, 'w'},    {"no-hop", 0, 0, 'H'},   {"no-verify", 0, 0, 'V'},
                                          {"timeout", 1, 0, 't'}, {"strict", 0, 0, 'B'},   {0, 0, 0, 0}};
  int option, index = 0;
  opterr = 0;
  while ((option = getopt_long(argc, argv, "", options, &index)) != -1) {
    const char* bad = take_option(request, option, optarg);
    if (!bad) continue;
    if (speaks && option == '?')
      fprintf(stderr, "mpi_sweep: \"%s\" is not an option, or lacks its value\n", argv[optind - 1]);
    else if (speaks)
      fprintf(stderr, "mpi_sweep: --%s: \"%s\" makes no sense; see --help\n", options[index].name, bad);
    return 2;
  }
  if (optind < argc) {
    if (speaks) fprintf(stderr, "mpi_sweep: \"%s\": not expected; see --help\n", argv[optind]);
    return 2;
  }
  if (request->plan.strict && request->plan.skew_ns > 0) {
    if (speaks) fprintf(stderr, "mpi_sweep: --strict and --skew exclude each other; see --help\n");
    return 2;
  }
  if (request->size_count == 0) use_all_sizes(request);
  if (request->chosen_count == 0)
    for (int i = 0; i < kernel_count; i++) request->chosen[request->chosen_count++] = &kernels[i];
  return 0;
}

/* Without MPI, so that no mpirun is needed. */
static bool only_talks(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0) return fputs(kHelp, stdout), true;
    if (strcmp(argv[i], "--list") != 0) continue;
    for (int k = 0; k < kernel_count; k++) puts(kernels[k].name);
    return true;
  }
  return false;
}

/* The first line of what the library says of itself, fit for JSON. */
static void print_library(int ranks, bool one_machine) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length;
  MPI_Get_library_version(text, &length);
  text[strcspn(text, "\n")] = '\0';
  for (char* c = text; *c; c++)
    if (*c == '"' || *c == '\\' || (unsigned char)*c < 0x20) *c = ' ';
  printf("{\"library\": \"%s\", \"ranks\": %d, \"one_machine\": %s}\n", text, ranks, one_machine ? "true" : "false");
  fflush(stdout);
}

static void print_timing(const struct kernel* kernel, size_t bytes, const struct timing* timing, const double hop[2],
                         bool verified) {
  printf("{\"kernel\": \"%s\", \"size\": %zu, \"median_us\": %.5f, \"min_us\": %.5f, \"max_us\": %.5f, \"calls\": %ld",
         kernel->name, kernel->sized ? bytes : 0, timing->median_us, timing->min_us, timing->max_us, timing->calls);
  printf(", \"hop_ns\": [");
  if (hop[0] >= 0 && hop[1] >= 0) printf("%.1f, %.1f", hop[0], hop[1]);
  printf("], \"verified\": %s}\n", verified ? "true" : "false");
  fflush(stdout);
}

/* Every rank is root at least once, as long as that is cheap. */
static void check_all(const struct kernel* kernel, struct work* work, long first, bool thorough) {
  const long turns = !thorough ? 1 : work->bytes > 1u << 20 ? 2 : work->ranks < 16 ? work->ranks + 2 : 16;
  for (long i = 0; i < turns; i++) kernel->check(work, first + i);
}

static void sweep_one(const struct request* request, const struct kernel* kernel, struct node* node, size_t bytes) {
  static long checks; /* numbers of checking calls never come again: the barrier's check counts on it */
  struct work work;
  double hop[2] = {-1, -1};
  work_open(&work, node, bytes);
  if (request->verify) check_all(kernel, &work, checks, true), checks += 1000;
  if (request->hop) hop[0] = node_hop_ns(node);
  const struct timing timing = measure(kernel, &work, &request->plan);
  if (request->hop) hop[1] = node_hop_ns(node);
  if (request->verify) check_all(kernel, &work, checks, false), checks += 1000;
  if (work.rank == 0) print_timing(kernel, bytes, &timing, hop, request->verify);
  work_close(&work);
}

static int sweep(const struct request* request, int rank, int ranks) {
  struct node node;
  int status = 0;
  node_open(&node);
  if (rank == 0) print_library(ranks, node.whole_world);
  if (request->plan.skew_ns > 0 && !node.whole_world) {
    if (rank == 0) fprintf(stderr, "mpi_sweep: --skew compares clocks: all ranks must be on one machine\n");
    status = 2;
  }
  for (int k = 0; status == 0 && k < request->chosen_count; k++) {
    const struct kernel* kernel = request->chosen[k];
    for (int s = 0; s < (kernel->sized ? request->size_count : 1); s++)
      sweep_one(request, kernel, &node, kernel->sized ? request->sizes[s] : 8);
  }
  node_close(&node);
  return status;
}

/* A rank that hangs must not outlive the comparison: this ends it, and mpirun then ends the others. */
static void time_is_over(int number) {
  static const char line[] = "mpi_sweep: the time of --timeout is over\n";
  if (write(STDERR_FILENO, line, sizeof line - 1) < 0) _exit(1);
  signal(number, SIG_DFL);
  raise(number);
}

int main(int argc, char** argv) {
  struct request request = {.min = 1, .max = 16u << 20, .plan = {5e6, 5, 0, false}, .hop = true, .verify = true};
  int rank, ranks;
  if (only_talks(argc, argv)) return 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int status = parse(&request, argc, argv, rank == 0);
  signal(SIGALRM, time_is_over);
  alarm(request.timeout_s);
  if (status == 0) status = sweep(&request, rank, ranks);
  MPI_Finalize();
  return status;
}
