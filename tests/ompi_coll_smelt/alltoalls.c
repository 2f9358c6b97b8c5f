// Proves that alltoall, alltoallv and alltoallw bring every block to whom it is for, at all lengths, whatever datatypes
// describe the two sides (layouts.h), different ones for sending and receiving, with different counts; in place; blocks
// of different lengths, none among them, at places in any order; in a communicator of reversed order. Gaps and guards
// must stay as they were.
#include "layouts.h"

static const char *const names[] = {"alltoall", "alltoallv", "alltoallw"};

static layout layouts[kLayouts];

// Units of 48 bytes from one rank to another.
static int units_between(variant how, int units, int from, int to, int salt) {
  return how == kPlain ? units : (int)(mix((uint64_t)from, (uint64_t)to, (uint64_t)salt) % (uint64_t)(units + 1));
}

static void exchange(MPI_Comm comm, variant how, const layout *from, const layout *to, int units, int in_place,
                     int salt) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int *sent = malloc((size_t)size * sizeof(int)), *received = malloc((size_t)size * sizeof(int));
  for (int i = 0; i < size; ++i) {
    // In place both directions have the same length.
    sent[i] = units_between(how, units, in_place && i < rank ? i : rank, in_place && i < rank ? rank : i, salt);
    received[i] = units_between(how, units, in_place && rank < i ? rank : i, in_place && rank < i ? i : rank, salt);
  }
  side in = side_new(how, layouts, from, size, sent), out = side_new(how, layouts, to, size, received);
  side wanted = side_new(how, layouts, to, size, received);
  for (int i = 0; i < size; ++i) {
    put_block(&in, i, rank * 1000 + i, salt);
    put_block(&wanted, i, i * 1000 + rank, salt);
    if (in_place) put_block(&out, i, rank * 1000 + i, salt);
  }
  unsigned char *const a = in.memory.data + kShift, *const b = out.memory.data + kShift;
  const void *const send = in_place ? MPI_IN_PLACE : a;
  if (how == kPlain)
    MPI_Alltoall(send, in_place ? 0 : in.counts[0], in_place ? MPI_DATATYPE_NULL : from->type, b, out.counts[0],
                 to->type, comm);
  if (how == kV)
    MPI_Alltoallv(send, in_place ? NULL : in.counts, in_place ? NULL : in.places,
                  in_place ? MPI_DATATYPE_NULL : from->type, b, out.counts, out.places, to->type, comm);
  if (how == kW)
    MPI_Alltoallw(send, in_place ? NULL : in.counts, in_place ? NULL : in.bytes, in_place ? NULL : in.types, b,
                  out.counts, out.bytes, out.types, comm);
  const ptrdiff_t at = first_difference(out.memory.data, wanted.memory.data, out.memory.bytes);
  int intact;
  const ptrdiff_t damage = guarded_damage(&out.memory, &intact);
  if (at >= 0 || !intact)
    fail("%s of %d x 48 bytes, %s to %s%s, %d ranks: byte %td", names[how], units, from->name, to->name,
         in_place ? ", in place" : "", size, at >= 0 ? at : damage);
  side_free(&in);
  side_free(&out);
  side_free(&wanted);
  free(sent);
  free(received);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  make_layouts(layouts);
  MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comms[1]);
  // In units of 48 bytes: nothing, one line, several, the longest inline, pieces, single copy.
  const int units[] = {0, 1, 2, 4, 5, 43, 200, 700, 8000};
  int salt = 0;
  for (int c = 0; c < 2; ++c)
    for (size_t u = 0; u < sizeof units / sizeof *units; ++u) {
      if (light && units[u] > 700) continue;
      for (variant how = kPlain; how <= kW; ++how)
        for (int from = 0; from < kLayouts; ++from)
          for (int to = 0; to < kLayouts; ++to) {
            if ((units[u] > 200 || light) && (from + to) % 3 != 0 && !full) continue;
            exchange(comms[c], how, &layouts[from], &layouts[to], units[u], 0, ++salt);
            if (from == to) exchange(comms[c], how, &layouts[from], &layouts[to], units[u], 1, ++salt);
          }
    }
  // Again and again: nobody is overtaken.
  for (int i = 0; i < (light ? 200 : 2000); ++i)
    exchange(comms[i & 1], (variant)(i % 3), &layouts[0], &layouts[1], 1 + i % 7, 0, ++salt);
  MPI_Comm_free(&comms[1]);
  return finish();
}
