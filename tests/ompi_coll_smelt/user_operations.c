// Proves that user-defined operations are applied in rank order where they do not commute, and that the user's
// function sees the datatype of the call with its real layout, never packed bytes: reduce to every root, allreduce,
// reduce_scatter, reduce_scatter_block, scan and exscan, with and without MPI_IN_PLACE, on contiguous types, on a type
// with gaps and a nonzero lower bound, on large single elements, on MPI_INT.
#include "check.h"

// One kind of element: how it is made, what the user's function does, how the result of all ranks is found locally.
typedef struct kind {
  const char *name;
  MPI_Datatype type;
  MPI_Op op;
  ptrdiff_t extent, offset;  // the first significant byte lies `offset` after the address MPI is given
  size_t span;               // from the first to the last significant byte
  void (*operand)(int rank, int k, unsigned char *at);
  void (*combine)(const unsigned char *left, unsigned char *right);  // right = left op right, one element
  int words;  // the large kinds: an element is a row of so many uint32; 0 otherwise
} kind;

static const kind *current;  // what the user's function should be called for; NULL: elements of no bytes
static int current_count;

// The one function behind all operations: checks the datatype it is given, then walks with that datatype's extent.
static void user_function(void *in, void *inout, int *length, MPI_Datatype *type) {
  MPI_Aint lower, extent, wanted_lower, wanted_extent;
  int size, wanted_size;
  if (current == NULL) return;  // elements of no bytes: may be called, has nothing to do
  MPI_Type_get_extent(*type, &lower, &extent);
  MPI_Type_size(*type, &size);
  MPI_Type_get_extent(current->type, &wanted_lower, &wanted_extent);
  MPI_Type_size(current->type, &wanted_size);
  if (size != wanted_size || extent != wanted_extent || lower != wanted_lower)
    fail("user function on %s count %d: a type of size %d extent %td lower bound %td instead of %d, %td, %td",
         current->name, current_count, size, extent, lower, wanted_size, wanted_extent, wanted_lower);
  if (*length < 0 || *length > current_count)
    fail("user function on %s count %d: length %d", current->name, current_count, *length);
  for (int k = 0; k < *length; ++k)
    current->combine((unsigned char *)in + k * extent, (unsigned char *)inout + k * extent);
}

// 2x2 matrices of uint32, the product modulo 2^32: associative, does not commute.
static void matrix_operand(int rank, int k, unsigned char *at) {
  uint32_t m[4];
  for (int i = 0; i < 4; ++i) m[i] = (uint32_t)mix((uint64_t)rank, (uint64_t)k, (uint64_t)i);
  memcpy(at, m, sizeof m);
}

static void matrix_combine(const unsigned char *left, unsigned char *right) {
  uint32_t a[4], b[4];
  memcpy(a, left, sizeof a);
  memcpy(b, right, sizeof b);
  const uint32_t c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                         a[2] * b[1] + a[3] * b[3]};
  memcpy(right, c, sizeof c);
}

// The same for the datatype that names the numbers from the last to the first: no gaps, but packed bytes are another
// matrix.
static MPI_Datatype backward_type(void) {
  MPI_Datatype type;
  MPI_Type_indexed(4, (int[]){1, 1, 1, 1}, (int[]){3, 2, 1, 0}, MPI_UINT32_T, &type);
  MPI_Type_commit(&type);
  return type;
}

// x -> factor * x + shift modulo 2^32; the two numbers lie 12 bytes apart in an element of extent 32 and lower bound
// -4.
enum { kFactorAt = 4, kShiftAt = 16 };

static void affine_operand(int rank, int k, unsigned char *at) {
  const uint32_t factor = (uint32_t)mix((uint64_t)rank, (uint64_t)k, 5),
                 shift = (uint32_t)mix((uint64_t)rank, (uint64_t)k, 6);
  memcpy(at + kFactorAt, &factor, 4);
  memcpy(at + kShiftAt, &shift, 4);
}

static void affine_combine(const unsigned char *left, unsigned char *right) {
  uint32_t a[2], b[2];
  memcpy(&a[0], left + kFactorAt, 4);
  memcpy(&a[1], left + kShiftAt, 4);
  memcpy(&b[0], right + kFactorAt, 4);
  memcpy(&b[1], right + kShiftAt, 4);
  const uint32_t factor = a[0] * b[0], shift = a[0] * b[1] + a[1];
  memcpy(right + kFactorAt, &factor, 4);
  memcpy(right + kShiftAt, &shift, 4);
}

