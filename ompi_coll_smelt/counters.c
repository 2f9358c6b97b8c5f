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

void coll_smelt_offer_counter(const mca_base_component_t *component, const char *name, const char *help,
                              coll_smelt_counter *counter) {
  (void)mca_base_component_pvar_register(component, name, help, OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_COUNTER,
                                         MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
                                         MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, read_counter,
                                         NULL, NULL, counter);
}

/* The two of a form of a collective: `form` is its name in Open MPI, `of` whose calls they are. */
static void offer_form(const mca_base_component_t *component, const char *form, const char *of,
                       coll_smelt_counter *served, coll_smelt_counter *passed_on) {
  char name[64], help[128];
  snprintf(name, sizeof name, "%s_served", form);
  snprintf(help, sizeof help, "calls of %s that Smelt served", of);
  coll_smelt_offer_counter(component, name, help, served);
  snprintf(name, sizeof name, "%s_passed_on", form);
  snprintf(help, sizeof help, "calls of %s that went to the component below", of);
  coll_smelt_offer_counter(component, name, help, passed_on);
}

static void offer_forms(const mca_base_component_t *component, int which, const char *name) {
  char form[32], of[48];
  const char first = (char)(name[0] - 'a' + 'A');
  snprintf(of, sizeof of, "MPI_%c%s", first, name + 1);
  offer_form(component, name, of, &coll_smelt_tally.served[which], &coll_smelt_tally.passed_on[which]);
  snprintf(form, sizeof form, "i%s", name);
  snprintf(of, sizeof of, "MPI_I%s", name);
  offer_form(component, form, of, &coll_smelt_tally.nonblocking_served[which],
             &coll_smelt_tally.nonblocking_passed_on[which]);
  snprintf(form, sizeof form, "%s_init", name);
  snprintf(of, sizeof of, "MPI_%c%s_init", first, name + 1);
  offer_form(component, form, of, &coll_smelt_tally.persistent_served[which],
             &coll_smelt_tally.persistent_passed_on[which]);
}

void coll_smelt_register_counters(const mca_base_component_t *component) {
  static const char *const names[SMELT_COLLECTIVES] = {
#define SMELT_COLLECTIVE(NAME, name, mpi, ...) #mpi,
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
  };
  for (int i = 0; i < SMELT_COLLECTIVES; ++i) offer_forms(component, i, names[i]);
  coll_smelt_offer_counter(component, "groups_created", "communicators that Smelt serves or served",
                           &coll_smelt_tally.groups_created);
  coll_smelt_offer_counter(component, "groups_refused", "communicators on which Smelt stepped aside",
                           &coll_smelt_tally.groups_refused);
}
