/* A pipeline over frames of text: what of OpenMP puts things in order. Each frame goes through
 *
 *   1. an ordered loop: lines are made in any order and joined in theirs
 *   2. a doacross loop: the edit distance to the frame before, whose rows follow each other tile by tile
 *      (ordered(2), depend(sink), depend(source))
 *   3. sections: four different statistics at once, in a region of their own and inside a larger one (lastprivate)
 *
 *   pipeline [FRAMES] [LINES OF A FRAME]
 *
 * Everything is an integer and every order is fixed by the constructs, so every team prints the same. The doacross loop
 * is coarse, because libgomp's waits there spin without ever giving up the CPU: with more threads than CPUs each
 * hand-over may cost a time slice.
 */
#include <omp.h>
#include <string.h>

#include "program.h"

enum { kLineLength = 24, kTiles = 2, kBands = 8, kTurns = 20 };

static long lines, length; /* of a frame; characters of a frame */

/* ---- 1. ordered ---- */

static void make_line(long frame, long line, char* out) {
  for (int i = 0; i < kLineLength; i++) out[i] = (char)('a' + random_number((uint64_t)(line * kLineLength + i)) % 4);
  /* Frames differ in a few lines. */
  if ((line + frame) % 5 == 0) out[(frame + line) % kLineLength] = (char)('e' + frame % 4);
}

/* Returns the checksum of the text, folded line by line in order. */
static unsigned long long make_frame(long frame, char* text) {
  unsigned long long folded = 0;
  long used = 0;
#pragma omp parallel for ordered schedule(dynamic, 1)
  for (long line = 0; line < lines; line++) {
    char out[kLineLength];
    make_line(frame, line, out);
#pragma omp ordered
    {
      memcpy(text + used, out, kLineLength);
      used += kLineLength;
      folded = folded * 31 + checksum(out, kLineLength);
    }
  }
  return folded;
}

static unsigned long long make_frame_in_serial(long frame, char* text) {
  unsigned long long folded = 0;
  for (long line = 0; line < lines; line++) {
    make_line(frame, line, text + line * kLineLength);
    folded = folded * 31 + checksum(text + line * kLineLength, kLineLength);
  }
  return folded;
}

/* ---- 2. doacross ---- */

/* One tile of the edit-distance table: rows [from_row, to_row), columns [from, to), both from 1 on. */
static void fill_tile(int* table, const char* a, const char* b, long from_row, long to_row, long from, long to) {
  for (long i = from_row; i < to_row; i++)
    for (long j = from; j < to; j++) {
      const int *above = table + (i - 1) * (length + 1) + j, *left = table + i * (length + 1) + j - 1;
      int least = above[-1] + (a[i - 1] != b[j - 1]);
      if (above[0] + 1 < least) least = above[0] + 1;
      if (left[0] + 1 < least) least = left[0] + 1;
      table[i * (length + 1) + j] = least;
    }
}

static void fill_edges(int* table) {
  for (long i = 0; i <= length; i++) table[i] = table[i * (length + 1)] = (int)i;
}

/* Where part `part` of `parts` begins, in 1..length + 1. */
static long begin_of(long part, long parts) { return 1 + part * length / parts; }

static int edit_distance(int* table, const char* a, const char* b) {
  fill_edges(table);
#pragma omp parallel
  {
#pragma omp for ordered(2) schedule(static, 1)
    for (long band = 0; band < kBands; band++)
      for (long tile = 0; tile < kTiles; tile++) {
#pragma omp ordered depend(sink : band - 1, tile)
        fill_tile(table, a, b, begin_of(band, kBands), begin_of(band + 1, kBands), begin_of(tile, kTiles),
                  begin_of(tile + 1, kTiles));
#pragma omp ordered depend(source)
      }
  }
  return table[length * (length + 1) + length];
}

static int edit_distance_in_serial(int* table, const char* a, const char* b) {
  fill_edges(table);
  fill_tile(table, a, b, 1, length + 1, 1, length + 1);
  return table[length * (length + 1) + length];
}

/* ---- 3. sections ---- */

enum { kStatistics = 4 };

