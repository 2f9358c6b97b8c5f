/* Smelt as Open MPI's point-to-point layer, for communicators whose ranks are all on this node, or are reached over
 * networks that were sampled.
 *
 * Open MPI elects one PML for everything, and all processes must have elected the same. Ours does not take part: it
 * loses the election and then stands before the winner, as pml/monitoring does. A communicator that it does not serve,
 * one with ranks of other nodes or jobs, goes on to the winner as if ours were not there; a communicator is served
 * wholly or not at all, so no message overtakes another on the way between two layers.
 *
 *   component.c       the election, and the component's offers to Open MPI
 *   node.c            the processes of this job on this node, and the endpoint (smelt/endpoint.h) that they share
 *   peers.c           the processes on other nodes, and the rails (smelt/rail.h) to them
 *   agree.c           agreement of ranks on an outcome
 *   communicators.c   which communicators are served: ranks to members and back
 *   requests.c        Open MPI's requests: born, completed, freed, cancelled, progressed
 *   data.c            data with gaps
 *   send.c            sending in every mode, and persistent
 *   receive.c         receiving, and persistent
 *   probe.c           probing, and receiving a matched message
 *   waits.c           MPI_Wait and its kin
 *   counters.c        counts of served calls, for MPI_T
 *   say.c             lines for people */
#ifndef PML_SMELT_H
#define PML_SMELT_H

#include "compat.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/pml/base/base.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/message/message.h"
#include "ompi/request/request.h"
#include "opal/datatype/opal_convertor.h"

#include <smelt/endpoint.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* component.c */
extern PML_SMELT_EXPORT mca_pml_base_component_t mca_pml_smelt_component;
extern mca_pml_base_module_t pml_smelt_lower; /* the winner's functions */
extern int pml_smelt_verbose;
const char *pml_smelt_lower_name(void);

/* node.c: the processes of this job on this node are members 0 .. n-1. */
void pml_smelt_node_announce(void); /* before Open MPI exchanges the processes' words */
/* With MPI_COMM_WORLD, which is the first of all. `*why`: NULL, or why there is no endpoint, on all of the node alike.
 * An error: this process cannot go on, as the others will. */
int pml_smelt_node_join(struct ompi_communicator_t *world, const char **why);
void pml_smelt_node_leave(void);
extern smelt_endpoint *pml_smelt_endpoint;                     /* NULL: there is none */
extern uint64_t pml_smelt_inbox_bytes, pml_smelt_packet_bytes; /* its smelt_endpoint_limits */
/* A process's number among them, or, from n on, of those of other nodes that are reached; -1: it is not one. */
int pml_smelt_member_of(opal_process_name_t name);
unsigned pml_smelt_members(void); /* of both kinds */
bool pml_smelt_is_near(unsigned member);
bool pml_smelt_reaches_nodes(void); /* there are some of other nodes */

/* peers.c: those of other nodes */
extern bool pml_smelt_nodes;    /* they may be served */
extern char *pml_smelt_network; /* the network profile; NULL or "": the usual one */
void pml_smelt_peers_announce(unsigned members);
/* Have all of the job the means for it? Alike on all. */
bool pml_smelt_peers_plan(struct ompi_group_t *world, unsigned members);
/* To all that are no members yet; their numbers as peers by rank, -1: it is none. */
bool pml_smelt_peers_connect(struct ompi_group_t *world, const int32_t *member_of_rank, int32_t *peer_of_rank);
int pml_smelt_peers_begin(smelt_endpoint *endpoint);
void pml_smelt_peers_refused(void);
void pml_smelt_peers_end(void);
const char *pml_smelt_peers_why_none(void); /* NULL: they are reached, or there are none */

/* agree.c: the greatest of these ranks' outcomes, with all of them; negative: it could not be found out. From 0 on.
 * `far`: some are on other nodes. */
int pml_smelt_agree(struct ompi_communicator_t *world, const int *ranks, unsigned count, int mine, bool far);

