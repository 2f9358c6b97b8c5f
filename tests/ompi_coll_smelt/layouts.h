// Datatypes that describe the same ints in many ways, and buffers of theirs with guards: predefined, vector, descending
// displacements, with gaps, with a nonzero lower bound, packed order that is not the memory's.
#ifndef SMELT_TESTS_OMPI_COLL_SMELT_LAYOUTS_H
#define SMELT_TESTS_OMPI_COLL_SMELT_LAYOUTS_H

#include "check.h"

typedef struct layout {
  const char *name;
  MPI_Datatype type;
  int unit;  // ints per element
} layout;

enum { kUnit = 12, kShift = 64, kLayouts = 7 };

static inline void make_layouts(layout *list) {
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

static inline MPI_Aint extent_of(const layout *l) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(l->type, &lower, &extent);
  return extent;
}

// Room for `elements` of the layout; its first element is at data + kShift.
static inline guarded room_for(const layout *l, size_t elements) {
  return guarded_new(2 * kShift + elements * (size_t)extent_of(l));
}
static inline unsigned char *element(const guarded *g, const layout *l, size_t i) {
  return g->data + kShift + i * (size_t)extent_of(l);
}

// What rank `who` contributes, put where `elements` elements from the i-th on lie.
static inline void put(const guarded *g, const layout *l, size_t i, int elements, int who, int salt) {
  const size_t ints = (size_t)elements * (size_t)l->unit;
  int *packed = malloc(ints * sizeof(int) + 1);
  for (size_t k = 0; k < ints; ++k) packed[k] = (int)mix((uint64_t)who, k, (uint64_t)salt);
  int position = 0;
  MPI_Unpack(packed, (int)(ints * sizeof(int)), &position, element(g, l, i), elements, l->type, MPI_COMM_SELF);
  free(packed);
}

// A row of blocks: of one length, of several, or of several and with a layout each.
typedef enum variant { kPlain, kV, kW } variant;

// One side of a call: where the blocks lie, and what describes them.
typedef struct side {
  variant how;
  guarded memory;
  int *counts, *places;    // in elements of its layout, from element 0 on
  const layout **layouts;  // of each
  MPI_Datatype *types;     // kW
  int *bytes;              // places of kW, also as addresses
  MPI_Aint *far;
} side;

// Blocks follow each other; of kV and kW from the last to the first, and not without gaps. units: of 48 bytes, of each.
static inline side side_new(variant how, const layout *all, const layout *first, int size, const int *units) {
  const size_t n = (size_t)size + 1;
  side s = {.how = how,
            .counts = malloc(n * sizeof(int)),
            .places = malloc(n * sizeof(int)),
            .layouts = malloc(n * sizeof(layout *)),
            .types = malloc(n * sizeof(MPI_Datatype)),
            .bytes = malloc(n * sizeof(int)),
            .far = malloc(n * sizeof(MPI_Aint))};
  size_t room = 0;
  int next = 0;
  for (int k = 0; k < size; ++k) {
    const int i = how == kPlain ? k : size - 1 - k;
    const layout *l = how == kW ? &all[(first - all + i) % kLayouts] : first;
    s.layouts[i] = l;
    s.types[i] = l->type;
    s.counts[i] = units[i] * kUnit / l->unit;
    s.places[i] = how == kW ? 0 : next;
    next += s.counts[i] + (how == kV);
    s.far[i] = (MPI_Aint)room;
    s.bytes[i] = (int)room;
    room += 2 * kShift + (size_t)s.counts[i] * (size_t)extent_of(l);
  }
  if (how != kW) room = 2 * kShift + ((size_t)next + 1) * (size_t)extent_of(first);
  s.memory = guarded_new(room);
  return s;
}
static inline void side_free(side *s) {
  guarded_free(&s->memory);
  free(s->counts), free(s->places), free(s->layouts), free(s->types), free(s->bytes), free(s->far);
}
static inline unsigned char *side_buffer(const side *s) { return s->memory.data + kShift; }
static inline void put_block(side *s, int i, int who, int salt) {
  const guarded part = {NULL, s->memory.data + (s->how == kW ? s->bytes[i] : 0), 0};
  put(&part, s->layouts[i], (size_t)s->places[i], s->counts[i], who, salt);
}

#endif
