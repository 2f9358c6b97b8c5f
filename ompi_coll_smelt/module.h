/* A module serves one communicator within one machine. It remembers the functions of the component below it when it is
 * enabled, and creates its smelt_group when the communicator turns out to be used: after a few blocking collectives, or
 * at its first persistent request or long blocking reduction. So dup, barrier, free costs what it costs without us; and
 * the first blocking reductions have the bits of all later ones, so a result never depends on how old the communicator
 * is. Where the group cannot be created, or does not serve a call, the remembered function does; the group makes sure
 * that all ranks decide alike. The communicator's own table of functions is never touched in between. */
#ifndef COLL_SMELT_MODULE_H
#define COLL_SMELT_MODULE_H

#include "compat.h"

#include "counters.h"
#include "lanes.h"
#include "lower.h"
#include "ompi/communicator/communicator.h"
#include "users.h"

#include <smelt/group.h>
#include <stdatomic.h>

typedef enum coll_smelt_state {
  COLL_SMELT_UNUSED,       /* no collective yet */
  COLL_SMELT_CREATING,     /* the group is being created, with the lower functions */
  COLL_SMELT_SERVING,      /* there is a group */
  COLL_SMELT_STEPPED_ASIDE /* there will be none */
} coll_smelt_state;

typedef struct coll_smelt_module {
  mca_coll_base_module_t super;
  struct ompi_communicator_t *comm; /* its owner, so not retained */
  smelt_group *group;               /* NULL unless SERVING */
  coll_smelt_state state;
  bool gone;            /* let go of: disabled or destroyed */
  int patience;         /* blocking calls that may still go to the lower functions before that */
  coll_smelt_lane lane; /* of nonblocking calls */
  bool wants_room;      /* the next blocking call is to ask for the memory that long messages need */
  bool asked_for_room;  /* there is nothing to ask any more */
  coll_smelt_user used_by;
  _Atomic(struct coll_smelt_lists *) lists; /* exchange.c: memory of an earlier call, for the next */
  struct coll_smelt_neighbours *neighbours; /* neighbours.c: NULL, not looked for yet */
  coll_smelt_lower lower;
} coll_smelt_module;
OBJ_CLASS_DECLARATION(coll_smelt_module);

static inline int coll_smelt_me(const coll_smelt_module *module) { return ompi_comm_rank(module->comm); }
static inline int coll_smelt_size(const coll_smelt_module *module) { return ompi_comm_size(module->comm); }

/* A collective's use of data, as its row of the table says. */
enum { COLL_SMELT_NOTHING, COLL_SMELT_MOVES, COLL_SMELT_REDUCES };
extern const unsigned char coll_smelt_data_of[SMELT_COLLECTIVES];

/* All that it holds; several times. */
void coll_smelt_let_go(coll_smelt_module *module);
/* The pool of the job's processes is made with MPI_COMM_WORLD's module in MPI_Init, and ended where nothing uses it any
 * more. */
void coll_smelt_pool_begin(coll_smelt_module *module);
void coll_smelt_pool_end(void);
unsigned coll_smelt_groups_alive(void);
/* A blocking call's first step. Nonblocking ones that are outstanding are completed. A module without a group creates
 * it, on all ranks in the same call, or none. NULL: the lower functions are to be used, as they are for the
 * first calls of this collective. */
smelt_group *coll_smelt_catch_up(coll_smelt_module *module, smelt_collective which);
/* The group, created now if it has not been; NULL: there is none. The call blocks. */
smelt_group *coll_smelt_group_now(coll_smelt_module *module);
/* Another one, of the same ranks; NULL: there is none, on all of them. Blocks. coll_smelt_group_free frees it. */
smelt_group *coll_smelt_group_apart(coll_smelt_module *module);
void coll_smelt_group_free(smelt_group *group);
/* The next blocking call is to ask for the memory of long messages, or has. */
void coll_smelt_want_room(coll_smelt_module *module, bool wants);

/* A call that the group's own creation passes on is not the program's. */
static inline void coll_smelt_count_passed_on(const coll_smelt_module *module, smelt_collective which) {
  if (module->state != COLL_SMELT_CREATING) coll_smelt_increment(&coll_smelt_tally.passed_on[which]);
}

#endif
