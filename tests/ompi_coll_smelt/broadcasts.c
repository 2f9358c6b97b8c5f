// Proves that bcast delivers the root's data from every root and at all lengths, whatever datatypes describe the two
// sides: predefined, vector, indexed, struct, with descending displacements, with gaps, with a nonzero lower bound;
// the root and the others with different layouts of one signature, even with different counts; types of size zero,
// count zero, MPI_BOTTOM with absolute addresses. Gaps and guards must stay as they were. --mixed-empty: also a root
// with an empty type and others with count 0.
#include "check.h"

// A layout holds a row of `unit` basic elements per element of the type; `shift` is where the buffer argument points.
typedef struct layout {
  const char *name;
  MPI_Datatype type;
  int unit;
  ptrdiff_t shift;
} layout;

enum { kUnit = 12, kShift = 64, kLayouts = 9, kStructLayouts = 4 };

// All of signature "kUnit ints per element", but for plain MPI_INT with one.
static void int_layouts(layout *list) {
  MPI_Datatype t;
  list[0] = (layout){"MPI_INT", MPI_INT, 1, 0};
  MPI_Type_contiguous(kUnit, MPI_INT, &t);
  list[1] = (layout){"contiguous", committed(t), kUnit, 0};
  MPI_Type_vector(4, 3, 5, MPI_INT, &t);
  list[2] = (layout){"vector", committed(t), kUnit, 0};
  MPI_Type_indexed(4, (int[]){5, 1, 4, 2}, (int[]){0, 7, 9, 20}, MPI_INT, &t);
  list[3] = (layout){"indexed", committed(t), kUnit, 0};
  MPI_Type_create_hindexed(3, (int[]){4, 4, 4}, (MPI_Aint[]){80, 40, 0}, MPI_INT, &t);
  list[4] = (layout){"descending", committed(t), kUnit, 0};
  MPI_Type_create_hindexed(2, (int[]){6, 6}, (MPI_Aint[]){-32, 8}, MPI_INT, &t);
  list[5] = (layout){"lower bound -40", resized(t, -40, 88), kUnit, kShift};
  MPI_Type_vector(kUnit, 1, 2, MPI_INT, &t);
  list[6] = (layout){"every second", committed(t), kUnit, 0};
  MPI_Type_contiguous(kUnit, MPI_INT, &t);
  list[7] = (layout){"contiguous, gap after", resized(t, 0, 4 * kUnit + 16), kUnit, 0};
  MPI_Type_create_hindexed(3, (int[]){4, 4, 4}, (MPI_Aint[]){32, 16, 0}, MPI_INT, &t);
  list[8] = (layout){"no gaps, other order", committed(t), kUnit, 0};
}

static MPI_Datatype int_double(MPI_Aint int_at, MPI_Aint double_at) {
  MPI_Datatype type;
  MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){int_at, double_at}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE},
                         &type);
  return type;
}

// All of signature "int, double".
static void struct_layouts(layout *list) {
  list[0] = (layout){"packed struct", resized(int_double(0, 4), 0, 12), 1, 0};
  list[1] = (layout){"C struct", resized(int_double(0, 8), 0, 16), 1, 0};
  list[2] = (layout){"double first", resized(int_double(8, 0), 0, 16), 1, 0};
  list[3] = (layout){"wide struct", resized(int_double(4, 24), 0, 40), 1, 0};
}

// The message: `bytes` packed bytes that depend on everything that should matter.
static unsigned char *message(size_t bytes, int root, int salt) {
  unsigned char *packed = malloc(bytes + 8);
  for (size_t i = 0; i < bytes; i += 8) {
    const uint64_t word = mix(i, (uint64_t)root, (uint64_t)salt);
    memcpy(packed + i, &word, 8);
  }
  return packed;
}

// Where `count` elements of a layout live: guarded, all kFill, reachable through the type from data + shift.
static guarded room_for(const layout *l, int count) {
  MPI_Aint lower, extent;
  MPI_Type_get_true_extent(l->type, &lower, &extent);
  MPI_Aint whole_lower, whole;
  MPI_Type_get_extent(l->type, &whole_lower, &whole);
  const size_t bytes = count == 0 ? 0 : (size_t)(l->shift + lower + extent + (count - 1) * whole);
  return guarded_new(bytes);
}

static void unpack_into(const layout *l, unsigned char *to, int count, unsigned char *packed, size_t bytes) {
  int position = 0;
  if (bytes > 0) MPI_Unpack(packed, (int)bytes, &position, to + l->shift, count, l->type, MPI_COMM_SELF);
}

