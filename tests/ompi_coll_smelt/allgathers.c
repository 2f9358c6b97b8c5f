// Proves that allgather brings everybody's data to everybody in the order of the ranks, at all lengths, whatever
// datatypes describe the two sides: predefined, vector, descending displacements, with gaps, with a nonzero lower
// bound, packed order that is not the memory's; different ones for sending and receiving, with different counts; in
// place; count zero; in a communicator of reversed order. Gaps and guards must stay as they were.
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

static void gather(MPI_Comm comm, const layout *from, const layout *to, int units, int in_place, int salt) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int send = units * kUnit / from->unit, receive = units * kUnit / to->unit;
  guarded in = room_for(from, (size_t)send), out = room_for(to, (size_t)receive * (size_t)size);
  guarded wanted = room_for(to, (size_t)receive * (size_t)size);
  put(&in, from, 0, send, rank, salt);
  for (int i = 0; i < size; ++i) put(&wanted, to, (size_t)receive * (size_t)i, receive, i, salt);
  if (in_place) put(&out, to, (size_t)receive * (size_t)rank, receive, rank, salt);
  if (in_place)
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, element(&out, to, 0), receive, to->type, comm);
  else
    MPI_Allgather(element(&in, from, 0), send, from->type, element(&out, to, 0), receive, to->type, comm);
  const ptrdiff_t at = first_difference(out.data, wanted.data, out.bytes);
  int intact;
  const ptrdiff_t damage = guarded_damage(&out, &intact);
  if (at >= 0 || !intact)
    fail("allgather of %d x %s to %s%s, %d ranks: byte %td", send, from->name, to->name, in_place ? ", in place" : "",
         size, at >= 0 ? at : damage);
  guarded_free(&in);
  guarded_free(&out);
  guarded_free(&wanted);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  layout layouts[kLayouts];
  make_layouts(layouts);
  MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comms[1]);
  // In units of 48 bytes: nothing, one line, several, the longest inline, pieces, single copy.
  const int units[] = {0, 1, 2, 4, 5, 43, 200, 700, 8000};
  int salt = 0;
  for (int c = 0; c < 2; ++c)
    for (size_t u = 0; u < sizeof units / sizeof *units; ++u) {
      if (light && units[u] > 700) continue;
      for (int from = 0; from < kLayouts; ++from)
        for (int to = 0; to < kLayouts; ++to) {
          if (units[u] > 200 && (from + to) % 3 != 0 && !full) continue;
          gather(comms[c], &layouts[from], &layouts[to], units[u], 0, ++salt);
          if (from == to) gather(comms[c], &layouts[from], &layouts[to], units[u], 1, ++salt);
        }
    }
  // Again and again: nobody is overtaken.
  for (int i = 0; i < (light ? 200 : 2000); ++i) gather(comms[i & 1], &layouts[0], &layouts[1], 1 + i % 7, 0, ++salt);
  MPI_Comm_free(&comms[1]);
  return finish();
}