struct statistics {
  unsigned long long sum;
  long vowels, longest_run, rises;
};

static long count_vowels(const char* text) {
  long count = 0;
  for (long i = 0; i < length; i++) count += text[i] == 'a' || text[i] == 'e';
  return count;
}

static long find_longest_run(const char* text) {
  long longest = 0, run = 0;
  for (long i = 0; i < length; i++) {
    run = i > 0 && text[i] == text[i - 1] ? run + 1 : 1;
    if (run > longest) longest = run;
  }
  return longest;
}

static long count_rises(const char* text) {
  long count = 0;
  for (long i = 1; i < length; i++) count += text[i] > text[i - 1];
  return count;
}

/* No larger a team than there are sections: between regions of all threads, often a smaller one. */
static struct statistics describe(const char* text) {
  struct statistics s = {0};
  const int useful = omp_get_max_threads() < kStatistics ? omp_get_max_threads() : kStatistics;
#pragma omp parallel sections num_threads(useful)
  {
#pragma omp section
    s.sum = checksum(text, (size_t)length);
#pragma omp section
    s.vowels = count_vowels(text);
#pragma omp section
    s.longest_run = find_longest_run(text);
#pragma omp section
    s.rises = count_rises(text);
  }
  return s;
}

/* The same in a region with more in it, kTurns times; the last section's value leaves the construct. Each construct
 * needs what the one before has left. Returns the sum of all. */
static long describe_again(const char* text) {
  long vowels = 0, runs = 0, rises = 0, total = 0;
#pragma omp parallel
  for (int turn = 0; turn < kTurns; turn++) {
#pragma omp sections lastprivate(rises)
    {
#pragma omp section
      vowels = count_vowels(text);
#pragma omp section
      runs = find_longest_run(text);
#pragma omp section
      rises = count_rises(text);
    }
#pragma omp sections reduction(+ : total)
    {
#pragma omp section
      total += rises;
#pragma omp section
      total += runs;
#pragma omp section
      total += vowels;
    }
#pragma omp single
    vowels = runs = rises = 0;
  }
  return total;
}

static struct statistics describe_in_serial(const char* text) {
  return (struct statistics){checksum(text, (size_t)length), count_vowels(text), find_longest_run(text),
                             count_rises(text)};
}

int main(int argc, char** argv) {
  const long frames = size_argument(argc, argv, 1, 4, 1, 100000);
  lines = size_argument(argc, argv, 2, 24, 1, 1000);
  length = lines * kLineLength;
  const size_t text_bytes = (size_t)length, table_bytes = (size_t)(length + 1) * (size_t)(length + 1) * sizeof(int);
  char *text = calloc(1, text_bytes), *before = calloc(1, text_bytes), *expected = calloc(1, text_bytes);
  int *table = malloc(table_bytes), *expected_table = malloc(table_bytes);
  if (!text || !before || !expected || !table || !expected_table) fail("no memory");

  for (long frame = 0; frame < frames; frame++) {
    const unsigned long long folded = make_frame(frame, text);
    if (make_frame_in_serial(frame, expected) != folded || memcmp(text, expected, text_bytes) != 0)
      fail("the lines are not in order");
    const int distance = edit_distance(table, before, text);
    if (edit_distance_in_serial(expected_table, before, text) != distance ||
        memcmp(table, expected_table, table_bytes) != 0)
      fail("another edit distance than in serial");
    const struct statistics s = describe(text), right = describe_in_serial(text);
    if (s.sum != right.sum || s.vowels != right.vowels || s.longest_run != right.longest_run || s.rises != right.rises)
      fail("other statistics than in serial");
    if (describe_again(text) != kTurns * (right.vowels + right.longest_run + right.rises))
      fail("the sections do not add up");
    printf("frame %ld: text %016llx, distance to the last %d, table %016llx, vowels %ld, longest run %ld, rises %ld\n",
           frame, folded, distance, checksum(table, table_bytes), s.vowels, s.longest_run, s.rises);
    char* swap = before;
    before = text;
    text = swap;
  }
  free(text);
  free(before);
  free(expected);
  free(table);
  free(expected_table);
  return 0;
}
