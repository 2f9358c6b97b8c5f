/* MPI_Gather and its other forms. The data go to consecutive places of the root's `receive`; where the type leaves
 * gaps, to a place of their own first. */
#include "form.h"

/* Elsewhere than on the root MPI says nothing of what is received, and in place nothing of what is sent there. */
static coll_smelt_call gathering(coll_smelt_module *module, const void *send, coll_smelt_length send_count,
                                 struct ompi_datatype_t *send_type, void *receive, coll_smelt_length count,
                                 struct ompi_datatype_t *type, int root) {
  coll_smelt_call call = {.send = send, .root = root};
  const bool is_root = coll_smelt_is_root(module, &call);
  if (!(is_root && send == MPI_IN_PLACE)) call.send_count = send_count, call.send_type = send_type;
  if (is_root) call.receive = receive, call.count = count, call.type = type;
  return call;
}

static size_t bytes_of(const coll_smelt_call *call) {
  return call->type ? coll_smelt_bytes(call->type, call->count) : coll_smelt_bytes(call->send_type, call->send_count);
}

static int open_gather(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  terms->packed = NULL;
  if (call->type && !coll_smelt_gapless(call->type) &&
      !(terms->packed = malloc(bytes_of(call) * (size_t)coll_smelt_size(module))))
    return OMPI_ERR_OUT_OF_RESOURCE;
  if (call->send_type)
    coll_smelt_data_open(&terms->in, call->send, call->send_count, call->send_type, false);
  else
    coll_smelt_data_open(&terms->in, coll_smelt_block(call->receive, call->count, call->type, call->root), call->count,
                         call->type, false);
  return OMPI_SUCCESS;
}
static char *all_of(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  if (!call->type) return NULL;
  return terms->packed ? terms->packed : (char *)call->receive + call->type->super.true_lb;
}
static int run_gather(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  return smelt_group_gather(group, &terms->in.data, all_of(terms, call), bytes_of(call), (unsigned)call->root);
}
static int start_gather(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                        smelt_request *request) {
  return smelt_group_start_gather(group, &terms->in.data, all_of(terms, call), bytes_of(call), (unsigned)call->root,
                                  request);
}
static void close_gather(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                         int error) {
  coll_smelt_data_close(&terms->in);
  if (!terms->packed) return;
  for (int i = 0; i < coll_smelt_size(module) && error == 0; ++i)
    if (call->send_type || i != call->root)
      coll_smelt_unpack(call->type, (size_t)call->count, coll_smelt_block(call->receive, call->count, call->type, i),
                        terms->packed + bytes_of(call) * (size_t)i);
  free(terms->packed);
}
const struct coll_smelt_form coll_smelt_form_gather = {open_gather, run_gather, start_gather, close_gather};

int coll_smelt_gather(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type, void *receive,
                      coll_smelt_length count, struct ompi_datatype_t *type, int root, struct ompi_communicator_t *comm,
                      mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = gathering(module, send, send_count, send_type, receive, count, type, root);
  int code;
  if (bytes_of(&call) == 0) return OMPI_SUCCESS;
  if (coll_smelt_serve(module, SMELT_COLLECTIVE_GATHER, &call, &coll_smelt_form_gather, &code)) return code;
  return module->lower.gather(send, send_count, send_type, receive, count, type, root, comm,
                              module->lower.gather_module);
}

int coll_smelt_igather(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type, void *receive,
                       coll_smelt_length count, struct ompi_datatype_t *type, int root,
                       struct ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = gathering(module, send, send_count, send_type, receive, count, type, root);
  const size_t bytes = bytes_of(&call);
  int code;
  if (bytes == 0) return coll_smelt_complete(request);
  if (coll_smelt_begin(module, SMELT_COLLECTIVE_GATHER, &call, bytes, 0, request, &code)) return code;
  return module->lower.igather(send, send_count, send_type, receive, count, type, root, comm, request,
                               module->lower.igather_module);
}

int coll_smelt_gather_init(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                           void *receive, coll_smelt_length count, struct ompi_datatype_t *type, int root,
                           struct ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                           mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = gathering(module, send, send_count, send_type, receive, count, type, root);
  const size_t bytes = bytes_of(&call);
  int code;
  if (bytes > 0 && coll_smelt_keep(module, SMELT_COLLECTIVE_GATHER, &call, bytes, 0, request, &code)) return code;
  return module->lower.gather_init(send, send_count, send_type, receive, count, type, root, comm, info, request,
                                   module->lower.gather_init_module);
}
