/* The nonblocking and the persistent forms of the collectives.
 *
 * A call must return before anybody else has come, and what all ranks must agree on cannot be found out in it. So that
 * is left to the communicator's blocking calls, and until then the component below serves, on all ranks alike:
 *
 *   a group            is made by the blocking calls as ever; nonblocking ones only count as calls before it
 *   long messages      need memory that may be refused; the first nonblocking one has the next blocking call ask for it
 *
 * The persistent forms may wait for others when they are made, so they do both there and then.
 *
 * Open MPI's MPI_Comm_idup goes on in the background with nonblocking collectives of its own on the communicator, in an
 * order of its own. They must not come into our queue, which is one for all, and are told by what they are. */
#include "nonblocking.h"

#include "counters.h"
#include "ompi/communicator/communicator.h"

#include <errno.h>
#include <stdlib.h>

/* --- what is ours */

/* MPI_Comm_idup agrees on numbers, one at a time. */
static bool is_open_mpis_own(const struct ompi_datatype_t *type, coll_smelt_length count, const struct ompi_op_t *op) {
  return count == 1 && type == &ompi_mpi_int.dt && (op == &ompi_mpi_op_max.op || op == &ompi_mpi_op_min.op);
}

/* The intracommunicator within an intercommunicator is used by Open MPI alone, for that as well. From 5.0 on, a place
 * of the list that is about to be given to a communicator holds OMPI_COMM_SENTINEL, which is 1. With the list's lock
 * held no other thread can free one of them, as a communicator leaves its place before. */
static bool is_within_another(const struct ompi_communicator_t *comm) {
  bool found = false;
  OPAL_THREAD_LOCK(&ompi_mpi_communicators.lock);
  for (int i = 0; i < ompi_mpi_communicators.size && !found; ++i) {
    const struct ompi_communicator_t *other = ompi_mpi_communicators.addr[i];
    if ((uintptr_t)other > 1) found = OMPI_COMM_IS_INTER(other) && other->c_local_comm == comm;
  }
  OPAL_THREAD_UNLOCK(&ompi_mpi_communicators.lock);
  return found;
}

static bool is_of_program(coll_smelt_module *module) {
  if (module->used_by == COLL_SMELT_NOT_KNOWN)
    module->used_by = is_within_another(module->comm) ? COLL_SMELT_OPEN_MPI : COLL_SMELT_PROGRAM;
  return module->used_by == COLL_SMELT_PROGRAM;
}

static bool has_room(const smelt_group *group, size_t bytes) { return bytes <= smelt_group_start_limit(group); }

/* May a call of so many bytes, with elements of that size, go to the group? */
static bool takes(coll_smelt_module *module, size_t bytes, size_t element) {
  if (!is_of_program(module)) return false;
  if (!module->group) {
    if (module->state == COLL_SMELT_UNUSED && module->patience > 0) --module->patience;
    return false;
  }
  if (element > smelt_group_element_limit(module->group)) return false;
  if (has_room(module->group, bytes)) return true;
  if (!module->asked_for_room) coll_smelt_want_room(module, true);
  return false;
}

/* The same for a persistent request, which may wait for others until that is known. */
static bool keeps(coll_smelt_module *module, size_t bytes, size_t element) {
  if (!is_of_program(module) || !coll_smelt_group_now(module)) return false;
  if (element > smelt_group_element_limit(module->group)) return false;
  if (!has_room(module->group, bytes)) coll_smelt_ask_for_room(module);
  return has_room(module->group, bytes);
}

/* --- what each collective needs while it is under way */

static size_t bytes_of(const coll_smelt_call *call) { return coll_smelt_bytes(call->type, call->count); }

static int open_broadcast(coll_smelt_operation *o) {
  coll_smelt_data_open(&o->out, o->call.receive, o->call.count, o->call.type,
                       ompi_comm_rank(o->module->comm) != o->call.root);
  return OMPI_SUCCESS;
}
static void begin_broadcast(coll_smelt_operation *o) {
  (void)smelt_group_start_broadcast(o->module->group, &o->out.data, bytes_of(&o->call), (unsigned)o->call.root,
                                    &o->request);
}
static void close_broadcast(coll_smelt_operation *o) { coll_smelt_data_close(&o->out); }

