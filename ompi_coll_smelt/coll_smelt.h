/* Smelt as a collective component of Open MPI: the collectives of smelt/collectives.def, for communicators within one
 * machine.
 *
 * A module belongs to one communicator. It remembers the functions of the component below it when it is enabled, and
 * creates its smelt_group when the communicator turns out to be used: after a few blocking collectives, or at its first
 * persistent request or long blocking reduction. So dup, barrier, free costs what it costs without us; and the first
 * blocking reductions have the bits of all later ones, so a result never depends on how old the communicator is. Where
 * the group cannot be created, or does not serve a call, the remembered function does; the group makes sure that all
 * ranks decide alike. The communicator's own table of functions is never touched in between.
 *
 *   component.c          the component: parameters, versions, which communicators are taken
 *   parameters.c         Smelt's settings as MCA parameters
 *   lower_components.c   `--mca coll smelt` alone: loads the components that serve everything else
 *   module.c             the life of a module
 *   slots.def            the functions that are offered
 *   form.h               what a collective's file defines, and the blocking form of it
 *   barrier.c, bcast.c, reduce.c, allreduce.c, allgather.c, reduce_scatter.c, scan.c, alltoall.c, gather.c, scatter.c
 *                        the collectives
 *   allgatherv.c, gatherv.c, scatterv.c                                  those of rows of blocks that differ (blocks.h)
 *   alltoallv.c, alltoallw.c                                             those whose blocks differ, over exchange.c
 *   neighbours.c         those of neighbours, over exchange.c, and who they are
 *   neighbour_messages.c  those that no group serves and Open MPI would answer wrongly
 *   first_reductions.c   reductions of a communicator that has no group yet
 *   nonblocking.c        the nonblocking and the persistent forms
 *   node_stages.c        the same of communicators over several nodes (nodes.c)
 *   requests.c           what of these is under way, and how it advances
 *   data.c, fold.c       buffers and operations of MPI as the group wants them
 *   blocks.c             rows of blocks of different lengths
 *   counters.c           what was served, for MPI_T
 *   sync.c               the info key that says what follows the calls
 *   say.c                lines for people */
#ifndef COLL_SMELT_H
#define COLL_SMELT_H

#include "compat.h"

#include <smelt/group.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

BEGIN_C_DECLS

typedef struct coll_smelt_component {
  mca_coll_base_component_t super;
  int priority; /* 0: not used */
  int verbose;
  int patience;      /* calls of a new communicator that set nothing up yet */
  int several_nodes; /* communicators that span several are served; 2: as if no node were crowded */
} coll_smelt_component;

extern COLL_SMELT_EXPORT coll_smelt_component mca_coll_smelt_component;

/* Modules of the components below that are retained, each once: mostly a few serve all functions, and a communicator
 * that is hardly used should cost nothing. */
enum { COLL_SMELT_MOST_RETAINED = 16 }; /* Open MPI 4.1 has eleven components for all functions together */
typedef struct coll_smelt_retained {
  mca_coll_base_module_t *modules[COLL_SMELT_MOST_RETAINED];
  unsigned count;
} coll_smelt_retained;

/* The next lower component's functions, each with the module that it wants as last argument. */
typedef struct coll_smelt_lower {
#define COLL_SMELT_SLOT(name)              \
  mca_coll_base_module_##name##_fn_t name; \
  mca_coll_base_module_t *name##_module;
#include "slots.def"
  coll_smelt_retained retained;
} coll_smelt_lower;

typedef enum coll_smelt_state {
  COLL_SMELT_UNUSED,       /* no collective yet */
  COLL_SMELT_CREATING,     /* the group is being created, with the lower functions */
  COLL_SMELT_SERVING,      /* there is a group */
  COLL_SMELT_STEPPED_ASIDE /* there will be none */
} coll_smelt_state;

/* Operations that go one after the other over one group (requests.c): the nonblocking ones of a communicator, in the
 * order of the calls, or a persistent request's, which has a group of its own. */
typedef struct coll_smelt_lane {
  const void *owner; /* the module whose communicator it belongs to */
  struct coll_smelt_operation *first, *last;
  struct coll_smelt_lane *next_active, **link; /* its place among those that are not empty */
  atomic_int behind; /* operations in it, and one more with wants_room; 0: blocking calls may go on */
} coll_smelt_lane;

/* Who calls nonblocking collectives of a communicator. */
typedef enum coll_smelt_user { COLL_SMELT_NOT_KNOWN, COLL_SMELT_PROGRAM, COLL_SMELT_OPEN_MPI } coll_smelt_user;

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

/* module.c */
coll_smelt_module *coll_smelt_module_new(struct ompi_communicator_t *comm);
/* Gives up what the job's processes share, where nothing uses it any more. */
void coll_smelt_pool_end(void);
unsigned coll_smelt_groups_alive(void);
/* False: there are too many. */
bool coll_smelt_retain(coll_smelt_retained *retained, mca_coll_base_module_t *module);
void coll_smelt_release_all(coll_smelt_retained *retained);
/* What a blocking call does first, where there is anything. Nonblocking ones that are outstanding are completed. A
 * module without a group creates it, on all ranks in the same call, or none. NULL: the lower functions are to be used,
 * as they are while the module is patient with calls of this collective. */
