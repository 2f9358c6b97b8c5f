/* What collectives that combine operands have in common. */
#ifndef COLL_SMELT_REDUCTION_H
#define COLL_SMELT_REDUCTION_H

#include "form.h"

static inline size_t coll_smelt_operand_bytes(const coll_smelt_call *call) {
  return coll_smelt_bytes(call->type, call->count);
}

/* Operands and result of `count` elements each. Where there is no result MPI says nothing of `receive`, and
 * MPI_IN_PLACE is not allowed for `send`. */
static inline int coll_smelt_open_reduction(coll_smelt_terms *terms, const coll_smelt_call *call, bool receives) {
  const int error = coll_smelt_fold_open(&terms->fold, call->op, call->type);
  if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) return error;
  coll_smelt_data_open(&terms->in, call->send == MPI_IN_PLACE ? call->receive : call->send, call->count, call->type,
                       false);
  if (receives)
    coll_smelt_data_open(&terms->out, call->receive, call->count, call->type, true);
  else
    terms->out.data = (smelt_data){0};
  return OMPI_SUCCESS;
}
static inline void coll_smelt_close_reduction(coll_smelt_terms *terms) {
  coll_smelt_data_close(&terms->out);
  coll_smelt_data_close(&terms->in);
  coll_smelt_fold_close(&terms->fold);
}

/* MPI_Allreduce, MPI_Scan and MPI_Exscan have the same arguments. So what the group is told of them, and the
 * nonblocking and persistent forms, are here once. Where `passes_on(call)` holds a nonblocking call is not ours. */
#define COLL_SMELT_REDUCTION_FOR_ALL(NAME, name, open, passes_on)                                                      \
  static int run_##name(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {                    \
    return smelt_group_##name(group, &terms->in.data, &terms->out.data, (size_t)call->count, &terms->fold.fold);       \
  }                                                                                                                    \
  static int start_##name(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,                    \
                          smelt_request *request) {                                                                    \
    return smelt_group_start_##name(group, &terms->in.data, &terms->out.data, (size_t)call->count, &terms->fold.fold,  \
                                    request);                                                                          \
  }                                                                                                                    \
  static void close_##name(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,      \
                           int error) {                                                                                \
    (void)module, (void)call, (void)error;                                                                             \
    coll_smelt_close_reduction(terms);                                                                                 \
  }                                                                                                                    \
  const struct coll_smelt_form coll_smelt_form_##name = {open, run_##name, start_##name, close_##name};                \
                                                                                                                       \
  int coll_smelt_i##name(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,       \
                         struct ompi_op_t *op, struct ompi_communicator_t *comm, ompi_request_t **request,             \
                         mca_coll_base_module_t *base) {                                                               \
    coll_smelt_module *module = (coll_smelt_module *)base;                                                             \
    const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op};           \
    const size_t bytes = coll_smelt_operand_bytes(&call);                                                              \
    int code;                                                                                                          \
    if (bytes == 0) return coll_smelt_complete(request);                                                               \
    if (!(passes_on(&call)) &&                                                                                         \
        coll_smelt_begin(module, SMELT_COLLECTIVE_##NAME, &call, bytes, type->super.size, request, &code))             \
      return code;                                                                                                     \
    return module->lower.i##name(send, receive, count, type, op, comm, request, module->lower.i##name##_module);       \
  }                                                                                                                    \
                                                                                                                       \
  int coll_smelt_##name##_init(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type, \
                               struct ompi_op_t *op, struct ompi_communicator_t *comm, struct ompi_info_t *info,       \
                               ompi_request_t **request, mca_coll_base_module_t *base) {                               \
    coll_smelt_module *module = (coll_smelt_module *)base;                                                             \
    const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op};           \
    const size_t bytes = coll_smelt_operand_bytes(&call);                                                              \
    int code;                                                                                                          \
    if (bytes > 0 && coll_smelt_keep(module, SMELT_COLLECTIVE_##NAME, &call, bytes, type->super.size, request, &code)) \
      return code;                                                                                                     \
    return module->lower.name##_init(send, receive, count, type, op, comm, info, request,                              \
                                     module->lower.name##_init_module);                                                \
  }

#endif
