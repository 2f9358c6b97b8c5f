// Proves that gather, scatter and the vector forms bring everybody's data to the root, or to everybody, and the root's
// to everybody, to the places that the call names, at all lengths, for every root, whatever datatypes describe
// the two sides (layouts.h); in place; count zero; in a communicator of reversed order; with arguments that mean
// nothing where MPI says that nobody looks at them. What is between, around and elsewhere than on who receives must
// stay as it was.
#include "layouts.h"

typedef enum kind { kGather, kScatter, kAllgatherv, kScatterv, kGatherv, kKinds } kind;
static const char *const kNames[] = {"gather", "scatter", "allgatherv", "scatterv", "gatherv"};

enum { kMostRanks = 64 };

// One call: the blocks of the root's row, and our own. In units of kUnit ints.
typedef struct work {
  kind which;
  MPI_Comm comm;
  int rank, size, root, in_place, salt;
  const layout *row_layout, *own_layout;
  int units[kMostRanks];  // of each rank's block
  int count[kMostRanks];  // the same, in elements of the row's layout
  int at[kMostRanks];     // where it begins in the row
  size_t elements;        // of the row
} work;

static int is_scatter(const work *w) { return w->which == kScatter || w->which == kScatterv; }
static int is_vector(const work *w) { return w->which >= kAllgatherv; }
// Does this rank have the row?
static int has_row(const work *w) { return w->which == kAllgatherv || w->rank == w->root; }

// Of the vector forms: some empty, some shorter, in descending order, with an element between them that is nobody's.
static void make_blocks(work *w, int units) {
  int end = 0;
  for (int k = 0; k < w->size; ++k) {
    const int i = is_vector(w) ? w->size - 1 - k : k;
    const int shorter = is_vector(w) ? (i + w->salt) % 3 : 2;
    w->units[i] = shorter == 2 ? units : shorter * ((units + 1) / 2);
    w->count[i] = w->units[i] * kUnit / w->row_layout->unit;
    w->at[i] = end;
    end += w->count[i] + is_vector(w);
  }
  w->elements = (size_t)end;
}

static void put_row(const work *w, const guarded *row) {
  for (int i = 0; i < w->size; ++i) put(row, w->row_layout, (size_t)w->at[i], w->count[i], i, w->salt);
}

static void call(const work *w, const guarded *row, const guarded *own) {
  const int mine = w->units[w->rank] * kUnit / w->own_layout->unit, is_root = has_row(w);
  // What is not looked at is not there.
  void *const whole = is_root ? element(row, w->row_layout, 0) : NULL;
  const int count = is_root ? w->count[0] : -1;
  const MPI_Datatype type = is_root ? w->row_layout->type : MPI_DATATYPE_NULL;
  const int leaves_out = is_root && w->in_place;
  void *const block = leaves_out ? MPI_IN_PLACE : element(own, w->own_layout, 0);
  const int own_count = leaves_out ? -1 : mine;
  const MPI_Datatype own_type = leaves_out ? MPI_DATATYPE_NULL : w->own_layout->type;
  switch (w->which) {
    case kGather: MPI_Gather(block, own_count, own_type, whole, count, type, w->root, w->comm); break;
    case kAllgatherv: MPI_Allgatherv(block, own_count, own_type, whole, w->count, w->at, type, w->comm); break;
    case kGatherv:
      MPI_Gatherv(block, own_count, own_type, whole, is_root ? w->count : NULL, is_root ? w->at : NULL, type, w->root,
                  w->comm);
      break;
    case kScatterv:
      MPI_Scatterv(whole, is_root ? w->count : NULL, is_root ? w->at : NULL, type, block, own_count, own_type, w->root,
                   w->comm);
      break;
    default: MPI_Scatter(whole, count, type, block, own_count, own_type, w->root, w->comm);
  }
}

static void compare(const work *w, const char *what, const guarded *got, const guarded *wanted) {
  const ptrdiff_t at = first_difference(got->data, wanted->data, got->bytes);
  int intact;
  const ptrdiff_t damage = guarded_damage(got, &intact);
  if (at >= 0 || !intact)
    fail("%s of %d x %s, own %s%s, root %d of %d: %s: byte %td", kNames[w->which], w->count[w->root],
         w->row_layout->name, w->own_layout->name, w->in_place ? ", in place" : "", w->root, w->size, what,
         at >= 0 ? at : damage);
}

