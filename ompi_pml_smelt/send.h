/* Sending in every mode, and persistent. */
#ifndef PML_SMELT_SEND_H
#define PML_SMELT_SEND_H

#include "requests.h"

int pml_smelt_isend_init(const void *buffer, size_t count, struct ompi_datatype_t *type, int to, int tag,
                         mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm,
                         struct ompi_request_t **request);
int pml_smelt_isend(const void *buffer, size_t count, struct ompi_datatype_t *type, int to, int tag,
                    mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm, struct ompi_request_t **request);
int pml_smelt_send(const void *buffer, size_t count, struct ompi_datatype_t *type, int to, int tag,
                   mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm);
int pml_smelt_start_send(pml_smelt_request *request);

#endif
