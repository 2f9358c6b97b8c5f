/* MPI_Alltoallv and its other forms. */
#include "exchange.h"

static coll_smelt_side side(const void *buffer, coll_smelt_counts counts, coll_smelt_places places,
                            struct ompi_datatype_t *type) {
  return (coll_smelt_side){
      .buffer = buffer, .how = COLL_SMELT_BY_ELEMENTS, .counts = counts, .places = places, .type = type};
}

COLL_SMELT_EXCHANGE(ALLTOALLV, alltoallv,
                    LIST(const void *send, coll_smelt_counts send_counts, coll_smelt_places send_places,
                         struct ompi_datatype_t *send_type, void *receive, coll_smelt_counts counts,
                         coll_smelt_places places, struct ompi_datatype_t *type),
                    LIST(send, send_counts, send_places, send_type, receive, counts, places, type),
                    coll_smelt_exchange_of(side(send, send_counts, send_places, send_type),
                                           side(receive, counts, places, type)))
