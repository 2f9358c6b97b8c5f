/* The functions that Open MPI calls: every row of the table of collectives in its blocking, its nonblocking and its
 * persistent form, for communicators within one machine. Each describes the call (arguments.h), offers it to Smelt, and
 * leaves it to the component below where it is not ours. */
#include "functions.h"

#include "arguments.h"
#include "first_reductions.h"
#include "forms.h"
#include "nonblocking.h"

static const coll_smelt_form forms[SMELT_COLLECTIVES] = {
#define SMELT_COLLECTIVE(NAME, name, ...)                                                             \
  {coll_smelt_prepare_##name, coll_smelt_open_##name, coll_smelt_close_##name, coll_smelt_run_##name, \
   coll_smelt_start_##name},
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
};

const coll_smelt_form *coll_smelt_form_of(smelt_collective which) { return &forms[which]; }

static inline smelt_group *group_of(coll_smelt_module *module, smelt_collective which) {
  /* acquire: pairs with the release that takes the last operation from the queue (lanes.c). */
  if (OPAL_LIKELY(module->group && atomic_load_explicit(&module->lane.behind, memory_order_acquire) == 0))
    return module->group;
  return coll_smelt_catch_up(module, which);
}

/* The blocking form within one machine; true: the call was ours, and *code is what it returns. The group says -ENOTSUP
 * on all ranks alike; other failures may be this rank's alone, as in Open MPI's own collectives. Inlined, so that the
 * form's functions become a part of it. */
__attribute__((always_inline)) static inline bool serve(coll_smelt_module *module, smelt_collective which, int data,
                                                        const coll_smelt_form *form, coll_smelt_call *call, int *code) {
  if (data != COLL_SMELT_NOTHING && form->prepare(module, call) == 0) return *code = OMPI_SUCCESS, true;
  if (data == COLL_SMELT_REDUCES && OPAL_UNLIKELY(!module->group) &&
      coll_smelt_is_first_reduction(module, which, call)) {
    coll_smelt_count_passed_on(module, which);
    return coll_smelt_first_reduction(module, which, call, code);
  }
  const bool suits = !call->exchange || coll_smelt_exchange_suits(module, call->exchange);
  smelt_group *group = OPAL_LIKELY(suits) ? group_of(module, which) : NULL;
  if (OPAL_LIKELY(group && form->run(module, group, call, code))) {
    if (OPAL_LIKELY(*code == OMPI_SUCCESS)) coll_smelt_increment(&coll_smelt_tally.served[which]);
    return true;
  }
  coll_smelt_count_passed_on(module, which);
  return false;
}

#define SMELT_COLLECTIVE(NAME, name, mpi, root, data, arguments, ...)          \
  COLL_SMELT_FUNCTIONS(                                                        \
      coll_smelt_, coll_smelt_module, SMELT_COLLECTIVE_##NAME, mpi, arguments, \
      serve(module, SMELT_COLLECTIVE_##NAME, COLL_SMELT_##data, &forms[SMELT_COLLECTIVE_##NAME], &call, &code))
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
