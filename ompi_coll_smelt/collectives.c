/* The collectives. Each is the same few steps:
 *
 *   1. nothing to move: done, without a word to anybody, for all ranks see that alike from the packed bytes
 *   2. the group, created when the communicator is used; none yet, or none at all: the lower component, but for
 *      first_reductions.c
 *   3. buffers and operation as the group wants them
 *   4. the group serves the call, or says -ENOTSUP on all ranks alike: the lower component
 *
 * Everything that decides is the same on all ranks: packed bytes, not counts or layouts, which may differ. */
#include "coll_smelt.h"

#include "counters.h"
#include "data.h"
#include "ompi/communicator/communicator.h"

#include <errno.h>
#include <stdlib.h>

/* kNotServed is everybody's. kNoMemory and kFailed are this rank's alone, as they are in Open MPI's own collectives. */
enum { kServed, kNotServed, kNoMemory, kTruncated, kFailed };

static int outcome_of(int error) {
  switch (error) {
    case 0: return kServed;
    case -ENOTSUP: return kNotServed;
    case -EMSGSIZE: return kTruncated;
    default: return kFailed;
  }
}
static int code_of(int outcome) {
  return outcome == kNoMemory ? OMPI_ERR_OUT_OF_RESOURCE : outcome == kTruncated ? MPI_ERR_TRUNCATE : OMPI_ERROR;
}

/* What the group's own creation passes on is not the program's. */
static void count_passed_on(const coll_smelt_module *module, smelt_collective which) {
  if (module->state != COLL_SMELT_CREATING) coll_smelt_increment(&coll_smelt_tally.passed_on[which]);
}

int coll_smelt_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  smelt_group *group = coll_smelt_group_of(module, SMELT_COLLECTIVE_BARRIER);
  if (OPAL_LIKELY(group && smelt_group_barrier(group) == 0)) {
    coll_smelt_increment(&coll_smelt_tally.served[SMELT_COLLECTIVE_BARRIER]);
    return OMPI_SUCCESS;
  }
  count_passed_on(module, SMELT_COLLECTIVE_BARRIER);
  return module->lower.barrier(comm, module->lower.barrier_module);
}

static int broadcast(smelt_group *group, void *buffer, coll_smelt_length count, struct ompi_datatype_t *type, int root,
                     bool sends) {
  coll_smelt_data data;
  coll_smelt_data_open(&data, buffer, count, type, !sends);
  const int error = smelt_group_broadcast(group, &data.data, coll_smelt_bytes(type, count), (unsigned)root);
  coll_smelt_data_close(&data);
  return outcome_of(error);
}

int coll_smelt_bcast(void *buffer, coll_smelt_length count, struct ompi_datatype_t *type, int root,
                     struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  if (coll_smelt_bytes(type, count) == 0) return OMPI_SUCCESS;
  smelt_group *group = coll_smelt_group_of(module, SMELT_COLLECTIVE_BROADCAST);
  const int outcome = group ? broadcast(group, buffer, count, type, root, ompi_comm_rank(comm) == root) : kNotServed;
  if (OPAL_LIKELY(outcome == kServed)) {
    coll_smelt_increment(&coll_smelt_tally.served[SMELT_COLLECTIVE_BROADCAST]);
    return OMPI_SUCCESS;
  }
  if (outcome != kNotServed) return code_of(outcome);
  count_passed_on(module, SMELT_COLLECTIVE_BROADCAST);
  return module->lower.bcast(buffer, count, type, root, comm, module->lower.bcast_module);
}

static int allreduce(smelt_group *group, const void *send, void *receive, coll_smelt_length count,
                     struct ompi_datatype_t *type, struct ompi_op_t *op) {
  coll_smelt_fold fold;
  if (OPAL_UNLIKELY(coll_smelt_fold_open(&fold, op, type) != OMPI_SUCCESS)) return kNoMemory;
  coll_smelt_data in, out;
  coll_smelt_data_open(&in, send == MPI_IN_PLACE ? receive : send, count, type, false);
  coll_smelt_data_open(&out, receive, count, type, true);
  const int error = smelt_group_allreduce(group, &in.data, &out.data, (size_t)count, &fold.fold);
  coll_smelt_data_close(&out);
  coll_smelt_data_close(&in);
  coll_smelt_fold_close(&fold);
  return outcome_of(error);
}

int coll_smelt_allreduce(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                         struct ompi_op_t *op, struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  if (coll_smelt_bytes(type, count) == 0) return OMPI_SUCCESS;
  if (OPAL_UNLIKELY(!module->group) && coll_smelt_is_first_reduction(module, op, type, count)) {
    count_passed_on(module, SMELT_COLLECTIVE_ALLREDUCE);
    return coll_smelt_first_allreduce(module, send, receive, count, type, op);
  }
  smelt_group *group = coll_smelt_group_of(module, SMELT_COLLECTIVE_ALLREDUCE);
  const int outcome = group ? allreduce(group, send, receive, count, type, op) : kNotServed;
  if (OPAL_LIKELY(outcome == kServed)) {
    coll_smelt_increment(&coll_smelt_tally.served[SMELT_COLLECTIVE_ALLREDUCE]);
    return OMPI_SUCCESS;
  }
  if (outcome != kNotServed) return code_of(outcome);
  count_passed_on(module, SMELT_COLLECTIVE_ALLREDUCE);
  return module->lower.allreduce(send, receive, count, type, op, comm, module->lower.allreduce_module);
}