static int open_reduction(coll_smelt_operation *o, bool receives) {
  const coll_smelt_call *call = &o->call;
  const int error = coll_smelt_fold_open(&o->fold, call->op, call->type);
  if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) return error;
  coll_smelt_data_open(&o->in, call->send == MPI_IN_PLACE ? call->receive : call->send, call->count, call->type, false);
  if (receives)
    coll_smelt_data_open(&o->out, call->receive, call->count, call->type, true);
  else
    o->out.data = (smelt_data){0};
  return OMPI_SUCCESS;
}
static void close_reduction(coll_smelt_operation *o) {
  coll_smelt_data_close(&o->out);
  coll_smelt_data_close(&o->in);
  coll_smelt_fold_close(&o->fold);
}

static int open_reduce(coll_smelt_operation *o) {
  return open_reduction(o, ompi_comm_rank(o->module->comm) == o->call.root);
}
static void begin_reduce(coll_smelt_operation *o) {
  (void)smelt_group_start_reduce(o->module->group, &o->in.data, &o->out.data, (size_t)o->call.count, &o->fold.fold,
                                 (unsigned)o->call.root, &o->request);
}

static int open_allreduce(coll_smelt_operation *o) { return open_reduction(o, true); }
static void begin_allreduce(coll_smelt_operation *o) {
  (void)smelt_group_start_allreduce(o->module->group, &o->in.data, &o->out.data, (size_t)o->call.count, &o->fold.fold,
                                    &o->request);
}

static ptrdiff_t block_of(const coll_smelt_call *call) {
  return (call->type->super.ub - call->type->super.lb) * (ptrdiff_t)call->count;
}
static int open_allgather(coll_smelt_operation *o) {
  const coll_smelt_call *call = &o->call;
  const unsigned n = (unsigned)ompi_comm_size(o->module->comm), me = (unsigned)ompi_comm_rank(o->module->comm);
  o->gathered = NULL;
  if (!coll_smelt_gapless(call->type) && !(o->gathered = malloc(bytes_of(call) * n))) return OMPI_ERR_OUT_OF_RESOURCE;
  if (call->send == MPI_IN_PLACE)
    coll_smelt_data_open(&o->in, (char *)call->receive + block_of(call) * (ptrdiff_t)me, call->count, call->type,
                         false);
  else
    coll_smelt_data_open(&o->in, call->send, call->send_count, call->send_type, false);
  return OMPI_SUCCESS;
}
static void begin_allgather(coll_smelt_operation *o) {
  char *const all = o->gathered ? o->gathered : (char *)o->call.receive + o->call.type->super.true_lb;
  (void)smelt_group_start_allgather(o->module->group, &o->in.data, all, bytes_of(&o->call), &o->request);
}
static void close_allgather(coll_smelt_operation *o) {
  const coll_smelt_call *call = &o->call;
  const unsigned n = (unsigned)ompi_comm_size(o->module->comm), me = (unsigned)ompi_comm_rank(o->module->comm);
  coll_smelt_data_close(&o->in);
  if (!o->gathered) return;
  for (unsigned i = 0; i < n && o->request.result == 0; ++i)
    if (!(call->send == MPI_IN_PLACE && i == me))
      coll_smelt_unpack(call->type, (size_t)call->count, (char *)call->receive + block_of(call) * (ptrdiff_t)i,
                        o->gathered + bytes_of(call) * i);
  free(o->gathered);
}

static int open_barrier(coll_smelt_operation *o) { return (void)o, OMPI_SUCCESS; }
static void begin_barrier(coll_smelt_operation *o) { (void)smelt_group_start_barrier(o->module->group, &o->request); }
static void close_barrier(coll_smelt_operation *o) { (void)o; }
static void close_reduce(coll_smelt_operation *o) { close_reduction(o); }
static void close_allreduce(coll_smelt_operation *o) { close_reduction(o); }

static const struct form {
  int (*open)(coll_smelt_operation *);   /* an Open MPI code */
  void (*begin)(coll_smelt_operation *); /* a start that failed counts as complete, with its error */
  void (*close)(coll_smelt_operation *);
} forms[] = {
#define SMELT_COLLECTIVE(NAME, name, ...) {open_##name, begin_##name, close_##name},
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
};