// Three uint16 added modulo 9973: commutes; an element of 6 bytes, which divides no power of two.
static void residue_operand(int rank, int k, unsigned char *at) {
  uint16_t r[3];
  for (int i = 0; i < 3; ++i) r[i] = (uint16_t)(mix((uint64_t)rank, (uint64_t)k, (uint64_t)i) % 9973);
  memcpy(at, r, sizeof r);
}

static void residue_combine(const unsigned char *left, unsigned char *right) {
  uint16_t a[3], b[3];
  memcpy(a, left, sizeof a);
  memcpy(b, right, sizeof b);
  for (int i = 0; i < 3; ++i) b[i] = (uint16_t)((a[i] + b[i]) % 9973);
  memcpy(right, b, sizeof b);
}

// On MPI_INT itself: "the left one" and "the right one" give rank 0's and the last rank's operand.
static void int_operand(int rank, int k, unsigned char *at) {
  const int value = rank * 100000 + k;
  memcpy(at, &value, sizeof value);
}

static void left_combine(const unsigned char *left, unsigned char *right) { memcpy(right, left, sizeof(int)); }
static void right_combine(const unsigned char *left, unsigned char *right) { (void)left, (void)right; }

// One element of many words: its first half becomes the leftmost operand's, its second half the rightmost's.
static void large_operand(int rank, int k, unsigned char *at) {
  uint32_t *words = (uint32_t *)(void *)at;
  for (int i = 0; i < current->words; ++i) words[i] = (uint32_t)(rank * 1000003 + k * 1009 + i);
}

static void large_combine(const unsigned char *left, unsigned char *right) {
  memcpy(right, left, (size_t)current->words / 2 * 4);
}

// Of the first `ranks`.
static void expected_element(const kind *w, int ranks, int k, unsigned char *at) {
  unsigned char *left = malloc((size_t)w->offset + w->span);
  w->operand(ranks - 1, k, at);
  for (int rank = ranks - 2; rank >= 0; --rank) {
    w->operand(rank, k, left);
    w->combine(left, at);
  }
  free(left);
}

typedef struct buffers {
  guarded in, out;
  unsigned char *operands, *expected, *upto, *before;  // of all ranks, of those up to this one, of those before it
} buffers;

// Elements start at `lead` so that a negative lower bound stays inside the guarded bytes.
enum { kLead = 16 };

static void fill(const kind *w, int count, buffers *b) {
  memset(b->operands, kFill, b->in.bytes);
  memset(b->expected, kFill, b->in.bytes);
  memset(b->upto, kFill, b->in.bytes);
  memset(b->before, kFill, b->in.bytes);
  for (int k = 0; k < count; ++k) {
    w->operand(world_rank, k, b->operands + kLead + k * w->extent);
    expected_element(w, world_size, k, b->expected + kLead + k * w->extent);
    expected_element(w, world_rank + 1, k, b->upto + kLead + k * w->extent);
    if (world_rank > 0) expected_element(w, world_rank, k, b->before + kLead + k * w->extent);
  }
}

static void compare(const kind *w, const char *what, int count, int root, int in_place, const char *which,
                    const guarded *got, const unsigned char *wanted) {
  int intact;
  guarded_damage(got, &intact);
  if (!intact)
    fail("%s %s count %d root %d%s: %s: bytes outside overwritten", what, w->name, count, root,
         in_place ? " in place" : "", which);
  const ptrdiff_t byte = first_difference(got->data, wanted, got->bytes);
  if (byte >= 0)
    fail("%s %s count %d root %d%s: %s wrong at element %td byte %td (%02x instead of %02x)", what, w->name, count,
         root, in_place ? " in place" : "", which, (byte - kLead) / w->extent, (byte - kLead) % w->extent,
         got->data[byte], wanted[byte]);
}

// root < 0: allreduce.
static void once(const kind *w, buffers *b, unsigned char *untouched, int count, int root, int in_place) {
  const int receives = root < 0 || root == world_rank, replaces = in_place && receives;
  memcpy(b->in.data, b->operands, b->in.bytes);
  if (replaces)
    memcpy(b->out.data, b->operands, b->in.bytes);
  else
    memset(b->out.data, kFill, b->out.bytes);
  const void *in = replaces ? MPI_IN_PLACE : b->in.data + kLead;
  const char *what = root < 0 ? "allreduce" : "reduce";
  if (root < 0)
    MPI_Allreduce(in, b->out.data + kLead, count, w->type, w->op, MPI_COMM_WORLD);
  else
    MPI_Reduce(in, b->out.data + kLead, count, w->type, w->op, root, MPI_COMM_WORLD);
  compare(w, what, count, root, in_place, "result", &b->out, receives ? b->expected : untouched);
  compare(w, what, count, root, in_place, "send buffer", &b->in, b->operands);
}

