/* The first reductions of a communicator, before it has a group: by the component below, with the bits that the group
 * will give later. A communicator that is made for one reduction then costs hardly more than that.
 *
 *   results that no order changes       the component below reduces
 *   anything else, while it is short    the component below only gathers everybody's operands everywhere, and every
 *                                       rank combines them in the order that smelt/group.h promises:
 *
 *     B_0 op (B_1 op (B_2 ...)),  B_j = a_16j op (a_16j+1 op (... a_16j+15)),  a_i the operands of rank i
 *
 *   anything else                       not here: making the group costs little beside so long a message
 *
 * Scans and reduce_scatters, which are rarer, are left to the component below in the first case only.
 *
 * A floating-point sum of two ranks may not be left to the component below either. The processor keeps the first of two
 * NaNs, so a + b and b + a are the same numbers, but not the same bits. Components that exchange operands combine them
 * the other way round on the other rank.
 *
 * All ranks name the same operation, type and count, so all take the same way. */
#include "first_reductions.h"

#include <string.h>

/* The longest operands of all ranks together that are gathered. A group takes some 35 µs to make (2 ranks; measured),
 * and gathering so many bytes no more than a few. */
enum { kMostGathered = 16384, kAlignment = 64, kBlock = 16 };

static size_t gathered_bytes(const coll_smelt_module *module, const struct ompi_datatype_t *type,
                             coll_smelt_length count) {
  return coll_smelt_bytes(type, count) * (size_t)ompi_comm_size(module->comm);
}

/* Does everybody combine here, and not the component below? */
static bool combines(smelt_collective which) {
  return which == SMELT_COLLECTIVE_REDUCE || which == SMELT_COLLECTIVE_ALLREDUCE;
}

bool coll_smelt_is_first_reduction(coll_smelt_module *module, smelt_collective which, const coll_smelt_call *call) {
  if (module->state != COLL_SMELT_UNUSED || module->patience <= 0) return false;
  if (!coll_smelt_any_order(call->op, call->type) &&
      !(combines(which) && gathered_bytes(module, call->type, call->count) <= kMostGathered))
    return false;
  --module->patience;
  return true;
}

static char *operands_of(char *all, size_t bytes, int rank) { return all + bytes * (size_t)rank; }

/* From the right, each partial result in the place of its last operands; at the end all of it is in the last rank's. */
static void combine(const coll_smelt_fold *fold, char *all, size_t bytes, size_t count, int n) {
  const int last_block = (n - 1) / kBlock;
  for (int block = last_block; block >= 0; --block) {
    const int first = block * kBlock, last = block == last_block ? n - 1 : first + kBlock - 1;
    char *const right = operands_of(all, bytes, last);
    for (int rank = last - 1; rank >= first; --rank)
      coll_smelt_combine(&fold->fold, operands_of(all, bytes, rank), right, count);
    if (block != last_block) coll_smelt_combine(&fold->fold, right, operands_of(all, bytes, n - 1), count);
  }
}

/* Packed bytes of the operands <-> a caller's buffer. */
static void take(char *packed, const void *buffer, size_t count, struct ompi_datatype_t *type, size_t bytes) {
  if (coll_smelt_gapless(type))
    memcpy(packed, (const char *)buffer + type->super.true_lb, bytes);
  else
    coll_smelt_pack(type, count, buffer, packed);
}
static void give(const char *packed, void *buffer, size_t count, struct ompi_datatype_t *type, size_t bytes) {
  if (coll_smelt_gapless(type))
    memcpy((char *)buffer + type->super.true_lb, packed, bytes);
  else
    coll_smelt_unpack(type, count, buffer, packed);
}

static int gather_and_combine(coll_smelt_module *module, const coll_smelt_fold *fold, char *all, const void *send,
                              void *receive, size_t count, struct ompi_datatype_t *type) {
  const size_t bytes = coll_smelt_bytes(type, (coll_smelt_length)count);
  const int me = ompi_comm_rank(module->comm), n = ompi_comm_size(module->comm);
  take(operands_of(all, bytes, me), send, count, type, bytes);
  const int error =
      module->lower.allgather(MPI_IN_PLACE, (coll_smelt_length)bytes, &ompi_mpi_byte.dt, all, (coll_smelt_length)bytes,
                              &ompi_mpi_byte.dt, module->comm, module->lower.allgather_module);
  if (error != OMPI_SUCCESS || !receive) return error;
  combine(fold, all, bytes, count, n);
  give(operands_of(all, bytes, n - 1), receive, count, type, bytes);
  return OMPI_SUCCESS;
}

/* `receive`: NULL where no result is wanted. */
static int reduce_in_order(coll_smelt_module *module, const void *send, void *receive, coll_smelt_length count,
                           struct ompi_datatype_t *type, struct ompi_op_t *op) {
  coll_smelt_fold fold;
  int error = coll_smelt_fold_open(&fold, op, type);
  if (error != OMPI_SUCCESS) return error;
  char *const all =
      aligned_alloc(kAlignment, (gathered_bytes(module, type, count) + kAlignment - 1) / kAlignment * kAlignment);
  error = all ? gather_and_combine(module, &fold, all, send, receive, (size_t)count, type) : OMPI_ERR_OUT_OF_RESOURCE;
  free(all);
  coll_smelt_fold_close(&fold);
  return error;
}

bool coll_smelt_first_reduction(coll_smelt_module *module, smelt_collective which, const coll_smelt_call *call,
                                int *code) {
  if (coll_smelt_any_order(call->op, call->type)) return false;
  const bool receives = which == SMELT_COLLECTIVE_ALLREDUCE || coll_smelt_is_root(module, call);
  *code = reduce_in_order(module, call->send == MPI_IN_PLACE ? call->receive : call->send,
                          receives ? call->receive : NULL, call->count, call->type, call->op);
  return true;
}
