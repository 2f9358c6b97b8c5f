/* Open MPI's requests. */
#ifndef PML_SMELT_REQUESTS_H
#define PML_SMELT_REQUESTS_H

#include "compat.h"

#include "ompi/datatype/ompi_datatype.h"
#include "ompi/request/request.h"
#include "opal/datatype/opal_convertor.h"
#include "served.h"

#include <smelt/endpoint.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

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

/* The functions of requests of a kind, for starting them again and for cancelling them. */
typedef struct pml_smelt_acts {
  int (*start_send)(pml_smelt_request *request);
  int (*start_receive)(pml_smelt_request *request);
  int (*cancel_receive)(ompi_request_t *request, int flag);
} pml_smelt_acts;
int pml_smelt_requests_begin(const pml_smelt_acts *acts);
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
/* Progress by a call that returns whatever comes of it: a test, a probe. All others of the process get on now and then;
 * they take longer than a look into the inbox. True: something had come, and there may be more. */
bool pml_smelt_look(void);
/* The call returns when it is done. */
void pml_smelt_wait(smelt_transfer *transfer);
void pml_smelt_wait_for(smelt_transfer *const *transfers, unsigned count, unsigned needed);
/* For a request of ours that nobody else knows yet: waits, tells, and frees it. An error class. */
int pml_smelt_wait_and_free(ompi_request_t *request, ompi_status_public_t *status);

#endif
