/* The nonblocking and the persistent forms of the collectives.
 *
 * A call must return before anybody else has come, and what all ranks must agree on cannot be found out in it. So that
 * is left to the communicator's blocking calls, and until then the component below serves, on all ranks alike:
 *
 *   a group            is made by the blocking calls as ever; nonblocking ones only count as calls before it
 *   long messages      need memory that may be refused; the first nonblocking one has the next blocking call ask for it
 *
 * The persistent forms may wait for others when they are made, so they do both there and then, for a group of their own
 * each. Ranks make them in the same order, but may start them in different ones (MPI 4.0, 6.13), and no call that comes
 * in between must wait for them. */
#include "nonblocking.h"

#include "neighbour_messages.h"

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
  if (!has_room(group, bytes)) (void)smelt_group_prepare(group); /* smelt_group_start_limit tells the outcome */
  if (has_room(group, bytes)) return group;
  coll_smelt_group_free(group);
  return NULL;
}

static int open(coll_smelt_operation *operation) {
  operation->begun = false;
  return coll_smelt_form_of(operation->which)->open(&operation->terms, operation->module, &operation->call);
}

static bool step(coll_smelt_queued *queued) {
  coll_smelt_operation *operation = (coll_smelt_operation *)queued;
  const coll_smelt_form *form = coll_smelt_form_of(operation->which);
  int done;
  if (operation->begun)
    (void)smelt_group_test(&operation->request, &done);
  else /* a start that failed counts as complete, with its error */
    (void)form->start(&operation->terms, operation->group, &operation->call, &operation->request);
  operation->begun = true;
  if (operation->request.group) return false;
  const int error = operation->request.result;
  form->close(&operation->terms, operation->module, &operation->call, error);
  if (error != 0) queued->super.super.req_status.MPI_ERROR = error == -EMSGSIZE ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER;
  return true;
}

static void end(coll_smelt_operation *operation) {
  if (!coll_smelt_is_persistent(operation)) return;
  coll_smelt_group_free(operation->group);
  if (operation->call.exchange) coll_smelt_exchange_forget(operation->module, &operation->exchange);
}

static const coll_smelt_kind by_group = {open, step, end};

static coll_smelt_operation *operation_of(coll_smelt_module *module, smelt_collective which,
                                          const coll_smelt_call *call, smelt_group *group, bool persistent) {
  coll_smelt_operation *operation = coll_smelt_operation_new(
      &by_group, module->comm, module, persistent ? NULL : &module->lane, which, call, persistent);
  if (OPAL_UNLIKELY(!operation)) return NULL;
  operation->module = module;
  operation->group = group;
  return operation;
}

/* The size of the operands; a group has a limit for it. */
static size_t element_of(smelt_collective which, const coll_smelt_call *call) {
  return coll_smelt_data_of[which] == COLL_SMELT_REDUCES ? call->type->super.size : 0;
}

static bool suits(const coll_smelt_module *module, const coll_smelt_call *call) {
  return !call->exchange || coll_smelt_exchange_suits(module, call->exchange);
}
static bool suits_messages(const coll_smelt_module *module, const coll_smelt_call *call) {
  return call->exchange && coll_smelt_suits_messages(module, call->exchange);
}
static bool is_nothing(smelt_collective which, size_t bytes) {
  return bytes == 0 && coll_smelt_data_of[which] != COLL_SMELT_NOTHING;
}

bool coll_smelt_begin(coll_smelt_module *module, smelt_collective which, coll_smelt_call *call,
                      ompi_request_t **request, int *code) {
  const size_t bytes = coll_smelt_form_of(which)->prepare(module, call);
  if (is_nothing(which, bytes)) {
    *request = &ompi_request_empty;
    return *code = OMPI_SUCCESS, true;
  }
  if (which == SMELT_COLLECTIVE_ALLREDUCE && coll_smelt_is_agreement(call->count, call->type, call->op)) return false;
  if (suits(module, call) && takes(module, bytes, element_of(which, call))) {
    coll_smelt_operation *operation = operation_of(module, which, call, module->group, false);
    *code = operation ? coll_smelt_operation_begin(operation, request) : OMPI_ERR_OUT_OF_RESOURCE;
    if (OPAL_LIKELY(*code == OMPI_SUCCESS)) coll_smelt_increment(&coll_smelt_tally.nonblocking_served[which]);
    return true;
  }
  coll_smelt_increment(&coll_smelt_tally.nonblocking_passed_on[which]);
  if (OPAL_LIKELY(!suits_messages(module, call))) return false;
  *code = coll_smelt_begin_messages(module, which, call, request);
  return true;
}

/* Keeps a call with a group that was made for it. */
static int keep(coll_smelt_module *module, smelt_collective which, const coll_smelt_call *call, smelt_group *group,
                ompi_request_t **request) {
  coll_smelt_operation *operation = operation_of(module, which, call, group, true);
  if (OPAL_UNLIKELY(!operation)) {
    coll_smelt_group_free(group);
    return OMPI_ERR_OUT_OF_RESOURCE;
  }
  const int error = call->exchange ? coll_smelt_exchange_keep(module, &operation->exchange) : OMPI_SUCCESS;
  if (OPAL_UNLIKELY(error != OMPI_SUCCESS)) {
    coll_smelt_operation_discard(operation);
    return error;
  }
  coll_smelt_increment(&coll_smelt_tally.persistent_served[which]);
  *request = &operation->queued.super.super;
  return OMPI_SUCCESS;
}

bool coll_smelt_keep(coll_smelt_module *module, smelt_collective which, coll_smelt_call *call, struct ompi_info_t *info,
                     ompi_request_t **request, int *code) {
  (void)info;
  const size_t bytes = coll_smelt_form_of(which)->prepare(module, call);
  if (is_nothing(which, bytes)) return false;
  smelt_group *group = suits(module, call) ? group_for(module, bytes, element_of(which, call)) : NULL;
  if (OPAL_LIKELY(group != NULL)) {
    *code = keep(module, which, call, group, request);
    return true;
  }
  coll_smelt_increment(&coll_smelt_tally.persistent_passed_on[which]);
  if (OPAL_LIKELY(!suits_messages(module, call))) return false;
  *code = coll_smelt_keep_messages(module, which, call, request);
  return true;
}
