/* The arguments that Open MPI passes to a collective's functions before the communicator: for each word of the table's
 * column `arguments`, the parameters, the same as arguments, and the call (form.h) that they describe. functions.c
 * makes the functions of them, by COLL_SMELT_FUNCTIONS. */
#ifndef COLL_SMELT_ARGUMENTS_H
#define COLL_SMELT_ARGUMENTS_H

#include "exchange.h"

/* clang-format off */
#define NO_ARGUMENTS_PARAMETERS
#define NO_ARGUMENTS_PASSED
#define NO_ARGUMENTS_CALL 0

#define ROOTED_BUFFER_PARAMETERS void *buffer, coll_smelt_length count, struct ompi_datatype_t *type, int root,
#define ROOTED_BUFFER_PASSED buffer, count, type, root,
#define ROOTED_BUFFER_CALL .receive = buffer, .count = count, .type = type, .root = root

#define OPERANDS_PARAMETERS \
  const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type, struct ompi_op_t *op,
#define OPERANDS_PASSED send, receive, count, type, op,
#define OPERANDS_CALL .send = send, .receive = receive, .count = count, .type = type, .op = op

#define ROOTED_OPERANDS_PARAMETERS OPERANDS_PARAMETERS int root,
#define ROOTED_OPERANDS_PASSED OPERANDS_PASSED root,
#define ROOTED_OPERANDS_CALL OPERANDS_CALL, .root = root

#define OPERANDS_OF_EACH_PARAMETERS \
  const void *send, void *receive, coll_smelt_counts counts, struct ompi_datatype_t *type, struct ompi_op_t *op,
#define OPERANDS_OF_EACH_PASSED send, receive, counts, type, op,
#define OPERANDS_OF_EACH_CALL .send = send, .receive = receive, .counts = counts, .type = type, .op = op

/* Blocks of one length: a count of elements to send, and one of elements to receive. */
#define SENT_PARAMETERS const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
#define SENT_PASSED send, send_count, send_type,
#define SENT_CALL .send = send, .send_count = send_count, .send_type = send_type
#define RECEIVED_PARAMETERS void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
#define RECEIVED_PASSED receive, count, type,
#define RECEIVED_CALL .receive = receive, .count = count, .type = type

#define BLOCKS_PARAMETERS SENT_PARAMETERS RECEIVED_PARAMETERS
#define BLOCKS_PASSED SENT_PASSED RECEIVED_PASSED
#define BLOCKS_CALL SENT_CALL, RECEIVED_CALL

#define ROOTED_BLOCKS_PARAMETERS BLOCKS_PARAMETERS int root,
#define ROOTED_BLOCKS_PASSED BLOCKS_PASSED root,
#define ROOTED_BLOCKS_CALL BLOCKS_CALL, .root = root

/* Blocks of different lengths at places of a row, which the receiver has, or the sender. */
#define TO_PLACES_PARAMETERS SENT_PARAMETERS \
  void *receive, coll_smelt_counts counts, coll_smelt_places places, struct ompi_datatype_t *type,
#define TO_PLACES_PASSED SENT_PASSED receive, counts, places, type,
#define TO_PLACES_CALL SENT_CALL, .receive = receive, .counts = counts, .places = places, .type = type

#define ROOTED_TO_PLACES_PARAMETERS TO_PLACES_PARAMETERS int root,
#define ROOTED_TO_PLACES_PASSED TO_PLACES_PASSED root,
#define ROOTED_TO_PLACES_CALL TO_PLACES_CALL, .root = root

#define ROOTED_FROM_PLACES_PARAMETERS \
  const void *send, coll_smelt_counts counts, coll_smelt_places places, struct ompi_datatype_t *send_type, \
  RECEIVED_PARAMETERS int root,
#define ROOTED_FROM_PLACES_PASSED send, counts, places, send_type, RECEIVED_PASSED root,
#define ROOTED_FROM_PLACES_CALL \
  .send = send, .counts = counts, .places = places, .send_type = send_type, RECEIVED_CALL, .root = root

/* Exchanges: blocks of different lengths on both sides, of one type or a type each. The places of neighbours' blocks of
 * a type each have a type of their own. */
#define EXCHANGE_CALL(...) .exchange = (coll_smelt_exchange[]){__VA_ARGS__}

#define BETWEEN_PLACES_PARAMETERS \
  const void *send, coll_smelt_counts send_counts, coll_smelt_places send_places, struct ompi_datatype_t *send_type, \
  void *receive, coll_smelt_counts counts, coll_smelt_places places, struct ompi_datatype_t *type,
#define BETWEEN_PLACES_PASSED send, send_counts, send_places, send_type, receive, counts, places, type,
#define BETWEEN_PLACES_SIDES \
  coll_smelt_by_elements(send, send_counts, send_places, send_type), \
  coll_smelt_by_elements(receive, counts, places, type)
#define BETWEEN_PLACES_CALL EXCHANGE_CALL(coll_smelt_between_all(BETWEEN_PLACES_SIDES))

