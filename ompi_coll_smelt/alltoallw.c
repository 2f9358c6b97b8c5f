/* MPI_Alltoallw and its other forms. */
#include "exchange.h"

static coll_smelt_side side(const void *buffer, coll_smelt_counts counts, coll_smelt_places places,
                            struct ompi_datatype_t *const *types) {
  return (coll_smelt_side){
      .buffer = buffer, .how = COLL_SMELT_BY_BYTES, .counts = counts, .places = places, .types = types};
}

COLL_SMELT_EXCHANGE(ALLTOALLW, alltoallw,
                    LIST(const void *send, coll_smelt_counts send_counts, coll_smelt_places send_places,
                         struct ompi_datatype_t *const *send_types, void *receive, coll_smelt_counts counts,
                         coll_smelt_places places, struct ompi_datatype_t *const *types),
                    LIST(send, send_counts, send_places, send_types, receive, counts, places, types),
                    coll_smelt_exchange_of(side(send, send_counts, send_places, send_types),
                                           side(receive, counts, places, types)))
