/* MPI_Alltoall and its other forms. Rows of blocks without gaps are read and written where they are; others, and what
 * is overwritten in place, pass through rows of their own. */
#include "form.h"

#include <string.h>

/* In place MPI says nothing of the sender's count and type: what is sent lies where the receiver's data go. */
static coll_smelt_call exchanging(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                                  void *receive, coll_smelt_length count, struct ompi_datatype_t *type) {
  const bool in_place = send == MPI_IN_PLACE;
  return (coll_smelt_call){.send = send,
                           .send_count = in_place ? count : send_count,
                           .send_type = in_place ? type : send_type,
                           .receive = receive,
                           .count = count,
                           .type = type};
}

static size_t bytes_of(const coll_smelt_call *call) { return coll_smelt_bytes(call->type, call->count); }
static size_t sent_to_others(const coll_smelt_module *module, const coll_smelt_call *call) {
  return bytes_of(call) * (size_t)(coll_smelt_size(module) - 1);
}

static int open_alltoall(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  const size_t blocks = (size_t)coll_smelt_size(module), row = bytes_of(call) * blocks;
  const bool in_place = call->send == MPI_IN_PLACE;
  terms->packed = terms->aside = NULL;
  if (!coll_smelt_gapless(call->type) && !(terms->packed = malloc(row))) return OMPI_ERR_OUT_OF_RESOURCE;
  if (!in_place && coll_smelt_gapless(call->send_type)) return OMPI_SUCCESS;
  if (!(terms->aside = malloc(row))) return free(terms->packed), OMPI_ERR_OUT_OF_RESOURCE;
  coll_smelt_pack(call->send_type, blocks * (size_t)call->send_count, in_place ? call->receive : call->send,
                  terms->aside);
  return OMPI_SUCCESS;
}
static const char *row_in(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  return terms->aside ? terms->aside : (const char *)call->send + call->send_type->super.true_lb;
}
static char *row_out(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  return terms->packed ? terms->packed : (char *)call->receive + call->type->super.true_lb;
}
static int run_alltoall(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  return smelt_group_alltoall(group, row_in(terms, call), row_out(terms, call), bytes_of(call));
}
static int start_alltoall(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                          smelt_request *request) {
  return smelt_group_start_alltoall(group, row_in(terms, call), row_out(terms, call), bytes_of(call), request);
}
static void close_alltoall(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                           int error) {
  free(terms->aside);
  if (!terms->packed) return;
  if (error == 0)
    coll_smelt_unpack(call->type, (size_t)coll_smelt_size(module) * (size_t)call->count, call->receive, terms->packed);
  free(terms->packed);
}
const struct coll_smelt_form coll_smelt_form_alltoall = {open_alltoall, run_alltoall, start_alltoall, close_alltoall};

int coll_smelt_alltoall(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                        void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                        struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = exchanging(send, send_count, send_type, receive, count, type);
  int code;
  if (bytes_of(&call) == 0) return OMPI_SUCCESS;
  if (coll_smelt_serve(module, SMELT_COLLECTIVE_ALLTOALL, &call, &coll_smelt_form_alltoall, &code)) return code;
  return module->lower.alltoall(send, send_count, send_type, receive, count, type, comm, module->lower.alltoall_module);
}

int coll_smelt_ialltoall(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                         void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                         struct ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = exchanging(send, send_count, send_type, receive, count, type);
  const size_t bytes = sent_to_others(module, &call);
  int code;
  if (bytes == 0) return coll_smelt_complete(request);
  if (coll_smelt_begin(module, SMELT_COLLECTIVE_ALLTOALL, &call, bytes, 0, request, &code)) return code;
  return module->lower.ialltoall(send, send_count, send_type, receive, count, type, comm, request,
                                 module->lower.ialltoall_module);
}

int coll_smelt_alltoall_init(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                             void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                             struct ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                             mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = exchanging(send, send_count, send_type, receive, count, type);
  const size_t bytes = sent_to_others(module, &call);
  int code;
  if (bytes > 0 && coll_smelt_keep(module, SMELT_COLLECTIVE_ALLTOALL, &call, bytes, 0, request, &code)) return code;
  return module->lower.alltoall_init(send, send_count, send_type, receive, count, type, comm, info, request,
                                     module->lower.alltoall_init_module);
}
