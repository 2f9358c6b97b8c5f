/* Open MPI 4.1: pml interface 2.0.0. */
#ifndef PML_SMELT_COMPAT_4_1_H
#define PML_SMELT_COMPAT_4_1_H

#include "opal/mca/pmix/pmix.h"
#include "opal/threads/thread_usage.h"
#include "opal/util/proc.h"

#include <stdbool.h>

#define PML_SMELT_API MCA_PML_BASE_VERSION_2_0_0
#define PML_SMELT_EXPORT OMPI_MODULE_DECLSPEC

#define PML_SMELT_MODEX_SEND(error, component, data, bytes) \
  OPAL_MODEX_SEND(error, OPAL_PMIX_LOCAL, component, data, bytes)
#define PML_SMELT_MODEX_RECV(error, component, name, data, bytes) OPAL_MODEX_RECV(error, component, name, data, bytes)

#define PML_SMELT_TELL_EVERYBODY(error, key, data, bytes) \
  OPAL_MODEX_SEND_STRING(error, OPAL_PMIX_GLOBAL, (char *)(key), data, bytes)

static inline bool pml_smelt_told(const opal_process_name_t *name, const char *key, uint8_t **data, size_t *bytes) {
  int error = OPAL_SUCCESS;
  OPAL_MODEX_RECV_STRING(error, (char *)key, name, data, bytes);
  return error == OPAL_SUCCESS;
}

static inline uint32_t pml_smelt_job_size(void) {
  opal_process_name_t all = {.jobid = OPAL_PROC_MY_NAME.jobid, .vpid = OPAL_VPID_WILDCARD};
  uint32_t size = 1, *at = &size;
  int error = OPAL_SUCCESS;
  OPAL_MODEX_RECV_VALUE_OPTIONAL(error, OPAL_PMIX_JOB_SIZE, &all, &at, OPAL_UINT32);
  return error == OPAL_SUCCESS ? size : 1;
}
static inline int64_t pml_smelt_context(const struct ompi_communicator_t *comm) { return comm->c_contextid; }
static inline void pml_smelt_take_from_below(mca_pml_base_module_t *module, const mca_pml_base_module_t *below) {
  module->pml_ft_event = below->pml_ft_event;
}
static inline const char *pml_smelt_steps_aside(void) { return NULL; }

#endif
