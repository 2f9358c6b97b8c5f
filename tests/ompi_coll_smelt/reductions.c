// Proves that reduce (to every root), allreduce, reduce_scatter, reduce_scatter_block, scan and exscan compute every
// predefined operation on every predefined datatype that MPI defines it for, at all lengths around which methods
// change, with and without MPI_IN_PLACE; that they write nothing else (guards, gaps inside pair types, other ranks'
// buffers, send buffers). Values are small integers, so that every order of combination is exact and sums of 8-bit
// numbers stay in range: --full for the long list of lengths.
#include "predefined.h"

enum { kTile = 1009 };  // operands repeat after so many elements: a prime, so that no power of two hides a shift

typedef struct operation {
  const char *name;
  MPI_Op op;
  int groups;  // of datatypes
  enum {
    kMaximum,
    kMinimum,
    kSum,
    kProduct,
    kLogicalAnd,
    kLogicalOr,
    kLogicalXor,
    kAnd,
    kOr,
    kXor,
    kMaxLoc,
    kMinLoc
  } what;
} operation;

typedef struct test_case {
  const operation *operation;
  const predefined_type *type;
  unsigned char *operands, *expected;  // kTile elements each
  unsigned char *upto, *before;        // of the ranks up to this one, and of those before it
} test_case;

typedef struct buffers {
  guarded in, out;
  unsigned char *image;  // what `out` must become
} buffers;

static int operations(operation *list) {
  const int ordered = kInteger | kFortranInteger | kFloating | kMulti, summed = ordered | kComplex;
  const int logical = kInteger | kLogical, bits = kInteger | kFortranInteger | kByte | kMulti;
  const operation all[] = {{"MPI_MAX", MPI_MAX, ordered, kMaximum},
                           {"MPI_MIN", MPI_MIN, ordered, kMinimum},
                           {"MPI_SUM", MPI_SUM, summed, kSum},
                           {"MPI_PROD", MPI_PROD, summed, kProduct},
                           {"MPI_LAND", MPI_LAND, logical, kLogicalAnd},
                           {"MPI_LOR", MPI_LOR, logical, kLogicalOr},
                           {"MPI_LXOR", MPI_LXOR, logical, kLogicalXor},
                           {"MPI_BAND", MPI_BAND, bits, kAnd},
                           {"MPI_BOR", MPI_BOR, bits, kOr},
                           {"MPI_BXOR", MPI_BXOR, bits, kXor},
                           {"MPI_MAXLOC", MPI_MAXLOC, kPair, kMaxLoc},
                           {"MPI_MINLOC", MPI_MINLOC, kPair, kMinLoc}};
  memcpy(list, all, sizeof all);
  return (int)(sizeof all / sizeof *all);
}

// Repeats a small number in every byte of wide integers, so that no byte goes untested.
static long long widened(const predefined_type *t, long long small) {
  if (is_floating(t) || t->group == kPair) return small;
  switch (significant_bytes(t->first)) {
    case 2: return small * 0x0101;
    case 4: return small * 0x010101;
    case 8: return small * 0x01010101010101;
    default: return small;
  }
}

// At most two ranks contribute a factor other than one.
static element factor(const predefined_type *t, int rank, int k) {
  const int chosen = rank == k % world_size || rank == k / 3 % world_size;
  if (t->group != kComplex) {
    const long long others[] = {2, 3, is_unsigned(t) ? 5 : -1};
    return (element){{chosen ? others[(k + rank) % 3] : 1, 0}};
  }
  static const element units[] = {{{1, 0}}, {{0, 1}}, {{-1, 0}}, {{0, -1}}, {{1, 1}}, {{2, -1}}};
  return units[mix((uint64_t)rank, (uint64_t)k, 3) % (chosen ? 6 : 4)];
}

