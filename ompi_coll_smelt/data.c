/* Buffers with gaps, through Open MPI's convertor.
 *
 * A group asks for consecutive ranges of any length, and a convertor does not pack a part of a basic element (half a
 * double). So an element that a range's end cuts is packed aside, into `carry`, and the next range begins with the rest
 * of it. Unpacking needs no such thing: there the convertor keeps the part itself. */
#include "data.h"

#include <string.h>
#include <sys/uio.h>

typedef int32_t (*advance_function)(opal_convertor_t *, struct iovec *, uint32_t *, size_t *);

/* Bytes moved, 0 where the convertor moves none: it is at its end, or the room is smaller than the next element. */
static size_t advance(opal_convertor_t *convertor, advance_function function, const void *memory, size_t bytes) {
  struct iovec vector = {.iov_base = (IOVBASE_TYPE *)memory, .iov_len = bytes};
  uint32_t vectors = 1;
  size_t moved = bytes;
  return function(convertor, &vector, &vectors, &moved) < 0 ? 0 : moved;
}

static size_t take_carry(coll_smelt_data *data, char *to, size_t bytes) {
  const size_t taken = data->carry_bytes < bytes ? data->carry_bytes : bytes;
  memcpy(to, data->carry + data->carry_at, taken);
  data->carry_at += taken;
  data->carry_bytes -= taken;
  return taken;
}

static void pack(void *context, size_t offset, size_t bytes, void *to) {
  coll_smelt_data *data = context;
  (void)offset; /* the ranges are consecutive, and the convertor knows where it is */
  for (size_t done = 0; done < bytes;) {
    char *at = (char *)to + done;
    size_t moved = take_carry(data, at, bytes - done);
    if (moved == 0) moved = advance(&data->convertor, opal_convertor_pack, at, bytes - done);
    if (moved == 0) {
      data->carry_at = 0;
      data->carry_bytes = advance(&data->convertor, opal_convertor_pack, data->carry, sizeof data->carry);
      if (data->carry_bytes == 0) return; /* past the end, which a group does not ask for */
    }
    done += moved;
  }
}

static void unpack(void *context, size_t offset, size_t bytes, const void *from) {
  coll_smelt_data *data = context;
  (void)offset;
  for (size_t done = 0; done < bytes;) {
    const size_t moved = advance(&data->convertor, opal_convertor_unpack, (const char *)from + done, bytes - done);
    if (moved == 0) return;
    done += moved;
  }
}

static void prepare(opal_convertor_t *convertor, const void *buffer, size_t count, struct ompi_datatype_t *type,
                    bool written) {
  OBJ_CONSTRUCT(convertor, opal_convertor_t);
  if (written)
    opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super, count, (void *)buffer, 0,
                                             convertor);
  else
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, count, buffer, 0, convertor);
}

void coll_smelt_data_convert(coll_smelt_data *data, const void *buffer, coll_smelt_length count,
                             struct ompi_datatype_t *type, bool written) {
  prepare(&data->convertor, buffer, (size_t)count, type, written);
  data->carry_at = data->carry_bytes = 0;
  data->data = (smelt_data){.base = NULL, .pack = pack, .unpack = unpack, .context = data};
}

void coll_smelt_data_end(coll_smelt_data *data) { OBJ_DESTRUCT(&data->convertor); }

void coll_smelt_pack(struct ompi_datatype_t *type, size_t elements, const void *layout, void *packed) {
  opal_convertor_t convertor;
  prepare(&convertor, layout, elements, type, false);
  advance(&convertor, opal_convertor_pack, packed, type->super.size * elements);
  OBJ_DESTRUCT(&convertor);
}

void coll_smelt_unpack(struct ompi_datatype_t *type, size_t elements, void *layout, const void *packed) {
  opal_convertor_t convertor;
  prepare(&convertor, layout, elements, type, true);
  advance(&convertor, opal_convertor_unpack, packed, type->super.size * elements);
  OBJ_DESTRUCT(&convertor);
}
