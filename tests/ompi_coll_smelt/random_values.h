// What random_collectives.c sends: basic elements of several kinds, laid out in memory in several ways, and operations
// on them. Everything is computed on packed bytes, by plain loops that know nothing of MPI's datatypes: the oracle.
//
//   kind       one basic element: its packed bytes, and where they lie in memory (with a gap where the type has one)
//   unit       one element of a kind; what travels is so many units
//   layout     a datatype of some units, and where each of them lies:
//
//     plain |0|   three |0|1|2|   spaced |0|.|   vector |0|.|1|   reversed |1|.|0|   negative 0|.|1|, begins at the dot
#ifndef SMELT_TESTS_OMPI_COLL_SMELT_RANDOM_VALUES_H
#define SMELT_TESTS_OMPI_COLL_SMELT_RANDOM_VALUES_H

#include "check.h"

#include <stddef.h>

enum { kInt32, kInt64, kUint8, kFloat, kDouble, kTwoInts, kDoubleInt, kPair, kRecord, kKinds };
enum { kPlain, kThree, kSpaced, kVector, kReversed, kNegative, kShapes };
enum { kSum, kMax, kMin, kProd, kBand, kBor, kBxor, kLand, kLor, kLxor, kMaxloc, kMinloc, kCompose, kAdd, kOperations };
enum { kNone = -1, kMostPacked = 16, kUnitsOfAll = 6 };  // a multiple of kUnitsOfAll units fits every layout

typedef struct kind {
  const char *name;
  MPI_Datatype type;
  size_t packed, extent;
  int pieces;
  struct {
    size_t at, bytes;
  } piece[2];
} kind;

typedef struct layout {
  const kind *kind;
  const char *name;
  MPI_Datatype type;
  int units;
  int place[3];            // of each unit, in extents of the kind
  ptrdiff_t extent;        // from one element to the next
  ptrdiff_t lower, upper;  // the bytes of one element
} layout;

static kind kinds[kKinds];
static layout layouts[kKinds][kShapes];
static MPI_Op operations[kOperations];
static const char *const operation_names[] = {"SUM",  "MAX", "MIN",  "PROD",   "BAND",   "BOR",     "BXOR",
                                              "LAND", "LOR", "LXOR", "MAXLOC", "MINLOC", "compose", "add"};

// --- between memory and packed bytes

static inline void unit_at(const kind *k, unsigned char *memory, unsigned char *packed, int store) {
  for (int i = 0; i < k->pieces; ++i) {
    unsigned char *there = memory + k->piece[i].at;
    if (store)
      memcpy(there, packed, k->piece[i].bytes);
    else
      memcpy(packed, there, k->piece[i].bytes);
    packed += k->piece[i].bytes;
  }
}

// `count` elements of the layout at `memory`, to (store) or from there.
static inline void move(const layout *l, size_t count, unsigned char *memory, unsigned char *packed, int store) {
  const kind *k = l->kind;
  for (size_t i = 0; i < count; ++i)
    for (int u = 0; u < l->units; ++u, packed += k->packed)
      unit_at(k, memory + (ptrdiff_t)i * l->extent + l->place[u] * (ptrdiff_t)k->extent, packed, store);
}

// --- values

// Integers, or floating-point numbers that are integers, so small that sums and products of all ranks are exact;
// `fractions`: floating-point numbers that show in which order they were added.
static inline void generate(int which, int operation, int fractions, uint64_t seed, size_t units,
                            unsigned char *packed) {
  for (size_t i = 0; i < units; ++i, packed += kinds[which].packed) {
    const uint64_t h = mix(seed, i, 3);
    const int small = operation == kProd ? (h % 5 == 0 ? 2 : h % 5 == 1 ? -1 : 1) : (int)(h % 2001) - 1000;
    const int32_t i32 = operation == kNone || operation >= kBand ? (int32_t)h : small;
    const int64_t i64 = operation == kNone || operation >= kBand ? (int64_t)h : small;
    const double number = fractions ? (double)small / 7 * (double)(1 << (h >> 60)) : small;
    const float real = (float)number;
    const int32_t place = (int32_t)(h >> 33 & 15), few = small % 4;
    const uint32_t pair[2] = {(uint32_t)h | 1, (uint32_t)(h >> 32)};
    switch (which) {
      case kInt32: memcpy(packed, &i32, 4); break;
      case kInt64: memcpy(packed, &i64, 8); break;
      case kUint8: *packed = (unsigned char)h; break;
      case kFloat: memcpy(packed, &real, 4); break;
      case kDouble: memcpy(packed, &number, 8); break;
      case kTwoInts: memcpy(packed, &few, 4), memcpy(packed + 4, &place, 4); break;
      case kDoubleInt: {
        const double value = few;
        memcpy(packed, &value, 8), memcpy(packed + 8, &place, 4);
        break;
      }
      case kPair: memcpy(packed, pair, 8); break;
      default: memcpy(packed, &h, 8), packed[8] = (unsigned char)(h >> 13);
    }
  }
}

