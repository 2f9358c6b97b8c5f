// Did the component serve? By its counters, each of which counts from where its handle is made.
#ifndef SMELT_TESTS_PML_RULES_SERVED_H
#define SMELT_TESTS_PML_RULES_SERVED_H

#include "common.h"

enum { kCounters = 14 };
static const char *const counter_names[kCounters] = {"inline_sends",
                                                     "eager_sends",
                                                     "long_sends",
                                                     "receives",
                                                     "wildcards",
                                                     "probes",
                                                     "communicators_served",
                                                     "communicators_left",
                                                     "received_single_copy",
                                                     "received_pieces",
                                                     "unexpected",
                                                     "far_sends",
                                                     "received_far_eager",
                                                     "received_far_announced"};
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[kCounters];
static int has_counters;

static void counters_begin(void) {
  int provided;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_pvar_session_create(&session);
  for (int i = 0; i < kCounters; ++i) {
    char name[64];
    int index, count;
    snprintf(name, sizeof name, "pml_smelt_%s", counter_names[i]);
    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS)
      has_counters += MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &count) == MPI_SUCCESS;
  }
}
static unsigned long long counter(const char *name) {
  unsigned long long value = 0;
  for (int i = 0; i < kCounters && has_counters == kCounters; ++i)
    if (strcmp(counter_names[i], name) == 0) MPI_T_pvar_read(session, handles[i], &value);
  return value;
}
static void counters_end(void) {
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
}
// All of `names`, which NULL ends, have counted something; `anywhere`: on some rank.
static void have_counted(const char *const *names, int anywhere) {
  for (; *names; ++names) {
    unsigned long long counted = counter(*names);
    if (anywhere) MPI_Allreduce(MPI_IN_PLACE, &counted, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (counted == 0) fail("pml_smelt_%s is 0", *names);
  }
}

#endif
