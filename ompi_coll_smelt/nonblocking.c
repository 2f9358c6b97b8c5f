/* The nonblocking and the persistent forms of the collectives.
 *
 * A call must return before anybody else has come, and what all ranks must agree on cannot be found out in it. So that
 * is left to the communicator's blocking calls, and until then the component below serves, on all ranks alike:
 *
 *   a group            is made by the blocking calls as ever; nonblocking ones only count as calls before it
 *   long messages      need memory that may be refused; the first nonblocking one has the next blocking call ask for it
 *
 * The persistent forms may wait for others when they are made, so they do both there and then, for a group of their own
 * each: ranks make them in the same order, but may start them in different ones (MPI 4.0, 6.13), and nothing that comes
 * in between must wait for them.
 *
 * Open MPI's MPI_Comm_idup goes on in the background with nonblocking collectives of its own on the communicator, in an
 * order of its own. They must not come into our lane, which is one for all, and are told by what they are: those of
 * intracommunicators by their arguments (allreduce.c), the others here. */
#include "nonblocking.h"

#include "nodes.h"

/* The intracommunicator within an intercommunicator is used by Open MPI alone, for that. From 5.0 on, a place of the
 * list that is about to be given to a communicator holds OMPI_COMM_SENTINEL, which is 1. With the list's lock held no
 * other thread can free one of them, as a communicator leaves its place before. */
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

bool coll_smelt_is_of_program(const struct ompi_communicator_t *comm, coll_smelt_user *known) {
  if (*known == COLL_SMELT_NOT_KNOWN) *known = is_within_another(comm) ? COLL_SMELT_OPEN_MPI : COLL_SMELT_PROGRAM;
  return *known == COLL_SMELT_PROGRAM;
}

static bool is_of_program(coll_smelt_module *module) {
  return coll_smelt_is_of_program(module->comm, &module->used_by);
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

/* The same for a persistent request, which may wait for others until that is known: its group; NULL: it may not. */
static smelt_group *group_for(coll_smelt_module *module, size_t bytes, size_t element) {
  if (!is_of_program(module) || !coll_smelt_group_now(module)) return NULL;
  if (element > smelt_group_element_limit(module->group)) return NULL;
  smelt_group *group = coll_smelt_group_apart(module);
  if (!group) return NULL;
  if (!has_room(group, bytes)) (void)smelt_group_prepare(group); /* what came of it, smelt_group_start_limit tells */
  if (has_room(group, bytes)) return group;
  coll_smelt_group_free(group);
  return NULL;
}

static const struct coll_smelt_form *const forms[] = {
#define SMELT_COLLECTIVE(NAME, name, ...) &coll_smelt_form_##name,
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
};

static int open_operation(coll_smelt_operation *operation) {
  if (operation->nodes) return coll_smelt_nodes_open(operation);
  if (operation->messages) return coll_smelt_messages_open(operation), OMPI_SUCCESS;
  return forms[operation->which]->open(&operation->terms, operation->module, &operation->call);
}

bool coll_smelt_operation_step(coll_smelt_operation *operation) {
  if (operation->nodes) return coll_smelt_nodes_step(operation);
  if (operation->messages) return coll_smelt_messages_step(operation);
  const struct coll_smelt_form *form = forms[operation->which];
  int done;
  if (operation->begun)
    (void)smelt_group_test(&operation->request, &done);
  else /* a start that failed counts as complete, with its error */
    (void)form->start(&operation->terms, operation->group, &operation->call, &operation->request);
  operation->begun = true;
  if (operation->request.group) return false;
  const int error = operation->request.result;
  form->close(&operation->terms, operation->module, &operation->call, error);
  if (error != 0) operation->super.super.req_status.MPI_ERROR = error == -EMSGSIZE ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER;
  return true;
}

static int begin(coll_smelt_module *module, smelt_collective which, const coll_smelt_call *call,
                 ompi_request_t **request) {
  coll_smelt_operation *operation = coll_smelt_operation_new(module, which, call, module->group, false);
  if (OPAL_UNLIKELY(!operation)) return OMPI_ERR_OUT_OF_RESOURCE;
  const int error = open_operation(operation);
  if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) {
    coll_smelt_operation_discard(operation);
    return error;
  }
  coll_smelt_increment(&coll_smelt_tally.nonblocking_served[which]);
  *request = &operation->super.super;
  coll_smelt_post(operation);
  return OMPI_SUCCESS;
}

bool coll_smelt_begin(coll_smelt_module *module, smelt_collective which, const coll_smelt_call *call, size_t bytes,
                      size_t element, ompi_request_t **request, int *code) {
  if (!takes(module, bytes, element)) {
    coll_smelt_increment(&coll_smelt_tally.nonblocking_passed_on[which]);
    return false;
  }
  *code = begin(module, which, call, request);
  return true;
}

bool coll_smelt_keep(coll_smelt_module *module, smelt_collective which, const coll_smelt_call *call, size_t bytes,
                     size_t element, ompi_request_t **request, int *code) {
  smelt_group *group = group_for(module, bytes, element);
  if (!group) {
    coll_smelt_increment(&coll_smelt_tally.persistent_passed_on[which]);
    return false;
  }
  coll_smelt_operation *operation = coll_smelt_operation_new(module, which, call, group, true);
  *code = operation ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
  if (OPAL_UNLIKELY(!operation)) {
    coll_smelt_group_free(group);
    return true;
  }
  coll_smelt_increment(&coll_smelt_tally.persistent_served[which]);
  *request = &operation->super.super;
  return true;
}

static coll_smelt_operation *by_messages(coll_smelt_module *module, smelt_collective which,
                                         const coll_smelt_exchange *exchange, bool persistent,
                                         ompi_request_t **request) {
  const coll_smelt_call call = {.exchange = exchange};
  struct coll_smelt_messages *messages;
  if (coll_smelt_messages_new(module, exchange, &messages) != OMPI_SUCCESS) return NULL;
  coll_smelt_operation *operation = coll_smelt_operation_new(module, which, &call, NULL, persistent);
  if (OPAL_UNLIKELY(!operation)) {
    free(messages);
    return NULL;
  }
  operation->messages = messages;
  *request = &operation->super.super;
  return operation;
}

int coll_smelt_begin_messages(coll_smelt_module *module, smelt_collective which, const coll_smelt_exchange *exchange,
                              ompi_request_t **request) {
  coll_smelt_operation *operation = by_messages(module, which, exchange, false, request);
  if (OPAL_UNLIKELY(!operation)) return OMPI_ERR_OUT_OF_RESOURCE;
  coll_smelt_messages_open(operation);
  coll_smelt_post(operation);
  return OMPI_SUCCESS;
}

int coll_smelt_keep_messages(coll_smelt_module *module, smelt_collective which, const coll_smelt_exchange *exchange,
                             ompi_request_t **request) {
  return by_messages(module, which, exchange, true, request) ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
}

int coll_smelt_restart(size_t count, ompi_request_t **requests) {
  for (size_t i = 0; i < count; ++i) {
    coll_smelt_operation *operation = (coll_smelt_operation *)requests[i];
    const int error = open_operation(operation);
    if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) return error;
    coll_smelt_post(operation);
  }
  return OMPI_SUCCESS;
}
