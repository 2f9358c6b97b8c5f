/* The counters as MPI_T performance variables: tools read them by name, and nothing else needs to know of them. */
#include "counters.h"

#include "opal/mca/base/mca_base_pvar.h"

#include <stdio.h>

coll_smelt_counters coll_smelt_tally;

static int read_counter(const struct mca_base_pvar_t *variable, void *value, void *object) {
  (void)object;
  *(unsigned long long *)value = atomic_load_explicit((coll_smelt_counter *)variable->ctx, memory_order_relaxed);
  return OPAL_SUCCESS;
}

static void offer(const mca_base_component_t *component, const char *name, const char *help,
                  coll_smelt_counter *counter) {
  (void)mca_base_component_pvar_register(component, name, help, OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_COUNTER,
                                         MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
                                         MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, read_counter,
                                         NULL, NULL, counter);
}

void coll_smelt_register_counters(const mca_base_component_t *component) {
  static const char *const names[SMELT_COLLECTIVES] = {
#define SMELT_COLLECTIVE(NAME, name, mpi, ...) #mpi,
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
  };
  for (int i = 0; i < SMELT_COLLECTIVES; ++i) {
    char name[32], help[128];
    snprintf(name, sizeof name, "%s_served", names[i]);
    snprintf(help, sizeof help, "calls of MPI_%c%s that Smelt served", names[i][0] - 'a' + 'A', names[i] + 1);
    offer(component, name, help, &coll_smelt_tally.served[i]);
    snprintf(name, sizeof name, "%s_passed_on", names[i]);
    snprintf(help, sizeof help, "calls of MPI_%c%s that went to the component below", names[i][0] - 'a' + 'A',
             names[i] + 1);
    offer(component, name, help, &coll_smelt_tally.passed_on[i]);
  }
  offer(component, "groups_created", "communicators that Smelt serves or served", &coll_smelt_tally.groups_created);
  offer(component, "groups_refused", "communicators on which Smelt stepped aside", &coll_smelt_tally.groups_refused);
}
