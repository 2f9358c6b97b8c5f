/* Probing, and receiving a matched message. */
#ifndef PML_SMELT_PROBE_H
#define PML_SMELT_PROBE_H

#include "compat.h"

#include "ompi/message/message.h"
#include "ompi/request/request.h"

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

#endif
