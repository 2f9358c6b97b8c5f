// Regions without barriers, which the shim hands to libomp as they are after a while, by a jump: until they meet one
// after all; with regions inside, with others that are told in between, calling themselves, and more of them than the
// shim remembers. Under the shim the counters must hold: no region is lost, and barriers are Smelt's again in time.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <smelt/openmp.h>
#include <string.h>

#include "../gomp_shim/check.h"

static smelt_openmp_counts now(void) {
  smelt_openmp_counts counts;
  memset(&counts, 0, sizeof counts);
  int (*const of_shim)(smelt_openmp_counts*, size_t) =
      (int (*)(smelt_openmp_counts*, size_t))dlsym(RTLD_DEFAULT, "smelt_kmp_counters");
  if (of_shim) CHECK(of_shim(&counts, sizeof counts) == 0);
  return counts;
}
static int counted;  // is the shim there, and not aside?

static void meet(int* arrived, int threads) {
#pragma omp atomic
  ++*arrived;
#pragma omp barrier
  CHECK(*arrived % threads == 0);
#pragma omp barrier
}

static int barriers, nested;

static void plain(int threads) {
  int here = 0, arrived = 0;
#pragma omp parallel num_threads(threads)
  {
    CHECK(omp_get_num_threads() == threads && omp_get_level() == 1);
#pragma omp atomic
    ++here;
    for (int i = 0; i < barriers; ++i) meet(&arrived, threads);
  }
  CHECK(here == threads && arrived == barriers * threads);
}

static void bare(void) {  // as many threads as omp_set_num_threads() has said
  int arrived = 0;
#pragma omp parallel
  meet(&arrived, 2);
  CHECK(arrived == 2);
}

static void outer(void) {
  int here = 0, arrived = 0;
#pragma omp parallel num_threads(2)
  {
    if (nested) {
      int inside = 0, alone = 0;
#pragma omp parallel num_threads(2) shared(inside)
      {
        CHECK(omp_get_level() == 2);
        meet(&inside, 2);
        meet(&inside, 2);
      }
      CHECK(inside == 4);
#pragma omp parallel if (0)
      meet(&alone, 1);
    }
#pragma omp atomic
    ++here;
    for (int i = 0; i < barriers; ++i) meet(&arrived, 2);
  }
  CHECK(here == 2 && arrived == 2 * barriers);
}

// Inner regions, which are handed on, too; the later half has barriers.
enum { kInside = 200 };
static void many_inside(void) {
#pragma omp parallel num_threads(2)
  {
    int arrived = 0;
    for (int i = 0; i < kInside; ++i) {
#pragma omp parallel num_threads(2) shared(arrived)
      {
        CHECK(omp_get_num_threads() == 2 && omp_get_level() == 2);
        if (i >= kInside / 2) meet(&arrived, 2);
      }
    }
    CHECK(arrived == kInside);
  }
}

// The same of two that take turns: the first or the second has barriers in the end.
static void two_inside(int which) {
#pragma omp parallel num_threads(2)
  {
    int first = 0, second = 0;
    for (int i = 0; i < kInside; ++i) {
#pragma omp parallel num_threads(2) shared(first)
      if (which == 0 && i >= kInside / 2) meet(&first, 2);
#pragma omp parallel num_threads(2) shared(second)
      if (which == 1 && i >= kInside / 2) meet(&second, 2);
    }
    CHECK(first + second == kInside);
  }
}

static int leaves;
static void tree(int depth) {
  int arrived = 0;
#pragma omp parallel num_threads(2)
  {
    if (depth > 1) tree(depth - 1);
    if (depth == 1) {
#pragma omp atomic
      ++leaves;
    }
    for (int i = 0; i < barriers; ++i) meet(&arrived, 2);
  }
}

#define REGION(number)                           \
  static void region_##number(void) {            \
    int here = 0, arrived = 0;                   \
    _Pragma("omp parallel num_threads(2)") {     \
      _Pragma("omp atomic")++ here;              \
      if (barriers) meet(&arrived, 2);           \
    }                                            \
    CHECK(here == 2 && arrived == 2 * barriers); \
  }