// clang-format off
#define SMELT_COMBINE(type, cases)                  \
  do {                                              \
    type a, b;                                      \
    memcpy(&a, left, sizeof a);                     \
    memcpy(&b, right, sizeof b);                    \
    switch (operation) { cases default : abort(); } \
    memcpy(right, &b, sizeof b);                    \
  } while (0)
#define SMELT_ARITHMETIC               \
  case kSum: b = a + b; break;         \
  case kMax: b = a > b ? a : b; break; \
  case kMin: b = a < b ? a : b; break; \
  case kProd: b = a * b; break;
#define SMELT_BITWISE            \
  case kBand: b = a & b; break;  \
  case kBor: b = a | b; break;   \
  case kBxor: b = a ^ b; break;  \
  case kLand: b = a && b; break; \
  case kLor: b = a || b; break;  \
  case kLxor: b = !a != !b; break;
#define SMELT_OF_BYTES                 \
  case kMax: b = a > b ? a : b; break; \
  case kMin: b = a < b ? a : b; break; \
  case kBand: b &= a; break;           \
  case kBor: b |= a; break;            \
  case kBxor: b ^= a; break;
// clang-format on

// right = left op right, one unit each.
static inline void combine_units(int which, int operation, const unsigned char *left, unsigned char *right) {
  switch (which) {
    case kInt32: SMELT_COMBINE(int32_t, SMELT_ARITHMETIC SMELT_BITWISE); break;
    case kInt64: SMELT_COMBINE(int64_t, SMELT_ARITHMETIC SMELT_BITWISE); break;
    case kUint8: SMELT_COMBINE(uint8_t, SMELT_OF_BYTES); break;
    case kFloat: SMELT_COMBINE(float, SMELT_ARITHMETIC); break;
    case kDouble: SMELT_COMBINE(double, SMELT_ARITHMETIC); break;
    case kTwoInts:
    case kDoubleInt: {
      const size_t at = kinds[which].packed - 4;
      double a = 0, b = 0;
      int32_t whole[2], place[2];
      if (which == kDoubleInt) {
        memcpy(&a, left, 8), memcpy(&b, right, 8);
      } else {
        memcpy(&whole[0], left, 4), memcpy(&whole[1], right, 4);
        a = whole[0], b = whole[1];
      }
      memcpy(&place[0], left + at, 4), memcpy(&place[1], right + at, 4);
      if (a == b ? place[0] < place[1] : operation == kMaxloc ? a > b : a < b) memcpy(right, left, at + 4);
      break;
    }
    default: {  // x -> p[0] x + p[1], the left one after the right one; or added
      uint32_t p[2], q[2];
      memcpy(p, left, 8), memcpy(q, right, 8);
      if (operation == kCompose)
        q[1] = p[0] * q[1] + p[1], q[0] *= p[0];
      else
        q[0] += p[0], q[1] += p[1];
      memcpy(right, q, 8);
    }
  }
}
#undef SMELT_COMBINE
#undef SMELT_ARITHMETIC
#undef SMELT_BITWISE
#undef SMELT_OF_BYTES

// --- MPI's names of these

static const layout *pair_layout(MPI_Datatype type) {
  for (int shape = 0; shape < kShapes; ++shape)
    if (layouts[kPair][shape].type == type) return &layouts[kPair][shape];
  fail("a user operation got a datatype that no reduction had");
}
static inline void user_operation(int operation, const void *in, void *inout, int count, MPI_Datatype type) {
  const layout *l = pair_layout(type);
  unsigned char left[3 * kMostPacked], right[3 * kMostPacked];
  for (int i = 0; i < count; ++i) {
    unsigned char *const to = (unsigned char *)inout + i * l->extent;
    move(l, 1, (unsigned char *)in + i * l->extent, left, 0);
    move(l, 1, to, right, 0);
    for (int u = 0; u < l->units; ++u) combine_units(kPair, operation, left + 8 * u, right + 8 * u);
    move(l, 1, to, right, 1);
  }
}
static void compose(void *in, void *inout, int *count, MPI_Datatype *type) {
  user_operation(kCompose, in, inout, *count, *type);
}
static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
  user_operation(kAdd, in, inout, *count, *type);
}

