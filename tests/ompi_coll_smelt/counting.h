// Has Smelt served? The sum of several of its counters, from begin_counting() to end_counting().
#ifndef SMELT_TESTS_OMPI_COLL_SMELT_COUNTING_H
#define SMELT_TESTS_OMPI_COLL_SMELT_COUNTING_H

#include "check.h"

enum { kMostCounters = 256 };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle counters[kMostCounters];
static char counter_names[kMostCounters][128];
static int counter_count;

// Those whose names begin with `prefix` and have `part` in them.
static void begin_counting(const char *prefix, const char *part) {
  int variables, provided;
  CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
  MPI_T_pvar_get_num(&variables);
  for (int i = 0; i < variables && counter_count < kMostCounters; ++i) {
    char *const name = counter_names[counter_count], help[512];
    int name_bytes = sizeof *counter_names, help_bytes = sizeof help, verbosity, class, bind, read_only, continuous,
        atomic, count;
    MPI_Datatype type;
    MPI_T_enum values;
    if (MPI_T_pvar_get_info(i, name, &name_bytes, &verbosity, &class, &type, &values, help, &help_bytes, &bind,
                            &read_only, &continuous, &atomic) != MPI_SUCCESS ||
        strncmp(name, prefix, strlen(prefix)) != 0 || strstr(name, part) == NULL)
      continue;
    CHECK(type == MPI_UNSIGNED_LONG_LONG && bind == MPI_T_BIND_NO_OBJECT);
    CHECK(MPI_T_pvar_handle_alloc(session, i, NULL, &counters[counter_count], &count) == MPI_SUCCESS && count == 1);
    ++counter_count;
  }
}

static unsigned long long value_of(int i) {
  unsigned long long value = 0;
  CHECK(MPI_T_pvar_read(session, counters[i], &value) == MPI_SUCCESS);
  return value;
}

static unsigned long long end_counting(void) {
  unsigned long long total = 0;
  for (int i = 0; i < counter_count; ++i) {
    total += value_of(i);
    MPI_T_pvar_handle_free(session, &counters[i]);
  }
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  return total;
}

#endif