/* Elsewhere than on the root, MPI says nothing of `receive`, and MPI_IN_PLACE is not allowed for `send`. */
static int reduce(smelt_group *group, const void *send, void *receive, coll_smelt_length count,
                  struct ompi_datatype_t *type, struct ompi_op_t *op, int root, bool receives) {
  coll_smelt_fold fold;
  if (OPAL_UNLIKELY(coll_smelt_fold_open(&fold, op, type) != OMPI_SUCCESS)) return kNoMemory;
  coll_smelt_data in, out;
  coll_smelt_data_open(&in, send == MPI_IN_PLACE ? receive : send, count, type, false);
  if (receives)
    coll_smelt_data_open(&out, receive, count, type, true);
  else
    out.data = (smelt_data){0};
  const int error = smelt_group_reduce(group, &in.data, &out.data, (size_t)count, &fold.fold, (unsigned)root);
  coll_smelt_data_close(&out);
  coll_smelt_data_close(&in);
  coll_smelt_fold_close(&fold);
  return outcome_of(error);
}

int coll_smelt_reduce(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                      struct ompi_op_t *op, int root, struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  if (coll_smelt_bytes(type, count) == 0) return OMPI_SUCCESS;
  if (OPAL_UNLIKELY(!module->group) && coll_smelt_is_first_reduction(module, op, type, count)) {
    count_passed_on(module, SMELT_COLLECTIVE_REDUCE);
    return coll_smelt_first_reduce(module, send, receive, count, type, op, root);
  }
  smelt_group *group = coll_smelt_group_of(module, SMELT_COLLECTIVE_REDUCE);
  const int outcome =
      group ? reduce(group, send, receive, count, type, op, root, ompi_comm_rank(comm) == root) : kNotServed;
  if (OPAL_LIKELY(outcome == kServed)) {
    coll_smelt_increment(&coll_smelt_tally.served[SMELT_COLLECTIVE_REDUCE]);
    return OMPI_SUCCESS;
  }
  if (outcome != kNotServed) return code_of(outcome);
  count_passed_on(module, SMELT_COLLECTIVE_REDUCE);
  return module->lower.reduce(send, receive, count, type, op, root, comm, module->lower.reduce_module);
}

/* Everybody's data go to consecutive places of `receive`; where the type leaves gaps, to a place of their own first. */
static int allgather(smelt_group *group, const void *send, coll_smelt_length send_count,
                     struct ompi_datatype_t *send_type, void *receive, coll_smelt_length count,
                     struct ompi_datatype_t *type, unsigned me, unsigned n) {
  const size_t bytes = coll_smelt_bytes(type, count);
  const bool gapless = coll_smelt_gapless(type);
  const ptrdiff_t block = (type->super.ub - type->super.lb) * (ptrdiff_t)count;
  char *const all = gapless ? (char *)receive + type->super.true_lb : malloc(bytes * n);
  if (!all) return kNoMemory;
  coll_smelt_data in;
  if (send == MPI_IN_PLACE)
    coll_smelt_data_open(&in, (char *)receive + block * (ptrdiff_t)me, count, type, false);
  else
    coll_smelt_data_open(&in, send, send_count, send_type, false);
  const int error = smelt_group_allgather(group, &in.data, all, bytes);
  coll_smelt_data_close(&in);
  for (unsigned i = 0; i < n && !gapless; ++i) {
    if (error == 0 && !(send == MPI_IN_PLACE && i == me))
      coll_smelt_unpack(type, (size_t)count, (char *)receive + block * (ptrdiff_t)i, all + bytes * i);
  }
  if (!gapless) free(all);
  return outcome_of(error);
}

int coll_smelt_allgather(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                         void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                         struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  if (coll_smelt_bytes(type, count) == 0) return OMPI_SUCCESS;
  smelt_group *group = coll_smelt_group_of(module, SMELT_COLLECTIVE_ALLGATHER);
  const int outcome = group ? allgather(group, send, send_count, send_type, receive, count, type,
                                        (unsigned)ompi_comm_rank(comm), (unsigned)ompi_comm_size(comm))
                            : kNotServed;
  if (OPAL_LIKELY(outcome == kServed)) {
    coll_smelt_increment(&coll_smelt_tally.served[SMELT_COLLECTIVE_ALLGATHER]);
    return OMPI_SUCCESS;
  }
  if (outcome != kNotServed) return code_of(outcome);
  count_passed_on(module, SMELT_COLLECTIVE_ALLGATHER);
  return module->lower.allgather(send, send_count, send_type, receive, count, type, comm,
                                 module->lower.allgather_module);
}