/* communicators.c */
typedef struct pml_smelt_communicator {
  uint16_t context;
  uint16_t *members;    /* [rank] */
  int32_t *ranks;       /* [member]; -1: not in it */
  atomic_uint promised; /* PML_SMELT_NO_ANY_..., by its info */
} pml_smelt_communicator;
extern pml_smelt_communicator *pml_smelt_by_context[UINT16_MAX + 1];
/* NULL: the winner's. */
static inline pml_smelt_communicator *pml_smelt_served(const struct ompi_communicator_t *comm) {
  return pml_smelt_by_context[(uint16_t)pml_smelt_context(comm)];
}
int pml_smelt_add_comm(struct ompi_communicator_t *comm);
int pml_smelt_del_comm(struct ompi_communicator_t *comm);
enum { PML_SMELT_NO_ANY_SOURCE = 1, PML_SMELT_NO_ANY_TAG = 2 };
/* A receive or probe that breaks such a promise is said, once, and served. */
void pml_smelt_say_broken(int from, int tag);
static inline void pml_smelt_keep_promise(const pml_smelt_communicator *served, int from, int tag) {
  if (from != MPI_ANY_SOURCE && tag != MPI_ANY_TAG) return;
  const unsigned promised = atomic_load_explicit(&served->promised, memory_order_relaxed);
  if ((from == MPI_ANY_SOURCE && (promised & PML_SMELT_NO_ANY_SOURCE)) ||
      (tag == MPI_ANY_TAG && (promised & PML_SMELT_NO_ANY_TAG)))
    pml_smelt_say_broken(from, tag);
}

/* requests.c */
typedef enum pml_smelt_kind { PML_SMELT_SEND, PML_SMELT_RECEIVE, PML_SMELT_HOLDER } pml_smelt_kind;

typedef struct pml_smelt_request {
  ompi_request_t super;
  smelt_transfer transfer;
  atomic_uint phase; /* requests.c */
  pml_smelt_kind kind;
  mca_pml_base_send_mode_t mode;
  bool detached; /* a buffered send: nobody has the request but us */
  struct ompi_communicator_t *comm;
  pml_smelt_communicator *served;
  struct ompi_datatype_t *datatype; /* retained, or NULL: not needed any more */
  void *buffer;                     /* persistent: as the program gave it, with these */
  size_t count;
  int peer, tag;
  bool gaps; /* the data go through the convertor */
  opal_convertor_t convertor;
  unsigned carried, carry_at; /* bytes of an element that the end of a piece has cut, packed aside; from where on */
  char carry[64];
  void *copy;   /* a buffered send's data */
  size_t bytes; /* of a send */
} pml_smelt_request;
static inline pml_smelt_request *pml_smelt_request_of(smelt_transfer *transfer) {
  return (pml_smelt_request *)((char *)transfer - offsetof(pml_smelt_request, transfer));
}
OBJ_CLASS_DECLARATION(pml_smelt_request);

int pml_smelt_requests_begin(void);
void pml_smelt_requests_end(void);
/* NULL: no memory. Holds the communicator. */
pml_smelt_request *pml_smelt_request_new(pml_smelt_kind kind, struct ompi_communicator_t *comm,
                                         pml_smelt_communicator *served, bool persistent);
/* Nobody else knows of it. */
void pml_smelt_request_recycle(pml_smelt_request *request);
/* A new life begins; not yet complete. */
void pml_smelt_request_activate(pml_smelt_request *request);
/* Its status is filled in. The request may be gone afterwards. */
void pml_smelt_request_complete(pml_smelt_request *request);
int pml_smelt_start(size_t count, ompi_request_t **requests);
int pml_smelt_progress(void);
int pml_smelt_request_free(ompi_request_t **request);
static inline bool pml_smelt_is_ours(const ompi_request_t *request) {
  return request->req_type == OMPI_REQUEST_PML && request->req_free == pml_smelt_request_free;
}
/* Until it is done. */
void pml_smelt_wait(smelt_transfer *transfer);
void pml_smelt_wait_for(smelt_transfer *const *transfers, unsigned count, unsigned needed);
void pml_smelt_waits_find(void); /* finds the functions of the process's other libraries that the waits need */
/* Of a request of ours that nobody else knows yet: waits, tells, and frees it. An error class. */
int pml_smelt_wait_and_free(ompi_request_t *request, ompi_status_public_t *status);

/* data.c */
/* A request's convertor for data with gaps. The type is kept as well: the program may free it before they
 * have moved. */
void pml_smelt_convert(pml_smelt_request *request, const void *buffer, size_t count, struct ompi_datatype_t *type);
void pml_smelt_convert_end(pml_smelt_request *request);
void pml_smelt_pack(smelt_transfer *send, uint64_t at, void *data, uint64_t bytes);
void pml_smelt_unpack(smelt_transfer *receive, uint64_t at, const void *data, uint64_t bytes);

