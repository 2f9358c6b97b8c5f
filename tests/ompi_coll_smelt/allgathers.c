// Proves that allgather brings everybody's data to everybody in the order of the ranks, at all lengths, whatever
// datatypes describe the two sides: predefined, vector, descending displacements, with gaps, with a nonzero lower
// bound, packed order that is not the memory's; different ones for sending and receiving, with different counts; in
// place; count zero; in a communicator of reversed order. Gaps and guards must stay as they were.
#include "layouts.h"

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