static void run(kind which, MPI_Comm comm, const layout *row_layout, const layout *own_layout, int units, int in_place,
                int salt) {
  work w = {.which = which,
            .comm = comm,
            .in_place = in_place,
            .salt = salt,
            .row_layout = row_layout,
            .own_layout = own_layout};
  MPI_Comm_rank(comm, &w.rank);
  MPI_Comm_size(comm, &w.size);
  if (w.size > kMostRanks) fail("more than %d ranks", kMostRanks);
  w.root = salt % w.size;
  make_blocks(&w, units);
  const int is_root = has_row(&w), mine = w.units[w.rank] * kUnit / own_layout->unit;
  guarded row = room_for(row_layout, w.elements), row_wanted = room_for(row_layout, w.elements);
  guarded own = room_for(own_layout, (size_t)mine), own_wanted = room_for(own_layout, (size_t)mine);
  const int apart = !(is_root && in_place);
  if (is_scatter(&w)) {
    if (is_root) put_row(&w, &row), put_row(&w, &row_wanted);
    if (apart) put(&own_wanted, own_layout, 0, mine, w.rank, salt);
  } else {
    if (apart) put(&own, own_layout, 0, mine, w.rank, salt), put(&own_wanted, own_layout, 0, mine, w.rank, salt);
    if (!apart) put(&row, row_layout, (size_t)w.at[w.rank], w.count[w.rank], w.rank, salt);
    if (is_root) put_row(&w, &row_wanted);
  }
  call(&w, &row, &own);
  compare(&w, "the root's row", &row, &row_wanted);
  compare(&w, "own block", &own, &own_wanted);
  guarded_free(&row);
  guarded_free(&row_wanted);
  guarded_free(&own);
  guarded_free(&own_wanted);
}

// Rows that are empty on all ranks, and nowhere: Open MPI's own allgatherv of intercommunicators gathers so.
static void nothing(MPI_Comm comm) {
  const int none[kMostRanks] = {0};
  int size, own = 1, all[kMostRanks], value;
  MPI_Comm_size(comm, &size);
  for (int root = 0; root < size; ++root) {
    MPI_Request request;
    CHECK(MPI_Gatherv(NULL, 0, MPI_INT, NULL, none, none, MPI_INT, root, comm) == MPI_SUCCESS);
    CHECK(MPI_Scatterv(NULL, none, none, MPI_INT, NULL, 0, MPI_INT, root, comm) == MPI_SUCCESS);
    CHECK(MPI_Igatherv(NULL, 0, MPI_INT, NULL, none, none, MPI_INT, root, comm, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Iscatterv(NULL, none, none, MPI_INT, NULL, 0, MPI_INT, root, comm, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    // And all are still at the same place.
    CHECK(MPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, comm) == MPI_SUCCESS);
    MPI_Allreduce(&own, &value, 1, MPI_INT, MPI_SUM, comm);
    CHECK(value == size);
  }
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
  for (int which = 0; which < kKinds; ++which)
    for (int c = 0; c < 2; ++c)
      for (size_t u = 0; u < sizeof units / sizeof *units; ++u) {
        if (light && units[u] > 700) continue;
        for (int row = 0; row < kLayouts; ++row)
          for (int own = 0; own < kLayouts; ++own) {
            if ((units[u] > 200 || light) && (row + own) % 3 != 0 && !full) continue;
            run((kind)which, comms[c], &layouts[row], &layouts[own], units[u], (row + own + c) % 4 == 0, ++salt);
          }
      }
  // Again and again: nobody is overtaken, whoever is the root and whatever comes between.
  for (int i = 0; i < (light ? 300 : 3000); ++i)
    run((kind)(i / 5 % kKinds), comms[i & 1], &layouts[0], &layouts[1], 1 + i % 7, i % 3 == 0, ++salt / 4);
  // Last, when the group serves.
  for (int c = 0; c < 2; ++c) nothing(comms[c]);
  MPI_Comm_free(&comms[1]);
  return finish();
}
