/* MPI_Scan and MPI_Exscan, and their other forms. Of an exscan rank 0 has no result. */
#include "reduction.h"

static int open_scan(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  return (void)module, coll_smelt_open_reduction(terms, call, true);
}
static int open_exscan(coll_smelt_terms *terms, const coll_smelt_module *module, const coll_smelt_call *call) {
  return coll_smelt_open_reduction(terms, call, coll_smelt_me(module) > 0);
}
static bool never(const coll_smelt_call *call) { return (void)call, false; }

#define SCAN_OR_EXSCAN(NAME, name)                                                                              \
  COLL_SMELT_REDUCTION_FOR_ALL(NAME, name, open_##name, never)                                                  \
                                                                                                                \
  int coll_smelt_##name(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type, \
                        struct ompi_op_t *op, struct ompi_communicator_t *comm, mca_coll_base_module_t *base) { \
    coll_smelt_module *module = (coll_smelt_module *)base;                                                      \
    const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op};    \
    int code;                                                                                                   \
    if (coll_smelt_operand_bytes(&call) == 0) return OMPI_SUCCESS;                                              \
    if (OPAL_UNLIKELY(!module->group) && coll_smelt_is_first_of_any_order(module, op, type))                    \
      coll_smelt_count_passed_on(module, SMELT_COLLECTIVE_##NAME);                                              \
    else if (coll_smelt_serve(module, SMELT_COLLECTIVE_##NAME, &call, &coll_smelt_form_##name, &code))          \
      return code;                                                                                              \
    return module->lower.name(send, receive, count, type, op, comm, module->lower.name##_module);               \
  }

SCAN_OR_EXSCAN(SCAN, scan)
SCAN_OR_EXSCAN(EXSCAN, exscan)
