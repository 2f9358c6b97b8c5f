/* MPI_Gatherv and its other forms. How long a row is only its root knows, so there is no length that all could decide
 * by: nonblocking ones are served where there is memory for any. What is sent lies in one piece; where its type leaves
 * gaps, in a place of its own. */
#include "blocks.h"

#include <stdint.h>

/* Elsewhere than on the root MPI says nothing of what is received, and in place nothing of what is sent there. */
static coll_smelt_call gathering(coll_smelt_module *module, const void *send, coll_smelt_length send_count,
                                 struct ompi_datatype_t *send_type, void *receive, coll_smelt_counts counts,
                                 coll_smelt_places places, struct ompi_datatype_t *type, int root) {
  coll_smelt_call call = {.send = send, .root = root};
  const bool is_root = coll_smelt_is_root(module, &call);
  if (!(is_root && send == MPI_IN_PLACE)) call.send_count = send_count, call.send_type = send_type;
  if (is_root) call.receive = receive, call.counts = counts, call.places = places, call.type = type;
  return call;
}

static char *row_of(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  return call->type ? coll_smelt_row(terms, call->receive, call->type) : NULL;
}
static size_t bytes_of(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  return call->send_type ? coll_smelt_bytes(call->send_type, call->send_count) : terms->places[call->root].bytes;
}

/* What is sent: terms->in, in one piece. */
static bool open_own(coll_smelt_terms *terms, const coll_smelt_call *call) {
  terms->own = NULL;
  if (!call->send_type) { /* in place: where it lies in the row, and nobody looks at it where that is another one */
    terms->in.data.base = row_of(terms, call) + terms->places[call->root].offset;
    return true;
  }
  coll_smelt_data_open(&terms->in, call->send, call->send_count, call->send_type, false);
  const size_t bytes = bytes_of(terms, call);
  if (terms->in.data.base || bytes == 0) return true;
  coll_smelt_data_close(&terms->in);
  if (!(terms->own = malloc(bytes))) return false;
  coll_smelt_pack(call->send_type, (size_t)call->send_count, call->send, terms->own);
  terms->in.data.base = terms->own;
  return true;
}

static int open_gatherv(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  terms->packed = NULL;
  terms->places = NULL;
  if (call->type) {
    const int error = coll_smelt_blocks_open(terms, call, call->type, coll_smelt_size(module));
    if (error != OMPI_SUCCESS) return error;
  }
  if (open_own(terms, call)) return OMPI_SUCCESS;
  coll_smelt_blocks_close(terms);
  return OMPI_ERR_OUT_OF_RESOURCE;
}
static int run_gatherv(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  return smelt_group_gatherv(group, terms->in.data.base, bytes_of(terms, call), row_of(terms, call), terms->places,
                             (unsigned)call->root);
}
static int start_gatherv(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                         smelt_request *request) {
  return smelt_group_start_gatherv(group, terms->in.data.base, bytes_of(terms, call), row_of(terms, call),
                                   terms->places, (unsigned)call->root, request);
}
static void close_gatherv(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                          int error) {
  if (call->type && error == 0)
    coll_smelt_blocks_unpack(terms, call, call->receive, call->type, coll_smelt_size(module),
                             call->send_type ? -1 : call->root);
  free(terms->own);
  coll_smelt_blocks_close(terms);
}
const struct coll_smelt_form coll_smelt_form_gatherv = {open_gatherv, run_gatherv, start_gatherv, close_gatherv};

int coll_smelt_gatherv(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type, void *receive,
                       coll_smelt_counts counts, coll_smelt_places places, struct ompi_datatype_t *type, int root,
                       struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = gathering(module, send, send_count, send_type, receive, counts, places, type, root);
  int code;
  if (coll_smelt_serve(module, SMELT_COLLECTIVE_GATHERV, &call, &coll_smelt_form_gatherv, &code)) return code;
  return module->lower.gatherv(send, send_count, send_type, receive, counts, places, type, root, comm,
                               module->lower.gatherv_module);
}

int coll_smelt_igatherv(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                        void *receive, coll_smelt_counts counts, coll_smelt_places places, struct ompi_datatype_t *type,
                        int root, struct ompi_communicator_t *comm, ompi_request_t **request,
                        mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = gathering(module, send, send_count, send_type, receive, counts, places, type, root);
  int code;
  if (coll_smelt_begin(module, SMELT_COLLECTIVE_GATHERV, &call, SIZE_MAX, 0, request, &code)) return code;
  return module->lower.igatherv(send, send_count, send_type, receive, counts, places, type, root, comm, request,
                                module->lower.igatherv_module);
}

int coll_smelt_gatherv_init(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                            void *receive, coll_smelt_counts counts, coll_smelt_places places,
                            struct ompi_datatype_t *type, int root, struct ompi_communicator_t *comm,
                            struct ompi_info_t *info, ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = gathering(module, send, send_count, send_type, receive, counts, places, type, root);
  int code;
  if (coll_smelt_keep(module, SMELT_COLLECTIVE_GATHERV, &call, SIZE_MAX, 0, request, &code)) return code;
  return module->lower.gatherv_init(send, send_count, send_type, receive, counts, places, type, root, comm, info,
                                    request, module->lower.gatherv_init_module);
}
