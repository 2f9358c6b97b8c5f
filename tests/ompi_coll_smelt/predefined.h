// The predefined datatypes as data: how an element lies in memory, and which operations MPI defines for it.
// An element has one part, or two (complex: real and imaginary; pairs: value and index). All values used are small
// integers, which every representation holds exactly.
#ifndef SMELT_TESTS_OMPI_COLL_SMELT_PREDEFINED_H
#define SMELT_TESTS_OMPI_COLL_SMELT_PREDEFINED_H

#include "check.h"

#include <complex.h>
#include <float.h>
#include <stdbool.h>

typedef enum representation {
  kNone,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF32,
  kF64,
  kF80,
  kBool
} representation;

// MPI-3.1, section 5.9.2: the operations are defined for groups of datatypes.
typedef enum datatype_group {
  kInteger = 1,
  kFortranInteger = 2,
  kFloating = 4,
  kLogical = 8,
  kComplex = 16,
  kByte = 32,
  kMulti = 64,
  kPair = 128
} datatype_group;

typedef struct predefined_type {
  const char *name;
  MPI_Datatype type;
  datatype_group group;
  representation first, second;
  size_t second_offset, extent;
} predefined_type;

typedef struct element {
  long long part[2];
} element;

#define SCALAR(name, group, first, bytes) \
  { #name, name, group, first, kNone, 0, bytes }
#define COMPLEX(name, first, c_type) \
  { #name, name, kComplex, first, first, sizeof(c_type) / 2, sizeof(c_type) }
#define PAIR(name, first, second, s) \
  { #name, name, kPair, first, second, offsetof(s, index), sizeof(s) }

// Fills `types` (room for 64) and returns how many there are. Those that this MPI lacks (no Fortran) are left out.
static inline int predefined_types(predefined_type *types) {
  typedef struct {
    float value;
    int index;
  } float_int;
  typedef struct {
    double value;
    int index;
  } double_int;
  typedef struct {
    long value;
    int index;
  } long_int;
  typedef struct {
    int value;
    int index;
  } two_int;
  typedef struct {
    short value;
    int index;
  } short_int;
  typedef struct {
    long double value;
    int index;
  } long_double_int;
  typedef struct {
    float value;
    float index;
  } two_real;
  typedef struct {
    double value;
    double index;
  } two_double;
  const representation signed_long = sizeof(long) == 8 ? kI64 : kI32, unsigned_long = sizeof(long) == 8 ? kU64 : kU32;
  const predefined_type all[] = {
      SCALAR(MPI_INT, kInteger, kI32, 4), SCALAR(MPI_LONG, kInteger, signed_long, sizeof(long)),
      SCALAR(MPI_SHORT, kInteger, kI16, 2), SCALAR(MPI_UNSIGNED_SHORT, kInteger, kU16, 2),
      SCALAR(MPI_UNSIGNED, kInteger, kU32, 4), SCALAR(MPI_UNSIGNED_LONG, kInteger, unsigned_long, sizeof(long)),
      SCALAR(MPI_LONG_LONG, kInteger, kI64, 8), SCALAR(MPI_UNSIGNED_LONG_LONG, kInteger, kU64, 8),
      SCALAR(MPI_SIGNED_CHAR, kInteger, kI8, 1), SCALAR(MPI_UNSIGNED_CHAR, kInteger, kU8, 1),
      SCALAR(MPI_INT8_T, kInteger, kI8, 1), SCALAR(MPI_INT16_T, kInteger, kI16, 2),
      SCALAR(MPI_INT32_T, kInteger, kI32, 4), SCALAR(MPI_INT64_T, kInteger, kI64, 8),
      SCALAR(MPI_UINT8_T, kInteger, kU8, 1), SCALAR(MPI_UINT16_T, kInteger, kU16, 2),
      SCALAR(MPI_UINT32_T, kInteger, kU32, 4), SCALAR(MPI_UINT64_T, kInteger, kU64, 8),
      SCALAR(MPI_INTEGER, kFortranInteger, kI32, 4), SCALAR(MPI_FLOAT, kFloating, kF32, 4),
      SCALAR(MPI_DOUBLE, kFloating, kF64, 8), SCALAR(MPI_LONG_DOUBLE, kFloating, kF80, sizeof(long double)),
      SCALAR(MPI_REAL, kFloating, kF32, 4), SCALAR(MPI_DOUBLE_PRECISION, kFloating, kF64, 8),
      SCALAR(MPI_C_BOOL, kLogical, kBool, sizeof(bool)), SCALAR(MPI_CXX_BOOL, kLogical, kBool, sizeof(bool)),
      SCALAR(MPI_LOGICAL, kLogical, kI32, 4), COMPLEX(MPI_C_FLOAT_COMPLEX, kF32, float complex),
      COMPLEX(MPI_C_DOUBLE_COMPLEX, kF64, double complex),
      COMPLEX(MPI_C_LONG_DOUBLE_COMPLEX, kF80, long double complex), COMPLEX(MPI_COMPLEX, kF32, float complex),
      COMPLEX(MPI_DOUBLE_COMPLEX, kF64, double complex), SCALAR(MPI_BYTE, kByte, kU8, 1),
      SCALAR(MPI_AINT, kMulti, sizeof(MPI_Aint) == 8 ? kI64 : kI32, sizeof(MPI_Aint)),
      // Open MPI 4.1 compares MPI_OFFSET as unsigned: no negative values
      SCALAR(MPI_OFFSET, kMulti, kU64, sizeof(MPI_Offset)), SCALAR(MPI_COUNT, kMulti, kI64, sizeof(MPI_Count)),
      PAIR(MPI_FLOAT_INT, kF32, kI32, float_int), PAIR(MPI_DOUBLE_INT, kF64, kI32, double_int),
      PAIR(MPI_LONG_INT, signed_long, kI32, long_int), PAIR(MPI_2INT, kI32, kI32, two_int),
      PAIR(MPI_SHORT_INT, kI16, kI32, short_int), PAIR(MPI_LONG_DOUBLE_INT, kF80, kI32, long_double_int),
      PAIR(MPI_2REAL, kF32, kF32, two_real), PAIR(MPI_2DOUBLE_PRECISION, kF64, kF64, two_double),
      PAIR(MPI_2INTEGER, kI32, kI32, two_int)};
  int n = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    int bytes = 0;
    if (all[i].type == MPI_DATATYPE_NULL || MPI_Type_size(all[i].type, &bytes) != MPI_SUCCESS || bytes == 0) continue;
    types[n++] = all[i];
  }
  return n;
}

// x87's long double has 10 significant bytes; what lies in the rest of its 16 is nobody's.
static inline size_t significant_bytes(representation r) {
  static const size_t bytes[] = {
      0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, LDBL_MANT_DIG == 64 ? 10 : sizeof(long double), sizeof(bool)};
  return bytes[r];
}

static inline void store_part(representation r, unsigned char *at, long long value) {
  const float f32 = (float)value;
  const double f64 = (double)value;
  const long double f80 = value;
  const bool truth = value != 0;
  switch (r) {
    case kF32: memcpy(at, &f32, sizeof f32); break;
    case kF64: memcpy(at, &f64, sizeof f64); break;
    case kF80: memcpy(at, &f80, significant_bytes(r)); break;
    case kBool: memcpy(at, &truth, sizeof truth); break;
    case kNone: break;
    default: {  // integers: the low bytes
      const int8_t i8 = (int8_t)value;
      const int16_t i16 = (int16_t)value;
      const int32_t i32 = (int32_t)value;
      const size_t bytes = significant_bytes(r);
      memcpy(at,
             bytes == 1   ? (const void *)&i8
             : bytes == 2 ? (const void *)&i16
             : bytes == 4 ? (const void *)&i32
                          : &value,
             bytes);
    }
  }
}

// Writes the element's parts and nothing between or after them.
static inline void store(const predefined_type *t, unsigned char *at, element e) {
  store_part(t->first, at, e.part[0]);
  store_part(t->second, at + t->second_offset, e.part[1]);
}

// Padding inside a long double becomes kFill. A negative zero becomes a positive one: complex products have either.
static inline void normalise_part(representation r, unsigned char *at) {
  static const unsigned char zero[sizeof(long double)];
  const size_t bytes = significant_bytes(r);
  if (r == kF80) memset(at + bytes, kFill, sizeof(long double) - bytes);
  // little-endian: the sign is the last bit of the last significant byte
  if (r >= kF32 && r <= kF80 && at[bytes - 1] == 0x80 && memcmp(at, zero, bytes - 1) == 0) at[bytes - 1] = 0;
}

// Makes two rows of elements comparable byte by byte. Gaps between the parts stay as they are.
static inline void normalise_row(const predefined_type *t, unsigned char *row, size_t count) {
  if (t->first != kF80 && t->group != kComplex) return;
  for (size_t k = 0; k < count; ++k) {
    normalise_part(t->first, row + k * t->extent);
    normalise_part(t->second, row + k * t->extent + t->second_offset);
  }
}

static inline int is_unsigned(const predefined_type *t) { return t->first >= kU8 && t->first <= kU64; }
static inline int is_floating(const predefined_type *t) { return t->first >= kF32 && t->first <= kF80; }

#endif
