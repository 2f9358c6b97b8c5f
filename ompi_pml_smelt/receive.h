/* Receiving, and persistent. */
#ifndef PML_SMELT_RECEIVE_H
#define PML_SMELT_RECEIVE_H

#include "requests.h"

int pml_smelt_irecv_init(void *buffer, size_t count, struct ompi_datatype_t *type, int from, int tag,
                         struct ompi_communicator_t *comm, struct ompi_request_t **request);
int pml_smelt_irecv(void *buffer, size_t count, struct ompi_datatype_t *type, int from, int tag,
                    struct ompi_communicator_t *comm, struct ompi_request_t **request);
int pml_smelt_recv(void *buffer, size_t count, struct ompi_datatype_t *type, int from, int tag,
                   struct ompi_communicator_t *comm, ompi_status_public_t *status);
int pml_smelt_start_receive(pml_smelt_request *request);
int pml_smelt_cancel_receive(struct ompi_request_t *request, int flag);
/* Tells a program, which may ignore it, the outcome of a receive that is done: its error class. */
int pml_smelt_tell(const pml_smelt_communicator *served, const smelt_transfer *transfer, ompi_status_public_t *status);
/* Where a receive's data are to go: bytes of room at the returned address, or through the convertor (NULL). */
void *pml_smelt_place(pml_smelt_request *receive, void *buffer, size_t count, struct ompi_datatype_t *type,
                      size_t *room);
void pml_smelt_receive_completed(smelt_transfer *transfer);

#endif