static void prefix(const kind *w, buffers *b, const unsigned char *untouched, int count, int exclusive, int in_place) {
  memcpy(b->in.data, b->operands, b->in.bytes);
  memcpy(b->out.data, in_place ? b->operands : untouched, b->out.bytes);
  const void *in = in_place ? MPI_IN_PLACE : b->in.data + kLead;
  if (exclusive)
    MPI_Exscan(in, b->out.data + kLead, count, w->type, w->op, MPI_COMM_WORLD);
  else
    MPI_Scan(in, b->out.data + kLead, count, w->type, w->op, MPI_COMM_WORLD);
  const unsigned char *first = in_place ? b->operands : untouched;  // rank 0's exscan
  const unsigned char *expected = !exclusive ? b->upto : world_rank > 0 ? b->before : first;
  compare(w, exclusive ? "exscan" : "scan", count, -1, in_place, "result", &b->out, expected);
  compare(w, exclusive ? "exscan" : "scan", count, -1, in_place, "send buffer", &b->in, b->operands);
}

// A row of `count` elements in blocks: each longer than the one before, or as many of one length as there are. In place
// only the block is looked at, and what lies around the row.
static void scatter(const kind *w, buffers *b, const unsigned char *untouched, int count, int uneven, int in_place) {
  int *counts = malloc((size_t)world_size * sizeof *counts), row = 0, first = 0;
  for (int i = 0; i < world_size; ++i) {
    const long long end = (long long)count * (i + 1) * (i + 1) / (world_size * world_size);
    counts[i] = uneven ? (int)end - row : count / world_size;
    if (i == world_rank) first = row;
    row += counts[i];
  }
  const size_t own = (size_t)counts[world_rank] * (size_t)w->extent, skipped = (size_t)first * (size_t)w->extent;
  memcpy(b->in.data, b->operands, b->in.bytes);
  memcpy(b->out.data, in_place ? b->operands : untouched, b->out.bytes);
  const void *in = in_place ? MPI_IN_PLACE : b->in.data + kLead;
  if (uneven)
    MPI_Reduce_scatter(in, b->out.data + kLead, counts, w->type, w->op, MPI_COMM_WORLD);
  else
    MPI_Reduce_scatter_block(in, b->out.data + kLead, counts[0], w->type, w->op, MPI_COMM_WORLD);
  unsigned char *image = malloc(b->out.bytes);
  memcpy(image, untouched, b->out.bytes);
  memcpy(image + kLead, b->expected + kLead + skipped, own);
  if (in_place) memset(b->out.data + kLead + own, kFill, (size_t)count * (size_t)w->extent - own);
  const char *what = uneven ? "reduce_scatter" : "reduce_scatter_block";
  compare(w, what, count, -1, in_place, "result", &b->out, image);
  compare(w, what, count, -1, in_place, "send buffer", &b->in, b->operands);
  free(image);
  free(counts);
}

static void run_count(const kind *w, int count) {
  const size_t bytes = (size_t)count * (size_t)w->extent + 2 * kLead;
  buffers b = {guarded_new(bytes), guarded_new(bytes), malloc(bytes), malloc(bytes), malloc(bytes), malloc(bytes)};
  unsigned char *untouched = malloc(bytes);
  memset(untouched, kFill, bytes);
  current = w, current_count = count;
  fill(w, count, &b);
  const int every = full || bytes < (light ? 100 : 5000);
  for (int in_place = 0; in_place < 2; ++in_place) {
    once(w, &b, untouched, count, -1, in_place);
    for (int which = 0; which < 2; ++which) {
      prefix(w, &b, untouched, count, which, in_place);
      scatter(w, &b, untouched, count, which, in_place);
    }
    for (int root = 0; root < world_size; ++root)
      if (every || root == count % world_size || root == world_size - 1) once(w, &b, untouched, count, root, in_place);
  }
  guarded_free(&b.in);
  guarded_free(&b.out);
  free(b.operands);
  free(b.expected);
  free(b.upto);
  free(b.before);
  free(untouched);
}

