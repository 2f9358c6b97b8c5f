#define _GNU_SOURCE
#include "common.h"

#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double kConfidence95 = 1.96; /* standard deviations to either side of the mean */
static const double kOutlier = 3.0;       /* standard deviations */
static const double kNormal = 1.4826;     /* standard deviation of a normal sample / its median absolute deviation */

enum { kMaxOuter = 100000 };

struct settings {
  int outer_repetitions;
  double test_time_us;
  double delay_time_us;
  long array_size;
  bool over_static;
  bool* chosen; /* [suite->count] */
};

struct statistics {
  double mean, median, min, max, deviation;
  double robust_deviation; /* from the median absolute deviation: a few samples that lost their CPU do not count */
  int outliers;
};

int epcc_threads = 1;
static unsigned long delay_length; /* turns of the delay loop that take the delay time */

/* ---- the work ---- */

/* A chain of multiplications, each waiting for the one before: a turn then costs a latency, which is steady. An empty
 * loop ran at one or at two cycles a turn from one moment to the next, as the front end pleased. */
static __attribute__((noinline)) void turns(unsigned long count) {
  unsigned long chain = count;
  for (unsigned long i = 0; i < count; i++) {
    chain *= 0x9e3779b1ul;
    __asm__ volatile("" : "+r"(chain)); /* each turn must be taken */
  }
}

__attribute__((noinline)) void epcc_delay(void) { turns(delay_length); }

__attribute__((noinline)) void epcc_array_delay(double* array) {
  array[0] = 1.0;
  turns(delay_length);
  __asm__ volatile("" : : "r"(array) : "memory");
}

unsigned long epcc_share(unsigned long repetitions, int thread) {
  const unsigned long threads = (unsigned long)epcc_threads;
  return repetitions / threads + ((unsigned long)thread < repetitions % threads ? 1 : 0);
}

/* ---- timing ---- */

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static double time_of(epcc_loop loop, unsigned long repetitions) {
  const double start = now_us();
  loop(repetitions);
  return now_us() - start;
}

/* The least of many batches: a delay can only be made longer by others, never shorter. A batch is short beside a time
 * slice, or on busy CPUs none would be undisturbed and the delay would come out several times too short. */
static double shortest_delay_us(double delay_time_us) {
  enum { kBatches = 50 };
  static const double kBatch_us = 20;
  const int calls = delay_time_us < kBatch_us ? (int)ceil(fmin(kBatch_us / delay_time_us, 500)) : 1;
  double least = HUGE_VAL;
  for (int batch = 0; batch < kBatches; batch++) {
    const double start = now_us();
    for (int call = 0; call < calls; call++) epcc_delay();
    const double each = (now_us() - start) / calls;
    if (each < least) least = each;
  }
  return least;
}

static bool calibrate_delay(double delay_time_us) {
  delay_length = 1;
  while (shortest_delay_us(delay_time_us) < delay_time_us) {
    if (delay_length > 1000000000ul) return false;
    delay_length *= 2;
  }
  for (int step = 0; step < 3; step++) { /* the doubling overshot by up to two: go back in proportion */
    const double scaled = (double)delay_length * delay_time_us / shortest_delay_us(delay_time_us);
    delay_length = scaled < 1 ? 1 : (unsigned long)(scaled + 0.5);
  }
  return true;
}

/* Doubles the repetitions until they take the test time, twice in a row: the first run may have had to wake the team,
 * and one late wake-up would settle for a sample of ten repetitions. 0: they never do, the work has been removed. */