smelt_group *coll_smelt_catch_up(coll_smelt_module *module, smelt_collective which);
/* The group, created now if it has not been; NULL: there is none. Blocking. */
smelt_group *coll_smelt_group_now(coll_smelt_module *module);
/* Another one, of the same ranks; NULL: there is none, on all of them. Blocking. Freed by coll_smelt_group_free. */
smelt_group *coll_smelt_group_apart(coll_smelt_module *module);
void coll_smelt_group_free(smelt_group *group);
/* Asks for the memory of long messages, once. Blocking. */
void coll_smelt_ask_for_room(coll_smelt_module *module);

static inline smelt_group *coll_smelt_group_of(coll_smelt_module *module, smelt_collective which) {
  /* acquire: pairs with the release that takes the last operation from the queue (requests.c). */
  if (OPAL_LIKELY(module->group && atomic_load_explicit(&module->lane.behind, memory_order_acquire) == 0))
    return module->group;
  return coll_smelt_catch_up(module, which);
}

/* requests.c. begin and end: the component's. want_room: the next blocking call is to ask. drain: waits until no
 * nonblocking call is outstanding; drain_lane: of more than so many. abandon: what is outstanding of this owner's lanes
 * will never be complete, as MPI has ended; was there anything? */
void coll_smelt_lane_begin(coll_smelt_lane *lane, const void *owner);
void coll_smelt_requests_begin(void);
void coll_smelt_requests_end(void);
void coll_smelt_want_room(coll_smelt_module *module, bool wants);
void coll_smelt_drain(coll_smelt_module *module);
void coll_smelt_drain_lane(const coll_smelt_lane *lane, int left);
bool coll_smelt_abandon(const void *owner);
/* nonblocking.c: are this communicator's nonblocking collectives the program's own? *known remembers. */
bool coll_smelt_is_of_program(const struct ompi_communicator_t *comm, coll_smelt_user *known);

/* The functions that are offered, each in the file of its collective: of the type that the interface gives it. */
#define COLL_SMELT_SLOT(name) __typeof__(*(mca_coll_base_module_##name##_fn_t)NULL) coll_smelt_##name;
#include "slots.def"

/* first_reductions.c: may this reduction be served without a group, as one of the communicator's first? If so, it
 * counts as one, and is to be served by the function of its name. */
bool coll_smelt_is_first_reduction(coll_smelt_module *module, const struct ompi_op_t *op,
                                   const struct ompi_datatype_t *type, coll_smelt_length count);
/* The same of a reduction that has no such function: is it one whose result does not depend on the order? Then the
 * component below is to be called. */
bool coll_smelt_is_first_of_any_order(coll_smelt_module *module, const struct ompi_op_t *op,
                                      const struct ompi_datatype_t *type);
int coll_smelt_first_allreduce(coll_smelt_module *module, const void *send, void *receive, coll_smelt_length count,
                               struct ompi_datatype_t *type, struct ompi_op_t *op);
int coll_smelt_first_reduce(coll_smelt_module *module, const void *send, void *receive, coll_smelt_length count,
                            struct ompi_datatype_t *type, struct ompi_op_t *op, int root);

/* sync.c: the info key smelt_sync. What it says of this communicator; AUTO: nothing. */
smelt_sync coll_smelt_sync_of(const struct ompi_communicator_t *comm);
/* To be called once for a communicator, when it is made: MPI_Comm_set_info is listened to. */
void coll_smelt_subscribe(struct ompi_communicator_t *comm);
/* Puts what it says of this communicator into `info`, for one that is made of it. */
void coll_smelt_hand_sync_on(const struct ompi_communicator_t *comm, opal_info_t *info);

/* exchange.c: what it keeps of the module goes. */
void coll_smelt_exchange_end(coll_smelt_module *module);

/* parameters.c: registers them and hands what the user set to Smelt. */
void coll_smelt_register_parameters(const mca_base_component_t *component);
/* The value in force of an integer setting ("SMELT_PRIORITY"); *set: somebody asked for it. */
int coll_smelt_setting(const char *name, bool *set);

/* lower_components.c */
/* The user's `--mca coll` is a list of what to take, and we are in it. */
bool coll_smelt_selected_by_name(void);
/* What such a list lacks to serve every communicator, "basic,self"; "": nothing. */
const char *coll_smelt_missing_components(void);
/* To be called once, while the framework opens us: adds them. */
void coll_smelt_add_lower_components(const mca_base_component_t *component);

/* say.c: one line to standard error, "smelt: coll/smelt: ...", in one write. */
__attribute__((format(printf, 1, 2))) void coll_smelt_say(const char *format, ...);
/* What a new group does for its communicator, or why there is none (a negative errno of smelt_group_create). */
void coll_smelt_say_serving(const coll_smelt_module *module);
void coll_smelt_say_stepped_aside(const coll_smelt_module *module, int error);
/* Which limits hold from here on: what the group has seen. */
void coll_smelt_say_sync(const coll_smelt_module *module);
/* A negative errno of smelt_group_create, in words. */
const char *coll_smelt_reason(int error);

/* stats.c: what a rank says at its end. begin: MPI begins, and may use us; not_used: it does not. note: a communicator
 * was made, or `refused`, a string that stays, says why one is not served. */
void coll_smelt_stats_begin(void);
void coll_smelt_stats_not_used(const char *why);
void coll_smelt_stats_note(const struct ompi_communicator_t *comm, const char *refused);
void coll_smelt_stats_end(void);

END_C_DECLS

#endif