static void run_kind(kind *w, int commutes) {
  int counts[kMostCounts], size;
  MPI_Op_create(user_function, commutes, &w->op);
  MPI_Type_size(w->type, &size);
  const int n = w->words > 0 ? 0 : counts_of((size_t)size, full ? 2 : !light, counts);
  for (int i = 0; i < n; ++i) run_count(w, counts[i]);
  if (w->words > 0)
    for (int count = 1; count <= 5; count += 2) run_count(w, count);
  MPI_Op_free(&w->op);
}

static MPI_Datatype row_type(int count, MPI_Datatype of) {
  MPI_Datatype type;
  MPI_Type_contiguous(count, of, &type);
  MPI_Type_commit(&type);
  return type;
}

// Elements of no bytes, and no elements: nothing is written, and everybody must come back.
static void nothing(kind *w) {
  MPI_Datatype empty = row_type(0, MPI_INT);
  MPI_Op_create(user_function, 0, &w->op);
  current = NULL;
  int word = 5;
  for (int root = 0; root < world_size; ++root) {
    MPI_Reduce(&word, world_rank == root ? &word + 1 : NULL, 7, empty, w->op, root, MPI_COMM_WORLD);
    MPI_Reduce(NULL, NULL, 0, w->type, w->op, root, MPI_COMM_WORLD);
    MPI_Reduce(NULL, NULL, 0, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
  }
  MPI_Allreduce(&word, &word + 1, 7, empty, w->op, MPI_COMM_WORLD);
  MPI_Allreduce(NULL, NULL, 0, w->type, w->op, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, NULL, 0, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  int *counts = calloc((size_t)world_size, sizeof *counts);
  MPI_Reduce_scatter(&word, &word + 1, counts, w->type, w->op, MPI_COMM_WORLD);
  MPI_Reduce_scatter_block(&word, &word + 1, 0, w->type, w->op, MPI_COMM_WORLD);
  MPI_Scan(&word, &word + 1, 0, w->type, w->op, MPI_COMM_WORLD);
  MPI_Exscan(&word, &word + 1, 7, empty, w->op, MPI_COMM_WORLD);
  free(counts);
  if (word != 5) fail("reduction of nothing wrote %d", word);
  MPI_Op_free(&w->op);
  MPI_Type_free(&empty);
}

static MPI_Datatype affine_type(void) {
  int lengths[2] = {1, 1};
  MPI_Aint at[2] = {kFactorAt, kShiftAt};
  MPI_Datatype parts[2] = {MPI_UINT32_T, MPI_UINT32_T}, bare, type;
  MPI_Type_create_struct(2, lengths, at, parts, &bare);
  MPI_Type_create_resized(bare, -4, 32, &type);
  MPI_Type_free(&bare);
  MPI_Type_commit(&type);
  return type;
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  kind matrix = {"2x2 matrices", row_type(4, MPI_UINT32_T), MPI_OP_NULL, 16, 0, 16, matrix_operand, matrix_combine, 0};
  kind backward = {
      "2x2 matrices backwards", backward_type(), MPI_OP_NULL, 16, 0, 16, matrix_operand, matrix_combine, 0};
  kind affine = {
      "affine maps with gaps", affine_type(), MPI_OP_NULL, 32, kFactorAt, 16, affine_operand, affine_combine, 0};
  kind residue = {
      "three residues", row_type(3, MPI_UINT16_T), MPI_OP_NULL, 6, 0, 6, residue_operand, residue_combine, 0};
  kind left = {"MPI_INT, left", MPI_INT, MPI_OP_NULL, 4, 0, 4, int_operand, left_combine, 0};
  kind right = {"MPI_INT, right", MPI_INT, MPI_OP_NULL, 4, 0, 4, int_operand, right_combine, 0};
  kind *small[] = {&matrix, &backward, &affine, &residue, &left, &right};
  for (int i = 0; i < 6; ++i) run_kind(small[i], small[i] == &residue);
  // single elements from one line to beyond any slot: 48 B, 4 KB, 40 KB, 100 KB, 1.2 MB
  const int words[] = {12, 1024, 10240, 25600, 300000};
  for (int i = 0; i < 5; ++i) {
    kind large = {"one long row",
                  row_type(words[i], MPI_UINT32_T),
                  MPI_OP_NULL,
                  4 * words[i],
                  0,
                  4 * (size_t)words[i],
                  large_operand,
                  large_combine,
                  words[i]};
    run_kind(&large, 0);
    MPI_Type_free(&large.type);
  }
  nothing(&matrix);
  MPI_Type_free(&matrix.type);
  MPI_Type_free(&backward.type);
  MPI_Type_free(&affine.type);
  MPI_Type_free(&residue.type);
  return finish();
}
