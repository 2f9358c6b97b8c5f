/* Buffers of MPI as a smelt_group wants them. They are built on the caller's stack for one call. If the type has no
 * gaps, which is nearly always the case, that is a few stores. */
#ifndef COLL_SMELT_DATA_H
#define COLL_SMELT_DATA_H

#include "compat.h"

#include "ompi/datatype/ompi_datatype.h"
#include "opal/datatype/opal_convertor.h"

#include <smelt/group.h>
#include <stdbool.h>
#include <stddef.h>

/* The largest basic element of a datatype (two long doubles) fits twice. */
enum { COLL_SMELT_CARRY = 64 };

typedef struct coll_smelt_data {
  smelt_data data;
  /* The rest only where data.context is not NULL. */
  opal_convertor_t convertor;
  unsigned char carry[COLL_SMELT_CARRY]; /* packed, but not asked for yet */
  size_t carry_at, carry_bytes;
} coll_smelt_data;

/* Bytes of `count` elements without gaps. The product is in size_t: 2 GiB and more are ordinary. */
static inline size_t coll_smelt_bytes(const struct ompi_datatype_t *type, coll_smelt_length count) {
  return type->super.size * (size_t)count;
}

/* Elements of this type follow each other without gaps, and packed they look as they do in memory. */
static inline bool coll_smelt_gapless(const struct ompi_datatype_t *type) {
  return ompi_datatype_is_contiguous_memory_layout(type, 2) &&
         (ptrdiff_t)type->super.size == type->super.ub - type->super.lb;
}

void coll_smelt_data_convert(coll_smelt_data *data, const void *buffer, coll_smelt_length count,
                             struct ompi_datatype_t *type, bool written);
void coll_smelt_data_end(coll_smelt_data *data);

/* `written`: the group will unpack into it, otherwise pack from it. */
static inline void coll_smelt_data_open(coll_smelt_data *data, const void *buffer, coll_smelt_length count,
                                        struct ompi_datatype_t *type, bool written) {
  if (OPAL_LIKELY(ompi_datatype_is_contiguous_memory_layout(type, (int32_t)(count > 1 ? 2 : 1)))) {
    data->data.base = (char *)buffer + type->super.true_lb;
    data->data.context = NULL;
  } else {
    coll_smelt_data_convert(data, buffer, count, type, written);
  }
}

static inline void coll_smelt_data_close(coll_smelt_data *data) {
  if (OPAL_UNLIKELY(data->data.context != NULL)) coll_smelt_data_end(data);
}

/* Moves `elements` elements between `layout`, the type's own layout, and `packed`, packed bytes. */
void coll_smelt_pack(struct ompi_datatype_t *type, size_t elements, const void *layout, void *packed);
void coll_smelt_unpack(struct ompi_datatype_t *type, size_t elements, void *layout, const void *packed);

#endif
