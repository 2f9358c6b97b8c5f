/* The counters as MPI_T performance variables, pml_smelt_<name>. */
#include "counters.h"

#include "endpoint.h"

#include "opal/mca/base/mca_base_pvar.h"

#include <smelt/options.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

pml_smelt_counters pml_smelt_tally;
bool pml_smelt_threads;

static int read_counter(const struct mca_base_pvar_t *variable, void *value, void *object) {
  (void)object;
  *(unsigned long long *)value = atomic_load_explicit((atomic_ullong *)variable->ctx, memory_order_relaxed);
  return OPAL_SUCCESS;
}

/* The endpoint's counts; `ctx` is the offset among them. */
static int read_endpoint(const struct mca_base_pvar_t *variable, void *value, void *object) {
  (void)object;
  smelt_endpoint_counters now = {0};
  if (pml_smelt_endpoint) smelt_endpoint_count(pml_smelt_endpoint, &now);
  memcpy(value, (const char *)&now + (uintptr_t)variable->ctx, sizeof(unsigned long long));
  return OPAL_SUCCESS;
}

static void offer(const mca_base_component_t *component, const char *name, const char *help, int class,
                  mca_base_get_value_fn_t read, void *counter) {
  (void)mca_base_component_pvar_register(component, name, help, OPAL_INFO_LVL_4, class,
                                         MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
                                         MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, read, NULL, NULL,
                                         counter);
}

void pml_smelt_register_counters(const mca_base_component_t *component) {
  static const struct {
    const char *name, *help;
    atomic_ullong *counter;
  } ours[] = {
      {"inline_sends", "messages sent in the receiver's inbox", &pml_smelt_tally.inline_sends},
      {"eager_sends", "messages sent in a packet", &pml_smelt_tally.eager_sends},
      {"far_sends", "messages sent to other nodes", &pml_smelt_tally.far_sends},
      {"long_sends", "messages announced, to be fetched or sent in pieces", &pml_smelt_tally.long_sends},
      {"receives", "receives that were Smelt's", &pml_smelt_tally.receives},
      {"probes", "probes that were Smelt's", &pml_smelt_tally.probes},
      {"communicators_served", "communicators that Smelt serves or served", &pml_smelt_tally.communicators_served},
      {"communicators_left", "communicators left to the PML below", &pml_smelt_tally.communicators_left},
  };
#define OF(member) offsetof(smelt_endpoint_counters, member)
  static const struct {
    const char *name, *help;
    size_t at;
  } endpoints[] = {
      {"received_inline", "messages that came in the inbox", OF(received_inline)},
      {"received_eager", "messages that came in a packet", OF(received_eager)},
      {"received_single_copy", "messages read from the sender's memory", OF(received_single_copy)},
      {"received_pieces", "messages that came in pieces", OF(received_pieces)},
      {"received_far_eager", "messages that came from other nodes at once", OF(received_far_eager)},
      {"received_far_announced", "messages from other nodes that were announced first", OF(received_far_announced)},
      {"unexpected", "messages that nobody had asked for when they came", OF(unexpected)},
      {"wildcards", "receives and probes of any source or any tag", OF(wildcards)},
      {"switches", "contexts that began to keep order for wildcards", OF(switches)},
      {"deferred_sends", "messages that have had to wait for room", OF(deferred)},
      {"sleeps", "waits in which a thread fell asleep", OF(sleeps)},
  };
  for (size_t i = 0; i < sizeof ours / sizeof ours[0]; ++i)
    offer(component, ours[i].name, ours[i].help, MCA_BASE_PVAR_CLASS_COUNTER, read_counter, ours[i].counter);
  for (size_t i = 0; i < sizeof endpoints / sizeof endpoints[0]; ++i)
    offer(component, endpoints[i].name, endpoints[i].help, MCA_BASE_PVAR_CLASS_COUNTER, read_endpoint,
          (void *)endpoints[i].at);
  offer(component, "longest_unexpected", "most messages at a time that nobody had asked for",
        MCA_BASE_PVAR_CLASS_HIGHWATERMARK, read_endpoint, (void *)OF(longest_unexpected));
#undef OF
}

void pml_smelt_stats_begin(void) {
  char line[64];
  snprintf(line, sizeof line, "{\"part\":\"pml\",\"pid\":%d,\"begin\":true}", (int)getpid());
  (void)smelt_stats_append(line);
}

void pml_smelt_stats_not_used(const char *why) {
  char line[256];
  snprintf(line, sizeof line, "{\"part\":\"pml\",\"pid\":%d,\"refused\":\"%s\"}", (int)getpid(), why);
  (void)smelt_stats_append(line);
}

void pml_smelt_stats_end(void) {
  const pml_smelt_counters *const all = &pml_smelt_tally;
#define NOW(counter) atomic_load_explicit(&all->counter, memory_order_relaxed)
  char line[256];
  snprintf(line, sizeof line,
           "{\"part\":\"pml\",\"pid\":%d,\"end\":true,\"sends\":%llu,\"receives\":%llu,\"communicators\":%llu,"
           "\"communicators_left\":%llu}",
           (int)getpid(), NOW(inline_sends) + NOW(eager_sends) + NOW(long_sends) + NOW(far_sends), NOW(receives),
           NOW(communicators_served), NOW(communicators_left));
#undef NOW
  (void)smelt_stats_append(line);
}