static unsigned long enough_repetitions(epcc_loop loop, double test_time_us) {
  for (unsigned long repetitions = 10; repetitions < 1ul << 31; repetitions *= 2)
    if (time_of(loop, repetitions) >= test_time_us && time_of(loop, repetitions) >= test_time_us) return repetitions;
  return 0;
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double middle(const double* sorted, int count) { return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2; }

static struct statistics describe(double* sample, int count) {
  struct statistics s = {0};
  for (int i = 0; i < count; i++) s.mean += sample[i] / count;
  double squares = 0;
  for (int i = 0; i < count; i++) squares += (sample[i] - s.mean) * (sample[i] - s.mean);
  s.deviation = sqrt(squares / (count - 1));
  for (int i = 0; i < count; i++) s.outliers += fabs(sample[i] - s.mean) > kOutlier * s.deviation;
  qsort(sample, (size_t)count, sizeof *sample, by_size);
  s.min = sample[0];
  s.max = sample[count - 1];
  s.median = middle(sample, count);
  for (int i = 0; i < count; i++) sample[i] = fabs(sample[i] - s.median);
  qsort(sample, (size_t)count, sizeof *sample, by_size);
  s.robust_deviation = kNormal * middle(sample, count);
  return s;
}

/* Calibrates, measures and prints the sample of one loop. */
static bool measure(const char* name, epcc_loop loop, const struct settings* settings, struct statistics* out) {
  const unsigned long repetitions = enough_repetitions(loop, settings->test_time_us);
  if (repetitions == 0) {
    fprintf(stderr, "%s takes no time: the compiler has removed the work, build with less optimisation\n", name);
    return false;
  }
  static double sample[kMaxOuter];
  time_of(loop, repetitions); /* unmeasured */
  for (int i = 0; i < settings->outer_repetitions; i++) sample[i] = time_of(loop, repetitions) / (double)repetitions;
  *out = describe(sample, settings->outer_repetitions);

  printf("\n--------------------------------------------------------\n");
  printf("Computing %s time using %lu reps\n\n", name, repetitions);
  printf("Sample_size       Average     Min         Max          S.D.          Outliers    Median\n");
  printf(" %d                %f   %f   %f    %f      %d           %f\n\n", settings->outer_repetitions, out->mean,
         out->min, out->max, out->deviation, out->outliers, out->median);
  printf("%s time     = %f microseconds +/- %f\n", name, out->mean, kConfidence95 * out->deviation);
  return true;
}

static bool run_kernels(const struct epcc_suite* suite, const struct settings* settings) {
  const struct epcc_reference* measured = NULL;
  struct statistics reference = {0}, test;
  for (size_t i = 0; i < suite->count; i++) {
    if (!settings->chosen[i]) continue;
    const struct epcc_kernel* kernel = &suite->kernels[i];
    const struct epcc_reference* wanted = kernel->reference;
    if (settings->over_static && wanted == suite->kernels[0].reference) wanted = suite->static_reference;
    if (wanted != measured) {
      if (!measure(wanted->name, wanted->loop, settings, &reference)) return false;
      measured = wanted;
    }
    if (!measure(kernel->name, kernel->test, settings, &test)) return false;
    printf("%s overhead = %f microseconds +/- %f\n", kernel->name, test.mean - reference.mean,
           kConfidence95 * (test.deviation + reference.deviation));
    printf("%s median_ovrhd = %f microseconds +/- %f\n", kernel->name, test.median - reference.median,
           kConfidence95 * (test.robust_deviation + reference.robust_deviation));
    fflush(stdout);
  }
  return true;
}

static void print_hop(void) {
  const double hop_ns = epcc_one_way_hop();
  if (hop_ns < 0)
    printf("Ping-pong one-way hop = unknown, the process may use one CPU only\n");
  else
    printf("Ping-pong one-way hop = %.1f ns\n", hop_ns);
  fflush(stdout);
}

/* ---- options ---- */

static bool parse_number(const char* text, double min, double max, double* out) {
  char* end;
  const double value = strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= min && value <= max)) return false;
  *out = value;
  return true;
}

/* "parallel_for" names "PARALLEL FOR"; as a `family`, "COPYIN" names "COPYIN 1", "COPYIN 3" and so on. */
static bool names_kernel(const char* word, size_t length, const char* name, bool family) {
  size_t i = 0;
  for (; i < length && name[i]; i++) {
    const char c = word[i] == '_' ? ' ' : (char)toupper((unsigned char)word[i]);
    if (c != name[i]) return false;
  }
  return i == length && (family ? name[i] == ' ' && isdigit((unsigned char)name[i + 1]) : name[i] == '\0');
}

static bool choose_kernels(const struct epcc_suite* suite, const char* list, bool* chosen) {
  for (const char* word = list;; word++) {
    word += strspn(word, " ");
    size_t length = strcspn(word, ",");
    const char* next = word + length;
    while (length > 0 && word[length - 1] == ' ') length--;
    bool known = false;
    for (int family = 0; family <= 1 && !known; family++) /* "STATIC" is a kernel: then not "STATIC 1" too */
      for (size_t i = 0; i < suite->count; i++)
        if (names_kernel(word, length, suite->kernels[i].name, family)) chosen[i] = known = true;
    if (length == 0 || !known) {
      fprintf(stderr, "%s: --kernels: there is no kernel \"%.*s\"; --list shows them\n", suite->program, (int)length,
              word);
      return false;
    }
    word = next;
    if (*word == '\0') return true;
  }
}

static void usage(const struct epcc_suite* suite) {
  printf(
      "Usage: %s [options]\n"
      "Overheads of OpenMP constructs, measured by EPCC's method.\n"
      "  --outer-repetitions N  samples per kernel, 2..%d (default 20)\n"
      "  --test-time US         least time of one sample in microseconds (default 1000)\n"
      "  --delay-time US        work between two constructs in microseconds (default 0.1)\n"
      "  --kernels LIST         only these, separated by commas\n",
      suite->program, kMaxOuter);
  if (suite->largest_array)
    printf("  --array-size N         arrays of 1, 3, 9 ... up to N elements (default %ld)\n", suite->largest_array);
  if (suite->static_reference)
    printf("  --over WHAT            overhead over reference (the work alone, the default) or static (that loop)\n");
  printf(
      "  --list                 the kernels, one a line\n"
      "  --ping-pong            only the one-way hop between the first two CPUs\n");
}

