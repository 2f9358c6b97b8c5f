// Datatypes that describe the same data in different ways, for tests that move data between them.
#ifndef SMELT_TESTS_OMPI_COLL_SMELT_LAYOUTS_H
#define SMELT_TESTS_OMPI_COLL_SMELT_LAYOUTS_H

#include "check.h"

typedef struct layout {
  const char *name;
  MPI_Datatype type;
  int unit;  // ints per element
} layout;

enum { kUnit = 12, kShift = 64, kLayouts = 7 };

static void make_layouts(layout *list) {
  MPI_Datatype t;
  list[0] = (layout){"MPI_INT", MPI_INT, 1};
  MPI_Type_contiguous(kUnit, MPI_INT, &t);
  list[1] = (layout){"contiguous", committed(t), kUnit};
  MPI_Type_vector(4, 3, 5, MPI_INT, &t);
  list[2] = (layout){"vector", committed(t), kUnit};
  MPI_Type_create_hindexed(2, (int[]){6, 6}, (MPI_Aint[]){-32, 8}, MPI_INT, &t);
  list[3] = (layout){"lower bound -40", resized(t, -40, 88), kUnit};
  MPI_Type_contiguous(kUnit, MPI_INT, &t);
  list[4] = (layout){"contiguous, gap after", resized(t, 0, 4 * kUnit + 16), kUnit};
  MPI_Type_create_hindexed(3, (int[]){4, 4, 4}, (MPI_Aint[]){32, 16, 0}, MPI_INT, &t);
  list[5] = (layout){"no gaps, other order", committed(t), kUnit};
  MPI_Type_contiguous(kUnit, MPI_INT, &t);
  list[6] = (layout){"no gaps, lower bound -48", resized(t, -4 * kUnit, 4 * kUnit), kUnit};
}

static MPI_Aint extent_of(const layout *l) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(l->type, &lower, &extent);
  return extent;
}

// Room for `elements` of the layout; its first element is at data + kShift.
static guarded room_for(const layout *l, size_t elements) {
  return guarded_new(2 * kShift + elements * (size_t)extent_of(l));
}
static unsigned char *element(const guarded *g, const layout *l, size_t i) {
  return g->data + kShift + i * (size_t)extent_of(l);
}

// What rank `who` contributes, put where `elements` elements from the i-th on lie.
static void put(const guarded *g, const layout *l, size_t i, int elements, int who, int salt) {
  const size_t ints = (size_t)elements * (size_t)l->unit;
  int *packed = malloc(ints * sizeof(int) + 1);
  for (size_t k = 0; k < ints; ++k) packed[k] = (int)mix((uint64_t)who, k, (uint64_t)salt);
  int position = 0;
  MPI_Unpack(packed, (int)(ints * sizeof(int)), &position, element(g, l, i), elements, l->type, MPI_COMM_SELF);
  free(packed);
}

#endif
