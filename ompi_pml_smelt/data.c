/* Data with gaps, through Open MPI's convertor, a piece at a time.
 *
 * Pieces are of any length, and a convertor does not pack a part of a basic element (half a double). So an element that
 * the end of a piece cuts is packed aside, and the next piece begins with the rest of it. Unpacking needs no such
 * thing: there the convertor keeps the part itself. */
#include "data.h"

#include <string.h>

void pml_smelt_convert(pml_smelt_request *request, const void *buffer, size_t count, struct ompi_datatype_t *type) {
  if (!request->datatype) {
    OMPI_DATATYPE_RETAIN(type);
    request->datatype = type;
  }
  request->gaps = true;
  request->carried = request->carry_at = 0;
  if (request->kind == PML_SMELT_SEND)
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, count, buffer, 0,
                                             &request->convertor);
  else
    opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super, count, (void *)(uintptr_t)buffer,
                                             0, &request->convertor);
}

void pml_smelt_convert_end(pml_smelt_request *request) {
  if (request->gaps) opal_convertor_cleanup(&request->convertor);
  request->gaps = false;
}

typedef int32_t (*advance_function)(opal_convertor_t *, struct iovec *, uint32_t *, size_t *);

/* Bytes moved; 0 where the convertor moves none: it is at its end, or there is less than the next element. */
static size_t advance(opal_convertor_t *convertor, advance_function function, const void *memory, size_t bytes) {
  struct iovec vector = {.iov_base = (IOVBASE_TYPE *)(uintptr_t)memory, .iov_len = bytes};
  uint32_t vectors = 1;
  size_t moved = bytes;
  return function(convertor, &vector, &vectors, &moved) < 0 ? 0 : moved;
}

void pml_smelt_pack(smelt_transfer *send, uint64_t at, void *data, uint64_t bytes) {
  pml_smelt_request *request = pml_smelt_request_of(send);
  (void)at; /* the pieces are consecutive, and the convertor knows where it is */
  for (size_t done = 0; done < bytes;) {
    char *to = (char *)data + done;
    size_t moved = request->carried < bytes - done ? request->carried : bytes - done;
    memcpy(to, request->carry + request->carry_at, moved);
    request->carry_at += (unsigned)moved;
    request->carried -= (unsigned)moved;
    if (moved == 0) moved = advance(&request->convertor, opal_convertor_pack, to, bytes - done);
    if (moved == 0) {
      request->carry_at = 0;
      request->carried =
          (unsigned)advance(&request->convertor, opal_convertor_pack, request->carry, sizeof request->carry);
      if (request->carried == 0) return; /* past the end, which nobody asks for */
    }
    done += moved;
  }
}

void pml_smelt_unpack(smelt_transfer *receive, uint64_t at, const void *data, uint64_t bytes) {
  pml_smelt_request *request = pml_smelt_request_of(receive);
  (void)at;
  for (size_t done = 0; done < bytes;) {
    const size_t moved = advance(&request->convertor, opal_convertor_unpack, (const char *)data + done, bytes - done);
    if (moved == 0) return;
    done += moved;
  }
}