static void verify(const char *what, const layout *l, int count, int root, const guarded *got, const guarded *wanted) {
  int intact;
  const ptrdiff_t outside = guarded_damage(got, &intact);
  if (!intact)
    fail("bcast %s %s count %d root %d: byte %td outside the buffer overwritten", what, l->name, count, root, outside);
  const ptrdiff_t byte = first_difference(got->data, wanted->data, got->bytes);
  if (byte >= 0)
    fail("bcast %s %s count %d root %d: byte %td of %zu is %02x instead of %02x%s", what, l->name, count, root, byte,
         got->bytes, got->data[byte], wanted->data[byte], wanted->data[byte] == kFill ? " (a gap?)" : "");
}

// `units` rows of kUnit (or 1) basic elements, `from` the root's layout and `to` the others'.
static void once(const char *what, const layout *from, const layout *to, int units, int unit, int root) {
  const layout *mine = world_rank == root ? from : to;
  const int count = units * (unit / mine->unit);
  int size;
  MPI_Type_size(mine->type, &size);
  const size_t bytes = (size_t)count * (size_t)size;
  unsigned char *packed = message(bytes, root, units);
  guarded got = room_for(mine, count), wanted = room_for(mine, count);
  unpack_into(mine, wanted.data, count, packed, bytes);
  if (world_rank == root) memcpy(got.data, wanted.data, got.bytes);
  MPI_Bcast(got.data + mine->shift, count, mine->type, root, MPI_COMM_WORLD);
  verify(what, mine, count, root, &got, &wanted);
  guarded_free(&got);
  guarded_free(&wanted);
  free(packed);
}

// Every root at every length, in bytes.
static void plain_bytes(void) {
  const layout bytes = {"MPI_BYTE", MPI_BYTE, 1, 0}, pair = {"MPI_SHORT_INT", MPI_SHORT_INT, 1, 0};
  int counts[kMostCounts];
  int n = counts_of(1, full || !light ? 2 : 1, counts);
  for (int i = 0; i < n; ++i)
    for (int root = 0; root < world_size; ++root)
      if (counts[i] < 200000 || full || root == i % world_size) once("plain", &bytes, &bytes, counts[i], 1, root);
  n = counts_of(6, 1, counts);
  for (int i = 0; i < n; ++i) once("plain", &pair, &pair, counts[i], 1, i % world_size);
}

// Every pair of layouts of a signature, the root changing from length to length.
static void layout_pairs(const char *what, const layout *list, int layouts, int unit, size_t unit_bytes) {
  int counts[kMostCounts];
  const int n = counts_of(unit_bytes, full ? 2 : !light, counts);
  for (int from = 0; from < layouts; ++from)
    for (int to = 0; to < layouts; ++to)
      for (int i = 0; i < n; ++i) once(what, &list[from], &list[to], counts[i], unit, (from + to + i) % world_size);
}

static void free_layouts(layout *list, int layouts) {
  for (int i = 0; i < layouts; ++i)
    if (list[i].type != MPI_INT) MPI_Type_free(&list[i].type);
}

// One element of one large type against many elements of small ones.
static void one_large_element(void) {
  for (int units = 1; units <= 30000; units = units * 3 + 1) {
    MPI_Datatype all;
    MPI_Type_vector(units * kUnit / 2, 2, 3, MPI_INT, &all);
    MPI_Type_commit(&all);
    layout plain = {"MPI_INT", MPI_INT, 1, 0};
    const int root = units % world_size, count = units * kUnit;
    layout whole = {"one vector", all, count, 0};
    once("one to many", &whole, &plain, 1, count, root);
    once("many to one", &plain, &whole, 1, count, root);
    MPI_Type_free(&all);
    MPI_Type_vector(count, 1, -1, MPI_INT, &all);
    MPI_Type_commit(&all);
    layout backwards = {"one vector backwards", all, count, (count - 1) * (ptrdiff_t)sizeof(int)};
    once("backwards to many", &backwards, &plain, 1, count, root);
    once("many to backwards", &plain, &backwards, 1, count, root);
    MPI_Type_free(&all);
  }
}