/* Returns -1 to go on, or the exit status. */
static int parse(int argc, char** argv, const struct epcc_suite* suite, struct settings* settings) {
  enum { kOuter = 1, kTest, kDelay, kKernels, kArray, kOver, kList, kPing, kHelp, kAlways = 7 };
  struct option options[kAlways + 3] = {
      {"outer-repetitions", required_argument, NULL, kOuter},
      {"test-time", required_argument, NULL, kTest},
      {"delay-time", required_argument, NULL, kDelay},
      {"kernels", required_argument, NULL, kKernels},
      {"list", no_argument, NULL, kList},
      {"ping-pong", no_argument, NULL, kPing},
      {"help", no_argument, NULL, kHelp},
  }; /* zeros follow: the end */
  struct option* next = &options[kAlways];
  if (suite->largest_array) *next++ = (struct option){"array-size", required_argument, NULL, kArray};
  if (suite->static_reference) *next = (struct option){"over", required_argument, NULL, kOver};
  const char *kernels = NULL, *wrong = NULL;
  bool list = false;
  double number;
  for (int option; !wrong && (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
    if (option == kOuter) {
      if (!parse_number(optarg, 2, kMaxOuter, &number) || number != floor(number))
        wrong = "--outer-repetitions";
      else
        settings->outer_repetitions = (int)number;
    } else if (option == kTest) {
      if (!parse_number(optarg, 1, 1e9, &settings->test_time_us)) wrong = "--test-time";
    } else if (option == kDelay) {
      if (!parse_number(optarg, 0.001, 1e6, &settings->delay_time_us)) wrong = "--delay-time";
    } else if (option == kArray) {
      if (!parse_number(optarg, 1, (double)suite->largest_array, &number))
        wrong = "--array-size";
      else
        settings->array_size = (long)number;
    } else if (option == kOver) {
      settings->over_static = strcmp(optarg, "static") == 0;
      if (!settings->over_static && strcmp(optarg, "reference") != 0) {
        fprintf(stderr, "%s: --over: \"%s\" is neither reference nor static\n", suite->program, optarg);
        return 2;
      }
    } else if (option == kKernels) {
      kernels = optarg;
    } else if (option == kList) {
      list = true;
    } else if (option == kPing) {
      print_hop();
      return 0;
    } else if (option == kHelp || option == 'h') {
      usage(suite);
      return 0;
    } else {
      return 2; /* getopt_long has said what is wrong */
    }
  }
  if (wrong) {
    fprintf(stderr, "%s: %s: \"%s\" is not a number in range; --help shows the ranges\n", suite->program, wrong,
            optarg);
    return 2;
  }
  if (optind < argc) {
    fprintf(stderr, "%s: \"%s\" is not an option; --help shows them\n", suite->program, argv[optind]);
    return 2;
  }
  if (kernels && !choose_kernels(suite, kernels, settings->chosen)) return 2;
  for (size_t i = 0; i < suite->count; i++) {
    if (!kernels) settings->chosen[i] = true;
    if (suite->kernels[i].array_size > settings->array_size) settings->chosen[i] = false;
    if (list && settings->chosen[i]) printf("%s\n", suite->kernels[i].name);
  }
  return list ? 0 : -1;
}

int epcc_main(int argc, char** argv, const struct epcc_suite* suite) {
  struct settings settings = {
      .outer_repetitions = 20, .test_time_us = 1000, .delay_time_us = 0.1, .array_size = suite->largest_array};
  settings.chosen = calloc(suite->count, sizeof *settings.chosen);
  if (!settings.chosen) return 1;
  int status = parse(argc, argv, suite, &settings);
  if (status < 0) {
    print_hop(); /* before the first region: no worker spins yet */
#pragma omp parallel
#pragma omp master
    epcc_threads = omp_get_num_threads();
    if (calibrate_delay(settings.delay_time_us)) {
      printf(
          "Running OpenMP microbenchmark %s of Smelt, after EPCC's method\n"
          "\t%d thread(s)\n\t%d outer repetitions\n\t%0.2f test time (microseconds)\n"
          "\t%lu delay length (iterations)\n\t%f delay time (microseconds)\n",
          suite->program, epcc_threads, settings.outer_repetitions, settings.test_time_us, delay_length,
          settings.delay_time_us);
      status = run_kernels(suite, &settings) ? 0 : 1;
      printf("\n");
      print_hop();
    } else {
      fprintf(stderr, "%s: the delay loop takes no time: the compiler has removed it\n", suite->program);
      status = 1;
    }
  }
  free(settings.chosen);
  return status;
}