static element operand(const operation *o, const predefined_type *t, int rank, int k) {
  const uint64_t h = mix((uint64_t)rank, (uint64_t)k, 1), g = mix((uint64_t)rank, (uint64_t)k, 2);
  const uint64_t rare = 3 * (uint64_t)world_size;
  const long long truth = t->group == kLogical ? 1 : (long long[]){1, 2, 0x40}[g % 3];
  const long long share = 100 / world_size;  // the sum of all stays in 8 bits
  switch (o->what) {
    case kMaximum:
    case kMinimum:
      return (element){{widened(t, is_unsigned(t) ? (long long)(h % 200) : (long long)(h % 201) - 100), 0}};
    case kSum: {
      const long long low = is_unsigned(t) ? 0 : -share;
      const uint64_t range = (uint64_t)(share - low + 1);
      return (element){{widened(t, (long long)(h % range) + low), widened(t, (long long)(g % range) + low)}};
    }
    case kProduct: return factor(t, rank, k);
    case kLogicalAnd: return (element){{h % rare == 0 ? 0 : truth, 0}};
    case kLogicalOr: return (element){{h % rare == 0 ? truth : 0, 0}};
    case kLogicalXor: return (element){{h % 2 == 0 ? truth : 0, 0}};
    case kAnd: return (element){{(long long)(h | g | mix(h, g, 1)), 0}};
    case kOr: return (element){{(long long)(h & g & mix(h, g, 1)), 0}};
    case kXor: return (element){{(long long)h, 0}};
    default:
      return (element){
          {(long long)(h % 5) - 2, (rank * 37 + k) % 101}};  // few values: ties, which the lower index wins
  }
}

static int greater(const predefined_type *t, long long a, long long b) {
  return is_unsigned(t) ? (unsigned long long)a > (unsigned long long)b : a > b;
}

static element located(element a, element b, int sign) {
  if (a.part[0] != b.part[0]) return sign * a.part[0] > sign * b.part[0] ? a : b;
  return a.part[1] < b.part[1] ? a : b;
}

static element combined(const operation *o, const predefined_type *t, element a, element b) {
  const long long x = a.part[0], y = b.part[0], u = a.part[1], v = b.part[1];
  switch (o->what) {
    case kMaximum: return greater(t, x, y) ? a : b;
    case kMinimum: return greater(t, x, y) ? b : a;
    case kSum: return (element){{x + y, u + v}};
    case kProduct: return (element){{x * y - u * v, x * v + u * y}};
    case kLogicalAnd: return (element){{x && y, 0}};
    case kLogicalOr: return (element){{x || y, 0}};
    case kLogicalXor: return (element){{!x != !y, 0}};
    case kAnd: return (element){{x & y, 0}};
    case kOr: return (element){{x | y, 0}};
    case kXor: return (element){{x ^ y, 0}};
    default: return located(a, b, o->what == kMaxLoc ? 1 : -1);
  }
}

static void prepare(test_case *c) {
  const predefined_type *t = c->type;
  memset(c->operands, kFill, kTile * t->extent);
  memset(c->expected, kFill, kTile * t->extent);
  memset(c->upto, kFill, kTile * t->extent);
  memset(c->before, kFill, kTile * t->extent);
  for (int k = 0; k < kTile; ++k) {
    element all = operand(c->operation, t, 0, k);
    if (world_rank == 0) store(t, c->upto + (size_t)k * t->extent, all);
    for (int rank = 1; rank < world_size; ++rank) {
      if (rank == world_rank) store(t, c->before + (size_t)k * t->extent, all);
      all = combined(c->operation, t, all, operand(c->operation, t, rank, k));
      if (rank == world_rank) store(t, c->upto + (size_t)k * t->extent, all);
    }
    // a single participant's operand is its result, unlike 0 || 2, which is 1
    store(t, c->operands + (size_t)k * t->extent, operand(c->operation, t, world_rank, k));
    store(t, c->expected + (size_t)k * t->extent, all);
  }
}

// Elements [first, first + count) of the endless repetition.
static void repeat_from(const predefined_type *t, const unsigned char *tile, unsigned char *to, size_t first,
                        size_t count) {
  for (size_t k = 0, length; k < count; k += length) {
    const size_t at = (first + k) % kTile;
    length = count - k < kTile - at ? count - k : kTile - at;
    memcpy(to + k * t->extent, tile + at * t->extent, length * t->extent);
  }
}

static void repeat(const predefined_type *t, const unsigned char *tile, unsigned char *to, size_t count) {
  repeat_from(t, tile, to, 0, count);
}

// `got` must be `count` elements of the tile, from `first` on, or untouched where there is no tile. Says what differs.
static void compare_from(const test_case *c, const char *name, int count, int root, int in_place, const char *which,
                         guarded *got, const unsigned char *tile, size_t first, unsigned char *image) {
  const predefined_type *t = c->type;
  const size_t bytes = (size_t)count * t->extent;
  if (tile != NULL) {
    repeat_from(t, tile, image, first, (size_t)count);
    normalise_row(t, image, (size_t)count);
    normalise_row(t, got->data, (size_t)count);
  } else {
    memset(image, kFill, bytes);
  }
  const ptrdiff_t byte = first_difference(got->data, image, bytes);
  if (byte >= 0)
    fail("%s %s %s count %d root %d%s: %s wrong at element %td byte %td (%02x instead of %02x)", name,
         c->operation->name, t->name, count, root, in_place ? " in place" : "", which, byte / (ptrdiff_t)t->extent,
         byte % (ptrdiff_t)t->extent, got->data[byte], image[byte]);
  got->bytes = bytes;  // the guard begins right after this count's last element
  int intact;
  const ptrdiff_t outside = guarded_damage(got, &intact);
  if (!intact)
    fail("%s %s %s count %d root %d%s: %s overwritten at byte %td of %zu", name, c->operation->name, t->name, count,
         root, in_place ? " in place" : "", which, outside, bytes);
}