int coll_smelt_operation_open(coll_smelt_operation *operation) { return forms[operation->which].open(operation); }

bool coll_smelt_operation_step(coll_smelt_operation *operation) {
  const struct form *form = &forms[operation->which];
  int done;
  if (operation->begun)
    (void)smelt_group_test(&operation->request, &done);
  else
    form->begin(operation);
  operation->begun = true;
  if (operation->request.group) return false;
  form->close(operation);
  const int result = operation->request.result;
  if (result != 0) operation->super.super.req_status.MPI_ERROR = result == -EMSGSIZE ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER;
  return true;
}

/* --- starting */

static int start(coll_smelt_module *module, smelt_collective which, const coll_smelt_call *call,
                 ompi_request_t **request) {
  coll_smelt_operation *operation = coll_smelt_operation_new(module, which, call, false);
  if (OPAL_UNLIKELY(!operation)) return OMPI_ERR_OUT_OF_RESOURCE;
  const int error = coll_smelt_operation_open(operation);
  if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) {
    coll_smelt_operation_discard(operation);
    return error;
  }
  coll_smelt_increment(&coll_smelt_tally.nonblocking_served[which]);
  *request = &operation->super.super;
  coll_smelt_post(operation);
  return OMPI_SUCCESS;
}

static int keep(coll_smelt_module *module, smelt_collective which, const coll_smelt_call *call,
                ompi_request_t **request) {
  coll_smelt_operation *operation = coll_smelt_operation_new(module, which, call, true);
  if (OPAL_UNLIKELY(!operation)) return OMPI_ERR_OUT_OF_RESOURCE;
  coll_smelt_increment(&coll_smelt_tally.persistent_served[which]);
  *request = &operation->super.super;
  return OMPI_SUCCESS;
}

int coll_smelt_restart(size_t count, ompi_request_t **requests) {
  for (size_t i = 0; i < count; ++i) {
    coll_smelt_operation *operation = (coll_smelt_operation *)requests[i];
    const int error = coll_smelt_operation_open(operation);
    if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) return error;
    coll_smelt_post(operation);
  }
  return OMPI_SUCCESS;
}

static void count_nonblocking_passed_on(smelt_collective which) {
  coll_smelt_increment(&coll_smelt_tally.nonblocking_passed_on[which]);
}
static void count_persistent_passed_on(smelt_collective which) {
  coll_smelt_increment(&coll_smelt_tally.persistent_passed_on[which]);
}

/* --- barrier */

int coll_smelt_ibarrier(struct ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  if (takes(module, 0, 0)) return start(module, SMELT_COLLECTIVE_BARRIER, &(coll_smelt_call){0}, request);
  count_nonblocking_passed_on(SMELT_COLLECTIVE_BARRIER);
  return module->lower.ibarrier(comm, request, module->lower.ibarrier_module);
}

int coll_smelt_barrier_init(struct ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                            mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  if (keeps(module, 0, 0)) return keep(module, SMELT_COLLECTIVE_BARRIER, &(coll_smelt_call){0}, request);
  count_persistent_passed_on(SMELT_COLLECTIVE_BARRIER);
  return module->lower.barrier_init(comm, info, request, module->lower.barrier_init_module);
}

/* --- broadcast */

int coll_smelt_ibcast(void *buffer, coll_smelt_length count, struct ompi_datatype_t *type, int root,
                      struct ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.receive = buffer, .count = count, .type = type, .root = root};
  const size_t bytes = bytes_of(&call);
  if (bytes == 0) return *request = &ompi_request_empty, OMPI_SUCCESS;
  if (takes(module, bytes, 0)) return start(module, SMELT_COLLECTIVE_BROADCAST, &call, request);
  count_nonblocking_passed_on(SMELT_COLLECTIVE_BROADCAST);
  return module->lower.ibcast(buffer, count, type, root, comm, request, module->lower.ibcast_module);
}

