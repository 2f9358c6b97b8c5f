/* The C API as a C11 program sees it, linked against the shared library: model, tree, schedule, context, barrier. */
#include <errno.h>
#include <pthread.h>
#include <smelt/smelt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

enum { kThreads = 4, kRounds = 1000 };
static smelt_barrier* barrier;
static int count[kThreads];

static void* work(void* argument) {
  const unsigned me = (unsigned)(size_t)argument;
  for (int r = 1; r <= kRounds; ++r) {
    count[me] = r;
    CHECK(smelt_barrier_wait(barrier, me) == 0);
    for (int t = 0; t < kThreads; ++t) CHECK(count[t] == r);
    CHECK(smelt_barrier_wait(barrier, me) == 0);
  }
  return NULL;
}

int main(void) {
  CHECK(strcmp(smelt_version(), "") != 0);

  smelt_model* model = NULL;
  CHECK(smelt_model_load("/nonexistent/profile", &model) == -ENOENT && !model);
  CHECK(smelt_model_load(NULL, &model) == 0);
  const unsigned cpus = smelt_model_cpus(model);
  CHECK(cpus >= 1 && smelt_model_cpu(model, cpus) == -EINVAL);
  const unsigned first = (unsigned)smelt_model_cpu(model, 0);
  double cost = -1;
  CHECK(smelt_model_cost(model, SMELT_COST_HOP, first, first, &cost) == 0 && cost == 0);
  CHECK(smelt_model_cost(model, SMELT_COST_HOP, first, 99999, &cost) == -EINVAL);
  smelt_model_free(model);

  /* Two nodes of two CPUs. */
  const double send[16] = {0, 5, 20, 20, 5, 0, 20, 20, 20, 20, 0, 5, 20, 20, 5, 0};
  const double receive[16] = {0, 45, 200, 200, 45, 0, 200, 200, 200, 200, 0, 45, 200, 200, 45, 0};
  const unsigned numbers[4] = {0, 2, 4, 6}, node[4] = {0, 0, 1, 1};
  CHECK(smelt_model_create(4, send, receive, numbers, node, &model) == 0);
  CHECK(smelt_model_source(model) == SMELT_SOURCE_CALLER && smelt_model_cpu(model, 3) == 6);
  CHECK(smelt_model_cost(model, SMELT_COST_HOP, 0, 2, &cost) == 0 && cost == 50);
  const double bad[16] = {0, -1};
  smelt_model* none = NULL;
  CHECK(smelt_model_create(4, bad, receive, numbers, node, &none) == -EINVAL && !none);

  CHECK(smelt_pattern_name(0) && !smelt_pattern_name(1000) && smelt_pattern_is_tree(0) == 1);
  smelt_tree* tree = NULL;
  CHECK(smelt_tree_create(model, "nonsense", 4, NULL, -1, &tree) == -ENOENT);
  CHECK(smelt_tree_create(model, "cluster", 4, NULL, -1, &tree) == 0 && smelt_tree_size(tree) == 4);
  unsigned children[4];
  unsigned reached = 1;
  for (unsigned i = 0; i < 4; ++i) {
    const int many = smelt_tree_children(tree, i, children, 4);
    CHECK(many >= 0);
    for (int c = 0; c < many; ++c) CHECK(smelt_tree_parent(tree, children[c]) == (int)i);
    reached += (unsigned)many;
  }
  CHECK(reached == 4 && smelt_tree_parent(tree, smelt_tree_root(tree)) == -1);
  smelt_tree_free(tree);

  smelt_schedule* schedule = NULL;
  CHECK(smelt_schedule_create(model, SMELT_BROADCAST, "dissemination", 4, NULL, -1, SMELT_COST_MODEL_OVERLAP,
                              &schedule) == -EINVAL);
  CHECK(smelt_schedule_create(model, SMELT_BARRIER, NULL, 4, NULL, -1, SMELT_COST_MODEL_PAPER, &schedule) == 0);
  CHECK(smelt_schedule_predicted(schedule) > 0 && smelt_schedule_size(schedule) == 4);
  for (unsigned p = 0; p < 4; ++p) {
    const int steps = smelt_schedule_steps(schedule, p);
    CHECK(steps > 0);
    for (int s = 0; s < steps; ++s) {
      smelt_step_kind kind;
      unsigned peers[4];
      const int many = smelt_schedule_step(schedule, p, (unsigned)s, &kind, peers, 4);
      CHECK(many >= 0 && many < 4);
      for (int i = 0; i < many; ++i) CHECK(peers[i] < 4 && peers[i] != p);
    }
  }
  smelt_schedule_free(schedule);

  smelt_context* context = NULL;
  CHECK(smelt_context_create(NULL, kThreads, NULL, NULL, &context) == 0);
  CHECK(smelt_barrier_create(context, &barrier) == 0);
  pthread_t threads[kThreads];
  for (size_t i = 1; i < kThreads; ++i) CHECK(pthread_create(&threads[i], NULL, work, (void*)i) == 0);
  work(NULL);
  for (size_t i = 1; i < kThreads; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  smelt_barrier_free(barrier);
  smelt_context_free(context);
  smelt_model_free(model);
  puts("ok");
  return 0;
}