static void compare(const test_case *c, const char *name, int count, int root, int in_place, const char *which,
                    guarded *got, const unsigned char *tile, unsigned char *image) {
  compare_from(c, name, count, root, in_place, which, got, tile, 0, image);
}

// Buffers begin where their type may, not where a cache line does.
static void place(guarded *g, const predefined_type *t, int turn) {
  const size_t natural = t->extent < 16 ? t->extent : 16;
  g->data = g->whole + kGuardBytes + natural * (size_t)(turn % 4);
}

// root < 0: allreduce.
static void once(const test_case *c, buffers *b, int count, int root, int in_place) {
  const predefined_type *t = c->type;
  const size_t bytes = (size_t)count * t->extent;
  place(&b->in, t, count + root + 1);
  place(&b->out, t, count + 2 * root + 3);
  const int receives = root < 0 || root == world_rank, replaces = in_place && receives;
  repeat(t, c->operands, b->in.data, (size_t)count);
  memset(b->in.data + bytes, kFill, kGuardBytes);
  memset(b->out.data - kGuardBytes, kFill, bytes + 2 * kGuardBytes);
  if (replaces) repeat(t, c->operands, b->out.data, (size_t)count);
  const void *in = replaces ? MPI_IN_PLACE : b->in.data;
  void *out = !receives && count % 2 ? NULL : b->out.data;  // not significant elsewhere
  const int result = root < 0 ? MPI_Allreduce(in, out, count, t->type, c->operation->op, MPI_COMM_WORLD)
                              : MPI_Reduce(in, out, count, t->type, c->operation->op, root, MPI_COMM_WORLD);
  const char *name = root < 0 ? "allreduce" : "reduce";
  if (result != MPI_SUCCESS)
    fail("%s %s %s count %d root %d: error %d", name, c->operation->name, t->name, count, root, result);
  compare(c, name, count, root, in_place, "result", &b->out, receives ? c->expected : NULL, b->image);
  compare(c, name, count, root, in_place, "send buffer", &b->in, c->operands, b->image);
}

// Operands as they are before a call, in place or not.
static void set_up(const test_case *c, buffers *b, int count, int in_place) {
  const predefined_type *t = c->type;
  const size_t bytes = (size_t)count * t->extent;
  place(&b->in, t, count);
  place(&b->out, t, count + 3);
  repeat(t, c->operands, b->in.data, (size_t)count);
  memset(b->in.data + bytes, kFill, kGuardBytes);
  memset(b->out.data - kGuardBytes, kFill, bytes + 2 * kGuardBytes);
  if (in_place) repeat(t, c->operands, b->out.data, (size_t)count);
}

static void prefix(const test_case *c, buffers *b, int count, int exclusive, int in_place) {
  const predefined_type *t = c->type;
  const char *name = exclusive ? "exscan" : "scan";
  set_up(c, b, count, in_place);
  const void *in = in_place ? MPI_IN_PLACE : b->in.data;
  void *out = exclusive && world_rank == 0 && !in_place && count % 2 ? NULL : b->out.data;  // not significant there
  const int result = exclusive ? MPI_Exscan(in, out, count, t->type, c->operation->op, MPI_COMM_WORLD)
                               : MPI_Scan(in, out, count, t->type, c->operation->op, MPI_COMM_WORLD);
  if (result != MPI_SUCCESS) fail("%s %s %s count %d: error %d", name, c->operation->name, t->name, count, result);
  const unsigned char *untouched = in_place ? c->operands : NULL;
  const unsigned char *expected = !exclusive ? c->upto : world_rank > 0 ? c->before : untouched;
  compare(c, name, count, -1, in_place, "result", &b->out, expected, b->image);
  compare(c, name, count, -1, in_place, "send buffer", &b->in, c->operands, b->image);
}

