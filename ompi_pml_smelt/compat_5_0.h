/* Open MPI 5.0: pml interface 2.1.0. A communicator that was made from a group (sessions) has another number on each
 * rank; all others have a common one, as before. */
#ifndef PML_SMELT_COMPAT_5_0_H
#define PML_SMELT_COMPAT_5_0_H

#include "ompi/runtime/params.h"
#include "opal/mca/pmix/pmix-internal.h"
#include "opal/mca/threads/thread_usage.h"
#include "opal/util/proc.h"

#include <stdbool.h>

#define PML_SMELT_API MCA_PML_BASE_VERSION_2_1_0
#define PML_SMELT_EXPORT __attribute__((visibility("default")))

#define PML_SMELT_MODEX_SEND(error, component, data, bytes) OPAL_MODEX_SEND(error, PMIX_LOCAL, component, data, bytes)
#define PML_SMELT_MODEX_RECV(error, component, name, data, bytes) OPAL_MODEX_RECV(error, component, name, data, bytes)

#define PML_SMELT_TELL_EVERYBODY(error, key, data, bytes) OPAL_MODEX_SEND_STRING(error, PMIX_GLOBAL, key, data, bytes)

/* A process of another node that has told nothing would be asked for for ever. */
static inline bool pml_smelt_told(const opal_process_name_t *name, const char *key, uint8_t **data, size_t *bytes) {
  const int seconds = 10;
  pmix_proc_t process;
  pmix_info_t timeout;
  pmix_value_t *value = NULL;
  OPAL_PMIX_CONVERT_NAME(&process, name);
  PMIX_INFO_LOAD(&timeout, PMIX_TIMEOUT, &seconds, PMIX_INT);
  const bool good = PMIx_Get(&process, key, &timeout, 1, &value) == PMIX_SUCCESS && value->type == PMIX_BYTE_OBJECT;
  if (good) {
    *data = (uint8_t *)value->data.bo.bytes;
    *bytes = value->data.bo.size;
    value->data.bo.bytes = NULL; /* the caller's */
    value->data.bo.size = 0;
  }
  if (value) PMIX_VALUE_RELEASE(value);
  return good;
}

static inline uint32_t pml_smelt_job_size(void) { return opal_process_info.num_procs; }
static inline int64_t pml_smelt_context(const struct ompi_communicator_t *comm) {
  return OMPI_COMM_IS_GLOBAL_INDEX(comm) ? (int64_t)comm->c_index : -1;
}
static inline void pml_smelt_take_from_below(mca_pml_base_module_t *module, const mca_pml_base_module_t *below) {
  module->pml_revoke_comm = below->pml_revoke_comm;
  module->pml_get_transports = below->pml_get_transports;
}
/* A program that revokes a communicator wants its requests ended, which only the PML below does. */
static inline const char *pml_smelt_steps_aside(void) {
#if OPAL_ENABLE_FT_MPI
  if (ompi_ftmpi_enabled) return "this job handles failures itself (--with-ft ulfm)";
#endif
  return NULL;
}

#endif
