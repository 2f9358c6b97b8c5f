/* MPI_Scatterv and its other forms. How long a row is only its root knows, so there is no length that all could decide
 * by: nonblocking ones are served where there is memory for any. */
#include "blocks.h"

#include <stdint.h>

/* Elsewhere than on the root MPI says nothing of what is sent, and in place nothing of what is received there. */
static coll_smelt_call scattering(coll_smelt_module *module, const void *send, coll_smelt_counts counts,
                                  coll_smelt_places places, struct ompi_datatype_t *send_type, void *receive,
                                  coll_smelt_length count, struct ompi_datatype_t *type, int root) {
  coll_smelt_call call = {.receive = receive, .root = root};
  const bool is_root = coll_smelt_is_root(module, &call);
  if (!(is_root && receive == MPI_IN_PLACE)) call.count = count, call.type = type;
  if (is_root) call.send = send, call.counts = counts, call.places = places, call.send_type = send_type;
  return call;
}

static char *row_of(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  return call->send_type ? coll_smelt_row(terms, call->send, call->send_type) : NULL;
}
static size_t bytes_of(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  return call->type ? coll_smelt_bytes(call->type, call->count) : terms->places[call->root].bytes;
}

static int open_scatterv(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  terms->packed = NULL;
  terms->places = NULL;
  if (call->send_type) {
    const int n = coll_smelt_size(module), error = coll_smelt_blocks_open(terms, call, call->send_type, n);
    if (error != OMPI_SUCCESS) return error;
    coll_smelt_blocks_pack(terms, call, call->send, call->send_type, n, call->type ? -1 : call->root);
  }
  if (call->type)
    coll_smelt_data_open(&terms->out, call->receive, call->count, call->type, true);
  else /* in place: where it lies in the row */
    terms->out.data = (smelt_data){.base = row_of(terms, call) + terms->places[call->root].offset};
  return OMPI_SUCCESS;
}
static int run_scatterv(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  return smelt_group_scatterv(group, row_of(terms, call), terms->places, &terms->out.data, bytes_of(terms, call),
                              (unsigned)call->root);
}
static int start_scatterv(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                          smelt_request *request) {
  return smelt_group_start_scatterv(group, row_of(terms, call), terms->places, &terms->out.data, bytes_of(terms, call),
                                    (unsigned)call->root, request);
}
static void close_scatterv(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                           int error) {
  (void)module, (void)call, (void)error;
  if (call->type) coll_smelt_data_close(&terms->out);
  coll_smelt_blocks_close(terms);
}
const struct coll_smelt_form coll_smelt_form_scatterv = {open_scatterv, run_scatterv, start_scatterv, close_scatterv};

int coll_smelt_scatterv(const void *send, coll_smelt_counts counts, coll_smelt_places places,
                        struct ompi_datatype_t *send_type, void *receive, coll_smelt_length count,
                        struct ompi_datatype_t *type, int root, struct ompi_communicator_t *comm,
                        mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = scattering(module, send, counts, places, send_type, receive, count, type, root);
  int code;
  if (coll_smelt_serve(module, SMELT_COLLECTIVE_SCATTERV, &call, &coll_smelt_form_scatterv, &code)) return code;
  return module->lower.scatterv(send, counts, places, send_type, receive, count, type, root, comm,
                                module->lower.scatterv_module);
}

int coll_smelt_iscatterv(const void *send, coll_smelt_counts counts, coll_smelt_places places,
                         struct ompi_datatype_t *send_type, void *receive, coll_smelt_length count,
                         struct ompi_datatype_t *type, int root, struct ompi_communicator_t *comm,
                         ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = scattering(module, send, counts, places, send_type, receive, count, type, root);
  int code;
  if (coll_smelt_begin(module, SMELT_COLLECTIVE_SCATTERV, &call, SIZE_MAX, 0, request, &code)) return code;
  return module->lower.iscatterv(send, counts, places, send_type, receive, count, type, root, comm, request,
                                 module->lower.iscatterv_module);
}

int coll_smelt_scatterv_init(const void *send, coll_smelt_counts counts, coll_smelt_places places,
                             struct ompi_datatype_t *send_type, void *receive, coll_smelt_length count,
                             struct ompi_datatype_t *type, int root, struct ompi_communicator_t *comm,
                             struct ompi_info_t *info, ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = scattering(module, send, counts, places, send_type, receive, count, type, root);
  int code;
  if (coll_smelt_keep(module, SMELT_COLLECTIVE_SCATTERV, &call, SIZE_MAX, 0, request, &code)) return code;
  return module->lower.scatterv_init(send, counts, places, send_type, receive, count, type, root, comm, info, request,
                                     module->lower.scatterv_init_module);
}