static inline layout make_layout(const kind *k, int shape) {
  static const char *const names[] = {"plain", "three", "spaced", "vector", "reversed", "negative"};
  static const int units[] = {1, 3, 1, 2, 2, 2};
  static const int places[kShapes][3] = {{0}, {0, 1, 2}, {0}, {0, 2}, {2, 0}, {-1, 1}};
  const MPI_Aint e = (MPI_Aint)k->extent;
  const MPI_Aint places_of[2] = {places[shape][0] * e, places[shape][1] * e};
  MPI_Datatype type = k->type;
  switch (shape) {
    case kPlain: break;
    case kThree: MPI_Type_contiguous(3, k->type, &type); break;
    case kSpaced: MPI_Type_create_resized(k->type, 0, 2 * e, &type); break;
    case kVector: MPI_Type_vector(2, 1, 2, k->type, &type); break;
    default: MPI_Type_create_hindexed_block(2, 1, places_of, k->type, &type);
  }
  if (shape != kPlain) MPI_Type_commit(&type);
  MPI_Aint lower, extent, true_lower, true_extent;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_get_true_extent(type, &true_lower, &true_extent);
  layout l = {k, names[shape], type, units[shape], {0}, extent, 0, extent};
  for (int u = 0; u < 3; ++u) l.place[u] = places[shape][u];
  if (shape == kNegative) l.lower = -e, l.upper = 2 * e;
  return l;
}

static inline void make_values(void) {
  MPI_Datatype pair, record, packed_record;
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 8};
  const MPI_Datatype parts[] = {MPI_DOUBLE, MPI_CHAR};
  MPI_Type_contiguous(2, MPI_UINT32_T, &pair);
  MPI_Type_create_struct(2, lengths, places, parts, &packed_record);
  record = resized(packed_record, 0, 16);
  MPI_Type_commit(&pair);
  const kind all[] = {
      {"int32", MPI_INT32_T, 4, 4, 1, {{0, 4}}},
      {"int64", MPI_INT64_T, 8, 8, 1, {{0, 8}}},
      {"uint8", MPI_UINT8_T, 1, 1, 1, {{0, 1}}},
      {"float", MPI_FLOAT, 4, 4, 1, {{0, 4}}},
      {"double", MPI_DOUBLE, 8, 8, 1, {{0, 8}}},
      {"2int", MPI_2INT, 8, 8, 1, {{0, 8}}},
      {"double_int", MPI_DOUBLE_INT, 12, 16, 2, {{0, 8}, {8, 4}}},
      {"pair", pair, 8, 8, 1, {{0, 8}}},
      {"record", record, 9, 16, 2, {{0, 8}, {8, 1}}},
  };
  memcpy(kinds, all, sizeof kinds);
  for (int k = 0; k < kKinds; ++k)
    for (int shape = 0; shape < kShapes; ++shape) layouts[k][shape] = make_layout(&kinds[k], shape);
  const MPI_Op predefined[] = {MPI_SUM,  MPI_MAX,  MPI_MIN, MPI_PROD, MPI_BAND,   MPI_BOR,
                               MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MAXLOC, MPI_MINLOC};
  memcpy(operations, predefined, sizeof predefined);
  MPI_Op_create(compose, 0, &operations[kCompose]);
  MPI_Op_create(add, 1, &operations[kAdd]);
}

static inline void free_values(void) {
  for (int k = 0; k < kKinds; ++k)
    for (int shape = kPlain + 1; shape < kShapes; ++shape) MPI_Type_free(&layouts[k][shape].type);
  MPI_Type_free(&kinds[kPair].type);
  MPI_Type_free(&kinds[kRecord].type);
  MPI_Op_free(&operations[kCompose]);
  MPI_Op_free(&operations[kAdd]);
}

// An operation that the kind has.
static inline int some_operation(int which, uint64_t random) {
  static const int bytes[] = {kMax, kMin, kBand, kBor, kBxor};
  switch (which) {
    case kInt32:
    case kInt64: return (int)(random % (kLxor + 1));
    case kUint8: return bytes[random % 5];
    case kFloat:
    case kDouble: return (int)(random % (kProd + 1));
    case kTwoInts:
    case kDoubleInt: return random % 2 ? kMaxloc : kMinloc;
    default: return random % 3 ? kCompose : kAdd;
  }
}

#endif