// A row of about `most` elements in blocks: of one length, or each longer than the one before, the first ones empty
// where the row is short. In place only the block is looked at, and what follows the row.
static void scatter(const test_case *c, buffers *b, int most, int uneven, int in_place) {
  const predefined_type *t = c->type;
  const char *name = uneven ? "reduce_scatter" : "reduce_scatter_block";
  int *counts = malloc((size_t)world_size * sizeof *counts), row = 0, first = 0;
  for (int i = 0; i < world_size; ++i) {
    const long long end = (long long)most * (i + 1) * (i + 1) / (world_size * world_size);
    counts[i] = uneven ? (int)end - row : (most + world_size - 1) / world_size;
    if (i == world_rank) first = row;
    row += counts[i];
  }
  const int own = counts[world_rank];
  set_up(c, b, row, in_place);
  const void *in = in_place ? MPI_IN_PLACE : b->in.data;
  void *out = !in_place && own == 0 ? NULL : b->out.data;
  const int result = uneven ? MPI_Reduce_scatter(in, out, counts, t->type, c->operation->op, MPI_COMM_WORLD)
                            : MPI_Reduce_scatter_block(in, out, counts[0], t->type, c->operation->op, MPI_COMM_WORLD);
  if (result != MPI_SUCCESS) fail("%s %s %s row of %d: error %d", name, c->operation->name, t->name, row, result);
  if (in_place) memset(b->out.data + (size_t)own * t->extent, kFill, (size_t)(row - own) * t->extent);
  compare_from(c, name, own, -1, in_place, "result", &b->out, own > 0 ? c->expected : NULL, (size_t)first, b->image);
  compare(c, name, row, -1, in_place, "send buffer", &b->in, c->operands, b->image);
  free(counts);
}

// Every root for short messages and in --full; two of them, changing from count to count, otherwise.
static void all_calls(const test_case *c, buffers *b, int count, int turn) {
  const int every = full || (size_t)count * c->type->extent <= (light ? 64 : 4096);
  for (int in_place = 0; in_place < 2; ++in_place) {
    once(c, b, count, -1, in_place);
    for (int which = 0; which < 2; ++which) {
      if (light && (turn + which) % 2 != in_place) continue;
      prefix(c, b, count, which, in_place);
      scatter(c, b, count, which, in_place);
    }
    for (int root = 0; root < world_size; ++root)
      if (every || root == turn % world_size || root == (turn + 1) % world_size) once(c, b, count, root, in_place);
  }
}

// One operation of each flavour runs at every length even in --quick.
static int chosen(const operation *o, const predefined_type *t) {
  return (o->op == MPI_SUM && (t->type == MPI_DOUBLE || t->type == MPI_C_LONG_DOUBLE_COMPLEX)) ||
         (o->op == MPI_MAX && t->type == MPI_FLOAT) || (o->op == MPI_MINLOC && t->type == MPI_SHORT_INT) ||
         (o->op == MPI_MAXLOC && t->type == MPI_LONG_DOUBLE_INT) || (o->op == MPI_BXOR && t->type == MPI_BYTE) ||
         (o->op == MPI_PROD && t->type == MPI_INT16_T);
}

static void run_case(test_case *c, buffers *b) {
  int counts[kMostCounts];
  const predefined_type *t = c->type;
  int bytes;
  MPI_Aint lower, extent;
  MPI_Type_size(t->type, &bytes);
  MPI_Type_get_extent(t->type, &lower, &extent);
  if ((size_t)extent != t->extent || lower != 0)
    fail("%s has extent %td, the test believes %zu", t->name, extent, t->extent);
  prepare(c);
  const int level = chosen(c->operation, t) ? 1 + (full || !light) : full;
  const int n = counts_of((size_t)bytes, level, counts);
  for (int i = 0; i < n; ++i) all_calls(c, b, counts[i], i);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  const size_t most = (8 << 20) + 8192;  // 4 MB packed, with gaps
  operation ops[16];
  predefined_type types[64];
  buffers b = {guarded_new(most), guarded_new(most), malloc(most)};
  test_case c = {NULL, NULL, malloc(kTile * 32), malloc(kTile * 32), malloc(kTile * 32), malloc(kTile * 32)};
  const int op_count = operations(ops), type_count = predefined_types(types);
  long pairs = 0;
  for (int o = 0; o < op_count; ++o)
    for (int t = 0; t < type_count; ++t) {
      if (!(ops[o].groups & (int)types[t].group)) continue;
      c.operation = &ops[o], c.type = &types[t];
      run_case(&c, &b);
      ++pairs;
    }
  if (world_rank == 0) printf("%ld pairs of operation and datatype\n", pairs);
  return finish();
}
