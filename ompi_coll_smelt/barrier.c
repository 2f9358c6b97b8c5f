/* MPI_Barrier and its other forms. */
#include "form.h"

static int open_barrier(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  return (void)terms, (void)module, (void)call, OMPI_SUCCESS;
}
static int run_barrier(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  (void)terms, (void)call;
  return smelt_group_barrier(group);
}
static int start_barrier(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                         smelt_request *request) {
  (void)terms, (void)call;
  return smelt_group_start_barrier(group, request);
}
static void close_barrier(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                          int error) {
  (void)terms, (void)module, (void)call, (void)error;
}
const struct coll_smelt_form coll_smelt_form_barrier = {open_barrier, run_barrier, start_barrier, close_barrier};

int coll_smelt_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  int code;
  if (coll_smelt_serve(module, SMELT_COLLECTIVE_BARRIER, NULL, &coll_smelt_form_barrier, &code)) return code;
  return module->lower.barrier(comm, module->lower.barrier_module);
}

int coll_smelt_ibarrier(struct ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  int code;
  if (coll_smelt_begin(module, SMELT_COLLECTIVE_BARRIER, &(coll_smelt_call){0}, 0, 0, request, &code)) return code;
  return module->lower.ibarrier(comm, request, module->lower.ibarrier_module);
}

int coll_smelt_barrier_init(struct ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                            mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  int code;
  if (coll_smelt_keep(module, SMELT_COLLECTIVE_BARRIER, &(coll_smelt_call){0}, 0, 0, request, &code)) return code;
  return module->lower.barrier_init(comm, info, request, module->lower.barrier_init_module);
}