// The root sends one number many times (a stride of zero), the others receive a row.
static void repeated(int root, int count) {
  MPI_Datatype same;
  MPI_Type_vector(count, 1, 0, MPI_INT, &same);
  MPI_Type_commit(&same);
  const int sends = world_rank == root;
  int number = sends ? 1000 + count : 0;
  guarded row = guarded_new((size_t)count * sizeof(int));
  MPI_Bcast(sends ? (void *)&number : row.data, sends ? 1 : count, sends ? same : MPI_INT, root, MPI_COMM_WORLD);
  const int *got = (const int *)(const void *)row.data;
  for (int k = 0; !sends && k < count; ++k)
    if (got[k] != 1000 + count) fail("bcast of one number %d times, root %d: element %d is %d", count, root, k, got[k]);
  guarded_free(&row);
  MPI_Type_free(&same);
}

// Nothing is sent, nothing may be written, everybody must come back.
static void nothing(int root, int mixed_empty) {
  MPI_Datatype empty, empty_wide;
  MPI_Comm fresh;  // its first calls may be treated differently
  MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  MPI_Type_create_resized(empty, 0, 16, &empty_wide);
  MPI_Type_commit(&empty_wide);
  const layout types[] = {
      {"size zero", empty, 1, 0}, {"size zero, extent 16", empty_wide, 1, 0}, {"MPI_INT", MPI_INT, 1, 0}};
  const int counts[] = {5, 1000, 0};
  for (int i = 0; i < 3; ++i) {
    guarded got = guarded_new(64), wanted = guarded_new(64);
    MPI_Bcast(got.data, counts[i], types[i].type, root, fresh);
    verify("nothing", &types[i], counts[i], root, &got, &wanted);
    guarded_free(&got);
    guarded_free(&wanted);
  }
  MPI_Bcast(NULL, 0, MPI_DOUBLE, root, fresh);
  MPI_Bcast(NULL, 0, MPI_BYTE, root, fresh);
  // An empty type on one side, a count of zero on the other: one signature. Stock 4.1 loses step here.
  int word = 17;
  const int sends = world_rank == root;
  if (mixed_empty) MPI_Bcast(&word, sends ? 9 : 0, sends ? empty : MPI_INT, root, fresh);
  if (word != 17) fail("bcast of nothing, root %d: %d written", root, word);
  word = sends ? 18 : 0;
  MPI_Bcast(&word, 1, MPI_INT, root, fresh);
  if (word != 18) fail("bcast after one of nothing, root %d: %d", root, word);
  MPI_Comm_free(&fresh);
  MPI_Type_free(&empty);
  MPI_Type_free(&empty_wide);
}

// Two separate pieces of memory as one message, through addresses.
static void absolute(int root, int count) {
  guarded ints = guarded_new((size_t)count * sizeof(int)), bytes = guarded_new((size_t)count);
  MPI_Aint at[2];
  MPI_Datatype type;
  MPI_Get_address(ints.data, &at[0]);
  MPI_Get_address(bytes.data, &at[1]);
  MPI_Type_create_struct(2, (int[]){count, count}, at, (MPI_Datatype[]){MPI_INT, MPI_SIGNED_CHAR}, &type);
  MPI_Type_commit(&type);
  unsigned char *packed = message((size_t)count * 5, root, count);
  if (world_rank == root) {
    memcpy(ints.data, packed, (size_t)count * 4);
    memcpy(bytes.data, packed + (size_t)count * 4, (size_t)count);
  }
  MPI_Bcast(MPI_BOTTOM, 1, type, root, MPI_COMM_WORLD);
  int intact[2];
  guarded_damage(&ints, &intact[0]);
  guarded_damage(&bytes, &intact[1]);
  if (!intact[0] || !intact[1] || memcmp(ints.data, packed, (size_t)count * 4) != 0 ||
      memcmp(bytes.data, packed + (size_t)count * 4, (size_t)count) != 0)
    fail("bcast MPI_BOTTOM with %d ints and bytes, root %d: wrong data or overwritten guards", count, root);
  MPI_Type_free(&type);
  guarded_free(&ints);
  guarded_free(&bytes);
  free(packed);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  layout ints[kLayouts], structs[kStructLayouts];
  int_layouts(ints);
  struct_layouts(structs);
  plain_bytes();
  layout_pairs("ints", ints, kLayouts, kUnit, kUnit * sizeof(int));
  layout_pairs("structs", structs, kStructLayouts, 1, sizeof(int) + sizeof(double));
  one_large_element();
  for (int root = 0; root < world_size; ++root) {
    nothing(root, has_argument(argc, argv, "--mixed-empty"));
    for (int count = 1; count <= 100000; count *= 10) {
      absolute(root, count);
      repeated(root, count);
    }
  }
  free_layouts(ints, kLayouts);
  free_layouts(structs, kStructLayouts);
  return finish();
}
