/* MPI_Scatter and its other forms. The data come from consecutive places of the root's `send`; where the type leaves
 * gaps, they are packed into a place of their own first. */
#include "form.h"

/* Elsewhere than on the root MPI says nothing of what is sent, and in place nothing of what is received there. */
static coll_smelt_call scattering(coll_smelt_module *module, const void *send, coll_smelt_length send_count,
                                  struct ompi_datatype_t *send_type, void *receive, coll_smelt_length count,
                                  struct ompi_datatype_t *type, int root) {
  coll_smelt_call call = {.receive = receive, .root = root};
  const bool is_root = coll_smelt_is_root(module, &call);
  if (!(is_root && receive == MPI_IN_PLACE)) call.count = count, call.type = type;
  if (is_root) call.send = send, call.send_count = send_count, call.send_type = send_type;
  return call;
}

static size_t bytes_of(const coll_smelt_call *call) {
  return call->send_type ? coll_smelt_bytes(call->send_type, call->send_count)
                         : coll_smelt_bytes(call->type, call->count);
}
/* What a start may be refused for is the length of the whole row that is sent. */
static size_t sent_bytes(const coll_smelt_module *module, const coll_smelt_call *call) {
  return bytes_of(call) * (size_t)(coll_smelt_size(module) - 1);
}

static bool pack_all(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  const size_t bytes = bytes_of(call);
  if (!(terms->packed = malloc(bytes * (size_t)coll_smelt_size(module)))) return false;
  for (int i = 0; i < coll_smelt_size(module); ++i)
    if (call->type || i != call->root)
      coll_smelt_pack(call->send_type, (size_t)call->send_count,
                      coll_smelt_block(call->send, call->send_count, call->send_type, i),
                      terms->packed + bytes * (size_t)i);
  return true;
}

static char *all_of(const coll_smelt_terms *terms, const coll_smelt_call *call) {
  if (!call->send_type) return NULL;
  return terms->packed ? terms->packed : (char *)call->send + call->send_type->super.true_lb;
}

static int open_scatter(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  terms->packed = NULL;
  if (call->send_type && !coll_smelt_gapless(call->send_type) && !pack_all(terms, module, call))
    return OMPI_ERR_OUT_OF_RESOURCE;
  if (call->type)
    coll_smelt_data_open(&terms->out, call->receive, call->count, call->type, true);
  else /* in place: where it lies in the row */
    terms->out.data = (smelt_data){.base = all_of(terms, call) + bytes_of(call) * (size_t)call->root};
  return OMPI_SUCCESS;
}
static int run_scatter(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  return smelt_group_scatter(group, all_of(terms, call), &terms->out.data, bytes_of(call), (unsigned)call->root);
}
static int start_scatter(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                         smelt_request *request) {
  return smelt_group_start_scatter(group, all_of(terms, call), &terms->out.data, bytes_of(call), (unsigned)call->root,
                                   request);
}
static void close_scatter(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                          int error) {
  (void)module, (void)call, (void)error;
  coll_smelt_data_close(&terms->out);
  free(terms->packed);
}
const struct coll_smelt_form coll_smelt_form_scatter = {open_scatter, run_scatter, start_scatter, close_scatter};

int coll_smelt_scatter(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type, void *receive,
                       coll_smelt_length count, struct ompi_datatype_t *type, int root,
                       struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = scattering(module, send, send_count, send_type, receive, count, type, root);
  int code;
  if (bytes_of(&call) == 0) return OMPI_SUCCESS;
  if (coll_smelt_serve(module, SMELT_COLLECTIVE_SCATTER, &call, &coll_smelt_form_scatter, &code)) return code;
  return module->lower.scatter(send, send_count, send_type, receive, count, type, root, comm,
                               module->lower.scatter_module);
}

int coll_smelt_iscatter(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                        void *receive, coll_smelt_length count, struct ompi_datatype_t *type, int root,
                        struct ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = scattering(module, send, send_count, send_type, receive, count, type, root);
  const size_t bytes = sent_bytes(module, &call);
  int code;
  if (bytes == 0) return coll_smelt_complete(request);
  if (coll_smelt_begin(module, SMELT_COLLECTIVE_SCATTER, &call, bytes, 0, request, &code)) return code;
  return module->lower.iscatter(send, send_count, send_type, receive, count, type, root, comm, request,
                                module->lower.iscatter_module);
}

int coll_smelt_scatter_init(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                            void *receive, coll_smelt_length count, struct ompi_datatype_t *type, int root,
                            struct ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                            mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = scattering(module, send, send_count, send_type, receive, count, type, root);
  const size_t bytes = sent_bytes(module, &call);
  int code;
  if (bytes > 0 && coll_smelt_keep(module, SMELT_COLLECTIVE_SCATTER, &call, bytes, 0, request, &code)) return code;
  return module->lower.scatter_init(send, send_count, send_type, receive, count, type, root, comm, info, request,
                                    module->lower.scatter_init_module);
}