/* send.c */
int pml_smelt_isend_init(const void *buffer, size_t count, struct ompi_datatype_t *type, int to, int tag,
                         mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm,
                         struct ompi_request_t **request);
int pml_smelt_isend(const void *buffer, size_t count, struct ompi_datatype_t *type, int to, int tag,
                    mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm, struct ompi_request_t **request);
int pml_smelt_send(const void *buffer, size_t count, struct ompi_datatype_t *type, int to, int tag,
                   mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm);
int pml_smelt_start_send(pml_smelt_request *request);

/* receive.c */
int pml_smelt_irecv_init(void *buffer, size_t count, struct ompi_datatype_t *type, int from, int tag,
                         struct ompi_communicator_t *comm, struct ompi_request_t **request);
int pml_smelt_irecv(void *buffer, size_t count, struct ompi_datatype_t *type, int from, int tag,
                    struct ompi_communicator_t *comm, struct ompi_request_t **request);
int pml_smelt_recv(void *buffer, size_t count, struct ompi_datatype_t *type, int from, int tag,
                   struct ompi_communicator_t *comm, ompi_status_public_t *status);
int pml_smelt_start_receive(pml_smelt_request *request);
int pml_smelt_cancel_receive(struct ompi_request_t *request, int flag);
/* Open MPI's words for the outcome of a receive that is done. */
void pml_smelt_status(const pml_smelt_communicator *served, const smelt_transfer *transfer,
                      ompi_status_public_t *status);
/* Where a receive's data are to go: bytes of room at the returned address, or through the convertor (NULL). */
void *pml_smelt_place(pml_smelt_request *receive, void *buffer, size_t count, struct ompi_datatype_t *type,
                      size_t *room);
void pml_smelt_receive_completed(smelt_transfer *transfer);

/* probe.c */
int pml_smelt_iprobe(int from, int tag, struct ompi_communicator_t *comm, int *matched, ompi_status_public_t *status);
int pml_smelt_probe(int from, int tag, struct ompi_communicator_t *comm, ompi_status_public_t *status);
int pml_smelt_improbe(int from, int tag, struct ompi_communicator_t *comm, int *matched,
                      struct ompi_message_t **message, ompi_status_public_t *status);
int pml_smelt_mprobe(int from, int tag, struct ompi_communicator_t *comm, struct ompi_message_t **message,
                     ompi_status_public_t *status);
int pml_smelt_imrecv(void *buffer, size_t count, struct ompi_datatype_t *type, struct ompi_message_t **message,
                     struct ompi_request_t **request);
int pml_smelt_mrecv(void *buffer, size_t count, struct ompi_datatype_t *type, struct ompi_message_t **message,
                    ompi_status_public_t *status);

/* Have the data of `count` of `type` no gaps, and where do they begin? */
static inline bool pml_smelt_in_one_piece(const struct ompi_datatype_t *type, size_t count) {
  /* Open MPI's own question has an int for the count: more than one is as good as any. */
  return count == 0 || type->super.size == 0 ||
         opal_datatype_is_contiguous_memory_layout(&type->super, count == 1 ? 1 : 2);
}
static inline void *pml_smelt_begin_of(const void *buffer, const struct ompi_datatype_t *type) {
  return (char *)(uintptr_t)buffer + type->super.true_lb;
}

/* waits.c */
void pml_smelt_waits_begin(void);
void pml_smelt_waits_end(void);

/* counters.c */
typedef struct pml_smelt_counters {
  atomic_ullong inline_sends, eager_sends, long_sends, far_sends;
  atomic_ullong receives, probes;
  atomic_ullong communicators_served, communicators_left;
} pml_smelt_counters;
extern pml_smelt_counters pml_smelt_tally;
extern bool pml_smelt_threads;
static inline void pml_smelt_count(atomic_ullong *counter) {
  if (pml_smelt_threads)
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
  else
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}
void pml_smelt_register_counters(const mca_base_component_t *component);
/* For the smelt run above us (SMELT_STATS_FILE): messages are ours from here on; or are not, and why; the counts.
 */
void pml_smelt_stats_begin(void);
void pml_smelt_stats_not_used(const char *why);
void pml_smelt_stats_end(void);

/* say.c */
void pml_smelt_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void pml_smelt_say_communicator(const struct ompi_communicator_t *comm, const char *left_because);

#endif
