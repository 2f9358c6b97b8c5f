/* MPI_Alltoall. Rows of blocks without gaps are read and written where they are; others, and rows that are overwritten
 * in place, pass through rows of their own. */
#include "form.h"

#include <string.h>

static size_t bytes_of(const coll_smelt_call *call) { return coll_smelt_bytes(call->type, call->count); }

/* In place MPI says nothing of the sender's count and type: the blocks to send lie where the receiver's data go. */
size_t coll_smelt_prepare_alltoall(const coll_smelt_module *module, coll_smelt_call *call) {
  if (call->send == MPI_IN_PLACE) call->send_count = call->count, call->send_type = call->type;
  return bytes_of(call) * (size_t)(coll_smelt_size(module) - 1); /* the blocks for others */
}

int coll_smelt_open_alltoall(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
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
int coll_smelt_run_alltoall(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call) {
  return smelt_group_alltoall(group, row_in(terms, call), row_out(terms, call), bytes_of(call));
}
int coll_smelt_start_alltoall(coll_smelt_terms *terms, smelt_group *group, const coll_smelt_call *call,
                              smelt_request *request) {
  return smelt_group_start_alltoall(group, row_in(terms, call), row_out(terms, call), bytes_of(call), request);
}
void coll_smelt_close_alltoall(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call,
                               int error) {
  free(terms->aside);
  if (!terms->packed) return;
  if (error == 0)
    coll_smelt_unpack(call->type, (size_t)coll_smelt_size(module) * (size_t)call->count, call->receive, terms->packed);
  free(terms->packed);
}
