// MPI's rules for messages, one case each. `rules [CASE]`: all, or one. With --served the counters must show that the
// component served, in every way if it is all cases; with --left that it did not. Any number of ranks from 2 on;
// without the component all pass, too, but for `truncation`, where ob1 of Open MPI 4.1.4 has been seen to write behind
// the buffer.
//   --refused  the kernel does not let us read others' memory, as in many containers
//   --ordered  as if wildcards had been used everywhere
//   --node     on the communicator of each node
//   --far      with --served: there are ranks on several nodes, and what went between them is the component's, too
//   --names    says which case takes how long
#include "rules/common.h"
#include "rules/communicators.h"
#include "rules/data.h"
#include "rules/ends.h"
#include "rules/matching.h"
#include "rules/modes.h"
#include "rules/room.h"
#include "rules/served.h"

// Every communicator keeps an order for wildcards from now on: the first of a place switches all that share it, and
// their context ids say which.
static void force_order(void) {
  enum { kPlaces = 64 };
  MPI_Comm copies[kPlaces];
  for (int i = 0; i < kPlaces; ++i) {
    int flag;
    MPI_Comm_dup(world, &copies[i]);
    MPI_Iprobe(MPI_ANY_SOURCE, 1, copies[i], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
  }
  for (int i = 0; i < kPlaces; ++i) MPI_Comm_free(&copies[i]);
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {
    {"lengths", lengths},
    {"order", order},
    {"posted_order", posted_order},
    {"wildcards", wildcards},
    {"synchronous", synchronous},
    {"buffered", buffered},
    {"buffer_too_small", buffer_too_small},
    {"ready", ready},
    {"persistent", persistent},
    {"probe", probe},
    {"matched_probe", matched_probe},
    {"cancel", cancel},
    {"truncation", truncation},
    {"freed", freed},
    {"proc_null_and_self", proc_null_and_self},
    {"datatypes", datatypes},
    {"communicators", communicators},
    {"promises", promises},
    {"broken_promises", broken_promises},
    {"nobodys", nobodys},
    {"one_sided", one_sided},
    {"flood", flood},
    {"many_requests", many_requests},
    {"forked", forked},
};

int main(int argc, char **argv) {
  refused = has_argument(argc, argv, "--refused");
  if (refused) refuse_to_read();
  start(&argc, &argv);
  if (has_argument(argc, argv, "--node")) {
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &world);
    MPI_Comm_rank(world, &world_rank);
    MPI_Comm_size(world, &world_size);
  }
  if (world_size < 2) return skip("needs two ranks");
  int ran = 0;
  served = has_argument(argc, argv, "--served");
  counters_begin();
  if (has_argument(argc, argv, "--ordered")) force_order();
  const char *only = argc > 1 && argv[argc - 1][0] != '-' ? argv[argc - 1] : NULL;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    if (only && strcmp(only, cases[i].name) != 0) continue;
    const double began = seconds();
    cases[i].run();
    MPI_Barrier(world);
    if (has_argument(argc, argv, "--names") && world_rank == 0)
      fprintf(stderr, "%-20s %.3f s\n", cases[i].name, seconds() - began);
    ++ran;
  }
  CHECK(ran > 0);
  if (served && has_argument(argc, argv, "--far")) {
    static const char *const some[] = {"receives", NULL};
    static const char *const all[] = {"far_sends",
                                      "received_far_eager",
                                      "received_far_announced",
                                      "wildcards",
                                      "communicators_served",
                                      "unexpected",
                                      "probes",
                                      NULL};
    have_counted(some, 0);
    if (!only) have_counted(all, 1);
  } else if (served) {
    static const char *const some[] = {"inline_sends", "receives", NULL};
    static const char *const all[] = {
        "inline_sends",       "eager_sends",     "long_sends", "receives", "wildcards", "communicators_served",
        "communicators_left", "received_pieces", "unexpected", "probes",   NULL};
    static const char *const one_copy[] = {"received_single_copy", NULL};
    have_counted(some, 0);
    if (!only) have_counted(all, 0);
    if (!only && !refused) have_counted(one_copy, 0);
  }
  if (has_argument(argc, argv, "--left") && counter("inline_sends") + counter("receives") + counter("far_sends") != 0)
    fail("the component served");
  counters_end();
  if (world != MPI_COMM_WORLD) MPI_Comm_free(&world);
  return finish();
}
