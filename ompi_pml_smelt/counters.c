/* The counters as MPI_T performance variables, pml_smelt_<name>. */
#include "pml_smelt.h"

#include "opal/mca/base/mca_base_pvar.h"

pml_smelt_counters pml_smelt_tally;

static int read_counter(const struct mca_base_pvar_t *variable, void *value, void *object) {
  (void)object;
  *(unsigned long long *)value = atomic_load_explicit((atomic_ullong *)variable->ctx, memory_order_relaxed);
  return OPAL_SUCCESS;
}

static int read_deferred(const struct mca_base_pvar_t *variable, void *value, void *object) {
  (void)variable;
  (void)object;
  *(unsigned long long *)value = pml_smelt_endpoint ? smelt_endpoint_deferred(pml_smelt_endpoint) : 0;
  return OPAL_SUCCESS;
}

static void offer(const mca_base_component_t *component, const char *name, const char *help,
                  mca_base_get_value_fn_t read, atomic_ullong *counter) {
  (void)mca_base_component_pvar_register(component, name, help, OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_COUNTER,
                                         MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
                                         MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, read, NULL,
                                         NULL, counter);
}

void pml_smelt_register_counters(const mca_base_component_t *component) {
  static const struct {
    const char *name, *help;
    atomic_ullong *counter;
  } all[] = {
      {"inline_sends", "messages that Smelt sent in the receiver's inbox", &pml_smelt_tally.inline_sends},
      {"eager_sends", "messages that Smelt sent in a packet", &pml_smelt_tally.eager_sends},
      {"rendezvous_sends", "messages that Smelt had the receiver read", &pml_smelt_tally.rendezvous_sends},
      {"receives", "receives that were Smelt's", &pml_smelt_tally.receives},
      {"wildcards", "receives and probes of any source or any tag", &pml_smelt_tally.wildcards},
      {"probes", "probes that were Smelt's", &pml_smelt_tally.probes},
      {"communicators_served", "communicators that Smelt serves or served", &pml_smelt_tally.communicators_served},
      {"communicators_left", "communicators that are left to the PML below", &pml_smelt_tally.communicators_left},
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
    offer(component, all[i].name, all[i].help, read_counter, all[i].counter);
  offer(component, "deferred_sends", "messages that have had to wait for room", read_deferred, NULL);
}
