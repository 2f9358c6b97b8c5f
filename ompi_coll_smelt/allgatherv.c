/* MPI_Allgatherv and its other forms. */
#include "blocks.h"

/* In place MPI says nothing of the sender's count and type. */
static coll_smelt_call gathering(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                                 void *receive, coll_smelt_counts counts, coll_smelt_places places,
                                 struct ompi_datatype_t *type) {
  const bool in_place = send == MPI_IN_PLACE;
  return (coll_smelt_call){.send = send,
                           .send_count = in_place ? 0 : send_count,
                           .send_type = in_place ? NULL : send_type,
                           .receive = receive,
                           .counts = counts,
                           .places = places,
                           .type = type};
}

static int open_allgatherv(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  const int me = coll_smelt_me(module);
  const int error = coll_smelt_blocks_open(terms, call, call->type, coll_smelt_size(module));
  if (error != OMPI_SUCCESS) return error;
  if (call->send == MPI_IN_PLACE)
    coll_smelt_data_open(&terms->in, coll_smelt_place(call, call->receive, call->type, me),
                         (coll_smelt_length)coll_smelt_count_of(call->counts, me), call->type, false);
  else
    coll_smelt_data_open(&terms->in, call->send, call->send_count, call->send_type, false);
  return OMPI_SUCCESS;
}
static int run_allgatherv(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  return smelt_group_allgatherv(group, &terms->in.data, coll_smelt_row(terms, call->receive, call->type),
                                terms->places);
}
static int start_allgatherv(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                            smelt_request *request) {
  return smelt_group_start_allgatherv(group, &terms->in.data, coll_smelt_row(terms, call->receive, call->type),
                                      terms->places, request);
}
static void close_allgatherv(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                             int error) {
  coll_smelt_data_close(&terms->in);
  if (error == 0)
    coll_smelt_blocks_unpack(terms, call, call->receive, call->type, coll_smelt_size(module),
                             call->send == MPI_IN_PLACE ? coll_smelt_me(module) : -1);
  coll_smelt_blocks_close(terms);
}
const struct coll_smelt_form coll_smelt_form_allgatherv = {open_allgatherv, run_allgatherv, start_allgatherv,
                                                           close_allgatherv};

static size_t longest(const coll_smelt_module *module, const coll_smelt_call *call) {
  return coll_smelt_longest_block(call, call->type, coll_smelt_size(module));
}

int coll_smelt_allgatherv(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                          void *receive, coll_smelt_counts counts, coll_smelt_places places,
                          struct ompi_datatype_t *type, struct ompi_communicator_t *comm,
                          mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = gathering(send, send_count, send_type, receive, counts, places, type);
  int code;
  if (longest(module, &call) == 0) return OMPI_SUCCESS;
  if (coll_smelt_serve(module, SMELT_COLLECTIVE_ALLGATHERV, &call, &coll_smelt_form_allgatherv, &code)) return code;
  return module->lower.allgatherv(send, send_count, send_type, receive, counts, places, type, comm,
                                  module->lower.allgatherv_module);
}

int coll_smelt_iallgatherv(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                           void *receive, coll_smelt_counts counts, coll_smelt_places places,
                           struct ompi_datatype_t *type, struct ompi_communicator_t *comm, ompi_request_t **request,
                           mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = gathering(send, send_count, send_type, receive, counts, places, type);
  const size_t bytes = longest(module, &call);
  int code;
  if (bytes == 0) return coll_smelt_complete(request);
  if (coll_smelt_begin(module, SMELT_COLLECTIVE_ALLGATHERV, &call, bytes, 0, request, &code)) return code;
  return module->lower.iallgatherv(send, send_count, send_type, receive, counts, places, type, comm, request,
                                   module->lower.iallgatherv_module);
}

int coll_smelt_allgatherv_init(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                               void *receive, coll_smelt_counts counts, coll_smelt_places places,
                               struct ompi_datatype_t *type, struct ompi_communicator_t *comm, struct ompi_info_t *info,
                               ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = gathering(send, send_count, send_type, receive, counts, places, type);
  const size_t bytes = longest(module, &call);
  int code;
  if (bytes > 0 && coll_smelt_keep(module, SMELT_COLLECTIVE_ALLGATHERV, &call, bytes, 0, request, &code)) return code;
  return module->lower.allgatherv_init(send, send_count, send_type, receive, counts, places, type, comm, info, request,
                                       module->lower.allgatherv_init_module);
}
