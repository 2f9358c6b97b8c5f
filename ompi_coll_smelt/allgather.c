/* MPI_Allgather and its other forms. Everybody's data go to consecutive places of `receive`; where the type leaves
 * gaps, to a place of their own first. */
#include "form.h"

/* In place MPI says nothing of the sender's count and type. */
static coll_smelt_call gathering(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                                 void *receive, coll_smelt_length count, struct ompi_datatype_t *type) {
  const bool in_place = send == MPI_IN_PLACE;
  return (coll_smelt_call){.send = send,
                           .send_count = in_place ? 0 : send_count,
                           .send_type = in_place ? NULL : send_type,
                           .receive = receive,
                           .count = count,
                           .type = type};
}

static size_t bytes_of(const coll_smelt_call *call) { return coll_smelt_bytes(call->type, call->count); }

/* Where the data of that rank go. */
static char *block_of(const coll_smelt_call *call, int rank) {
  return coll_smelt_block(call->receive, call->count, call->type, rank);
}

static int open_allgather(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  terms->packed = NULL;
  if (!coll_smelt_gapless(call->type) && !(terms->packed = malloc(bytes_of(call) * (size_t)coll_smelt_size(module))))
    return OMPI_ERR_OUT_OF_RESOURCE;
  if (call->send == MPI_IN_PLACE)
    coll_smelt_data_open(&terms->in, block_of(call, coll_smelt_me(module)), call->count, call->type, false);
  else
    coll_smelt_data_open(&terms->in, call->send, call->send_count, call->send_type, false);
  return OMPI_SUCCESS;
}
static char *all_of(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  return terms->packed ? terms->packed : (char *)call->receive + call->type->super.true_lb;
}
static int run_allgather(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  return smelt_group_allgather(group, &terms->in.data, all_of(terms, call), bytes_of(call));
}
static int start_allgather(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                           smelt_request *request) {
  return smelt_group_start_allgather(group, &terms->in.data, all_of(terms, call), bytes_of(call), request);
}
static void close_allgather(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                            int error) {
  coll_smelt_data_close(&terms->in);
  if (!terms->packed) return;
  for (int i = 0; i < coll_smelt_size(module) && error == 0; ++i)
    if (!(call->send == MPI_IN_PLACE && i == coll_smelt_me(module)))
      coll_smelt_unpack(call->type, (size_t)call->count, block_of(call, i), terms->packed + bytes_of(call) * (size_t)i);
  free(terms->packed);
}
const struct coll_smelt_form coll_smelt_form_allgather = {open_allgather, run_allgather, start_allgather,
                                                          close_allgather};

int coll_smelt_allgather(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                         void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                         struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = gathering(send, send_count, send_type, receive, count, type);
  int code;
  if (bytes_of(&call) == 0) return OMPI_SUCCESS;
  if (coll_smelt_serve(module, SMELT_COLLECTIVE_ALLGATHER, &call, &coll_smelt_form_allgather, &code)) return code;
  return module->lower.allgather(send, send_count, send_type, receive, count, type, comm,
                                 module->lower.allgather_module);
}

int coll_smelt_iallgather(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                          void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                          struct ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = gathering(send, send_count, send_type, receive, count, type);
  const size_t bytes = bytes_of(&call);
  int code;
  if (bytes == 0) return coll_smelt_complete(request);
  if (coll_smelt_begin(module, SMELT_COLLECTIVE_ALLGATHER, &call, bytes, 0, request, &code)) return code;
  return module->lower.iallgather(send, send_count, send_type, receive, count, type, comm, request,
                                  module->lower.iallgather_module);
}

int coll_smelt_allgather_init(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                              void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                              struct ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                              mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = gathering(send, send_count, send_type, receive, count, type);
  const size_t bytes = bytes_of(&call);
  int code;
  if (bytes > 0 && coll_smelt_keep(module, SMELT_COLLECTIVE_ALLGATHER, &call, bytes, 0, request, &code)) return code;
  return module->lower.allgather_init(send, send_count, send_type, receive, count, type, comm, info, request,
                                      module->lower.allgather_init_module);
}