int coll_smelt_bcast_init(void *buffer, coll_smelt_length count, struct ompi_datatype_t *type, int root,
                          struct ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                          mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.receive = buffer, .count = count, .type = type, .root = root};
  const size_t bytes = bytes_of(&call);
  if (bytes > 0 && keeps(module, bytes, 0)) return keep(module, SMELT_COLLECTIVE_BROADCAST, &call, request);
  count_persistent_passed_on(SMELT_COLLECTIVE_BROADCAST);
  return module->lower.bcast_init(buffer, count, type, root, comm, info, request, module->lower.bcast_init_module);
}

/* --- reduce */

int coll_smelt_ireduce(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                       struct ompi_op_t *op, int root, struct ompi_communicator_t *comm, ompi_request_t **request,
                       mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op, .root = root};
  const size_t bytes = bytes_of(&call);
  if (bytes == 0) return *request = &ompi_request_empty, OMPI_SUCCESS;
  if (takes(module, bytes, type->super.size)) return start(module, SMELT_COLLECTIVE_REDUCE, &call, request);
  count_nonblocking_passed_on(SMELT_COLLECTIVE_REDUCE);
  return module->lower.ireduce(send, receive, count, type, op, root, comm, request, module->lower.ireduce_module);
}

int coll_smelt_reduce_init(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                           struct ompi_op_t *op, int root, struct ompi_communicator_t *comm, struct ompi_info_t *info,
                           ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op, .root = root};
  const size_t bytes = bytes_of(&call);
  if (bytes > 0 && keeps(module, bytes, type->super.size)) return keep(module, SMELT_COLLECTIVE_REDUCE, &call, request);
  count_persistent_passed_on(SMELT_COLLECTIVE_REDUCE);
  return module->lower.reduce_init(send, receive, count, type, op, root, comm, info, request,
                                   module->lower.reduce_init_module);
}

/* --- allreduce */

int coll_smelt_iallreduce(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                          struct ompi_op_t *op, struct ompi_communicator_t *comm, ompi_request_t **request,
                          mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op};
  const size_t bytes = bytes_of(&call);
  if (bytes == 0) return *request = &ompi_request_empty, OMPI_SUCCESS;
  if (!is_open_mpis_own(type, count, op)) {
    if (takes(module, bytes, type->super.size)) return start(module, SMELT_COLLECTIVE_ALLREDUCE, &call, request);
    count_nonblocking_passed_on(SMELT_COLLECTIVE_ALLREDUCE);
  }
  return module->lower.iallreduce(send, receive, count, type, op, comm, request, module->lower.iallreduce_module);
}

int coll_smelt_allreduce_init(const void *send, void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                              struct ompi_op_t *op, struct ompi_communicator_t *comm, struct ompi_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = {.send = send, .receive = receive, .count = count, .type = type, .op = op};
  const size_t bytes = bytes_of(&call);
  if (bytes > 0 && keeps(module, bytes, type->super.size))
    return keep(module, SMELT_COLLECTIVE_ALLREDUCE, &call, request);
  count_persistent_passed_on(SMELT_COLLECTIVE_ALLREDUCE);
  return module->lower.allreduce_init(send, receive, count, type, op, comm, info, request,
                                      module->lower.allreduce_init_module);
}

/* --- allgather */

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

int coll_smelt_iallgather(const void *send, coll_smelt_length send_count, struct ompi_datatype_t *send_type,
                          void *receive, coll_smelt_length count, struct ompi_datatype_t *type,
                          struct ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *base) {
  coll_smelt_module *module = (coll_smelt_module *)base;
  const coll_smelt_call call = gathering(send, send_count, send_type, receive, count, type);
  const size_t bytes = bytes_of(&call);
  if (bytes == 0) return *request = &ompi_request_empty, OMPI_SUCCESS;
  if (takes(module, bytes, 0)) return start(module, SMELT_COLLECTIVE_ALLGATHER, &call, request);
  count_nonblocking_passed_on(SMELT_COLLECTIVE_ALLGATHER);
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
  if (bytes > 0 && keeps(module, bytes, 0)) return keep(module, SMELT_COLLECTIVE_ALLGATHER, &call, request);
  count_persistent_passed_on(SMELT_COLLECTIVE_ALLGATHER);
  return module->lower.allgather_init(send, send_count, send_type, receive, count, type, comm, info, request,
                                      module->lower.allgather_init_module);
}