#define BETWEEN_TYPES_PARAMETERS \
  const void *send, coll_smelt_counts send_counts, coll_smelt_places send_places, \
  struct ompi_datatype_t *const *send_types, void *receive, coll_smelt_counts counts, coll_smelt_places places, \
  struct ompi_datatype_t *const *types,
#define BETWEEN_TYPES_PASSED send, send_counts, send_places, send_types, receive, counts, places, types,
#define BETWEEN_TYPES_CALL EXCHANGE_CALL(coll_smelt_between_all( \
  coll_smelt_by_bytes(send, send_counts, send_places, send_types), coll_smelt_by_bytes(receive, counts, places, types)))

#define OF_NEIGHBOURS_PARAMETERS BLOCKS_PARAMETERS
#define OF_NEIGHBOURS_PASSED BLOCKS_PASSED
#define OF_NEIGHBOURS_CALL EXCHANGE_CALL(coll_smelt_between_neighbours( \
  coll_smelt_one(send, send_count, send_type), coll_smelt_alike(receive, count, type)))

#define OF_NEIGHBOURS_TO_PLACES_PARAMETERS TO_PLACES_PARAMETERS
#define OF_NEIGHBOURS_TO_PLACES_PASSED TO_PLACES_PASSED
#define OF_NEIGHBOURS_TO_PLACES_CALL EXCHANGE_CALL(coll_smelt_between_neighbours( \
  coll_smelt_one(send, send_count, send_type), coll_smelt_by_elements(receive, counts, places, type)))

#define BETWEEN_NEIGHBOURS_PARAMETERS BLOCKS_PARAMETERS
#define BETWEEN_NEIGHBOURS_PASSED BLOCKS_PASSED
#define BETWEEN_NEIGHBOURS_CALL EXCHANGE_CALL(coll_smelt_between_neighbours( \
  coll_smelt_alike(send, send_count, send_type), coll_smelt_alike(receive, count, type)))

#define BETWEEN_NEIGHBOURS_PLACES_PARAMETERS BETWEEN_PLACES_PARAMETERS
#define BETWEEN_NEIGHBOURS_PLACES_PASSED BETWEEN_PLACES_PASSED
#define BETWEEN_NEIGHBOURS_PLACES_CALL EXCHANGE_CALL(coll_smelt_between_neighbours(BETWEEN_PLACES_SIDES))

#define BETWEEN_NEIGHBOURS_TYPES_PARAMETERS \
  const void *send, coll_smelt_counts send_counts, coll_smelt_far_places send_places, \
  struct ompi_datatype_t *const *send_types, void *receive, coll_smelt_counts counts, coll_smelt_far_places places, \
  struct ompi_datatype_t *const *types,
#define BETWEEN_NEIGHBOURS_TYPES_PASSED BETWEEN_TYPES_PASSED
#define BETWEEN_NEIGHBOURS_TYPES_CALL EXCHANGE_CALL(coll_smelt_between_neighbours( \
  coll_smelt_by_far_bytes(send, send_counts, send_places, send_types), \
  coll_smelt_by_far_bytes(receive, counts, places, types)))
/* clang-format on */

/* The three forms. `prefix` says what of: its functions, its lower ones, and its begin and keep. */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type. */
#define COLL_SMELT_FUNCTIONS(prefix, CLASS, WHICH, mpi, arguments, SERVED)                                    \
  int prefix##mpi(arguments##_PARAMETERS struct ompi_communicator_t *comm, mca_coll_base_module_t *base) {    \
    CLASS *module = (CLASS *)base;                                                                            \
    coll_smelt_call call = {arguments##_CALL};                                                                \
    int code;                                                                                                 \
    if (SERVED) return code;                                                                                  \
    return module->lower.mpi(arguments##_PASSED comm, module->lower.mpi##_module);                            \
  }                                                                                                           \
  int prefix##i##mpi(arguments##_PARAMETERS struct ompi_communicator_t *comm, ompi_request_t **request,       \
                     mca_coll_base_module_t *base) {                                                          \
    CLASS *module = (CLASS *)base;                                                                            \
    coll_smelt_call call = {arguments##_CALL};                                                                \
    int code;                                                                                                 \
    if (prefix##begin(module, WHICH, &call, request, &code)) return code;                                     \
    return module->lower.i##mpi(arguments##_PASSED comm, request, module->lower.i##mpi##_module);             \
  }                                                                                                           \
  int prefix##mpi##_init(arguments##_PARAMETERS struct ompi_communicator_t *comm, struct ompi_info_t *info,   \
                         ompi_request_t **request, mca_coll_base_module_t *base) {                            \
    CLASS *module = (CLASS *)base;                                                                            \
    coll_smelt_call call = {arguments##_CALL};                                                                \
    int code;                                                                                                 \
    if (prefix##keep(module, WHICH, &call, info, request, &code)) return code;                                \
    return module->lower.mpi##_init(arguments##_PASSED comm, info, request, module->lower.mpi##_init_module); \
  }
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