#define TEN(of) of(0) of(1) of(2) of(3) of(4) of(5) of(6) of(7) of(8) of(9)
#define REGION_0(n) REGION(0##n)
#define REGION_1(n) REGION(1##n)
#define REGION_2(n) REGION(2##n)
#define REGION_3(n) REGION(3##n)
TEN(REGION_0)
TEN(REGION_1)
TEN(REGION_2)
TEN(REGION_3)
#define NAME_0(n) region_0##n,
#define NAME_1(n) region_1##n,
#define NAME_2(n) region_2##n,
#define NAME_3(n) region_3##n,
static void (*const regions[])(void) = {TEN(NAME_0) TEN(NAME_1) TEN(NAME_2) TEN(NAME_3)};
enum { kRegions = sizeof regions / sizeof *regions };

int main(void) {
  omp_set_dynamic(0);
  omp_set_max_active_levels(2);
  omp_set_num_threads(2);

  smelt_openmp_counts before = now();
  for (int i = 0; i < 100; ++i) plain(2);
  counted = now().regions > 0;
  if (counted) CHECK(now().regions - before.regions == 100);
  // It meets barriers after all: the first time they are libomp's, all but that one are ours.
  barriers = 2;
  before = now();
  for (int i = 0; i < 20; ++i) plain(2);
  if (counted) CHECK(now().own_episodes - before.own_episodes == 4 * 19 && now().regions - before.regions == 20);

  // What the num_threads clause of a region handed on has said is not meant for the next one.
  barriers = 0;
  for (int i = 0; i < 20; ++i) bare();
  for (int i = 0; i < 100; ++i) plain(3);
  before = now();
  for (int i = 0; i < 20; ++i) {
    plain(3);
    bare();
  }
  if (counted) CHECK(now().own_episodes - before.own_episodes == 2 * 20 && now().regions - before.regions == 40);

  // One in 17 is told, and those that come after it, since it has barriers.
  before = now();
  many_inside();
  if (counted) {
    CHECK(now().regions - before.regions == 2 * kInside + 1);
    CHECK(now().own_episodes - before.own_episodes >= 2 * 2 * (kInside / 2 - 17));
  }
  for (int which = 0; which < 2; ++which) {
    before = now();
    two_inside(which);
    if (counted) CHECK(now().regions - before.regions == 2 * 2 * kInside + 1);
    if (counted) CHECK(now().own_episodes - before.own_episodes >= 2 * 2 * (kInside / 2 - 34));
  }

  for (int i = 0; i < 100; ++i) outer();
  nested = 1;
  before = now();
  for (int i = 0; i < 20; ++i) outer();
  if (counted) CHECK(now().regions - before.regions == 3 * 20 && now().own_episodes - before.own_episodes >= 4 * 20);
  before = now();
  for (int i = 0; i < 20; ++i) bare();
  if (counted) CHECK(now().own_episodes - before.own_episodes == 2 * 20);
  barriers = 1;
  before = now();
  for (int i = 0; i < 20; ++i) outer();  // those of the master's nested regions, and from the second time on its own
  if (counted) CHECK(now().own_episodes - before.own_episodes >= (4 + 2) * 19);

  barriers = 0;
  for (int i = 0; i < 60; ++i) tree(1);
  for (int i = 0; i < 20; ++i) tree(2);
  CHECK(leaves == 60 * 2 + 20 * 4);
  barriers = 1;
  for (int i = 0; i < 20; ++i) tree(2);
  before = now();
  for (int i = 0; i < 20; ++i) tree(1);
  if (counted) CHECK(now().own_episodes - before.own_episodes == 2 * 20);

  for (barriers = 0; barriers < 2; ++barriers)
    for (int i = 0; i < 60; ++i)
      for (int r = 0; r < kRegions; ++r) regions[r]();
  puts("ok");
  return 0;
}
