// The fields of the profile's structs as tables, made from fields.def: for code that treats all fields alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/participants.h"
#include "model/distance.h"
#include "profile/profile.h"

namespace smelt {

enum class Form : uint8_t {
  kHidden,        // packed only, and bound to other fields: the reader of those knows its possible values
  kReserved,      // packed only, 0
  kCost,          // a float or a list of floats
  kCurves,        // kCurveMethods lists of kCurveSizes floats; JSON: by the method's name
  kWhole,         // uint32_t
  kOrderedPairs,  // uint32_t, not more than the profile's CPUs have
  kName,          // uint32_t, one of `names` in JSON
  kUnit,          // the same, of costs
  kMarks,         // uint32_t, a bit for each of `names`
  kText,          // char[], NUL-terminated
  kHexadecimal,   // uint64_t
  kDate,          // int64_t, seconds since 1970
  kKind,          // JSON only: measured or guessed
  kAxis,          // JSON only: a list of numbers that never changes
};

struct Axis {
  uint32_t count;
  uint64_t at[kCurveSizes];
};
template <typename Number, size_t size>
constexpr Axis axis_of(const Number (&numbers)[size]) {
  Axis axis{size, {}};
  for (size_t i = 0; i < size; ++i) axis.at[i] = numbers[i];
  return axis;
}
inline constexpr Axis kSizesAxis = axis_of(kSampledBytes), kChildrenAxis = axis_of(kFanChildren),
                      kPairsAxis = axis_of(kQueuePairs);

struct Rule {
  Form form;
  const char* otherwise = nullptr;  // why a file with another value is refused; costs: Description::not_a_cost
  const char* const* names = nullptr;
  uint32_t least = 0, most = UINT32_MAX;  // names: how many there are
  const Axis* axis = nullptr;
  bool optional = false;  // kName: JSON says nothing of 0
};

struct Field {
  const char* name;
  uint32_t place;          // in the JSON form, 0: not there
  uint32_t offset, bytes;  // in its struct; 0 bytes: not there
  uint32_t count;          // of an array's elements, else 1
  Rule rule;
};

namespace rules {

constexpr Rule hidden() { return {Form::kHidden}; }
constexpr Rule reserved(const char* otherwise) { return {Form::kReserved, otherwise}; }
constexpr Rule cost() { return {Form::kCost}; }
constexpr Rule curves_by_method() { return {Form::kCurves}; }
constexpr Rule whole() { return {Form::kWhole}; }
constexpr Rule whole(uint32_t least, uint32_t most, const char* otherwise) {
  return {Form::kWhole, otherwise, nullptr, least, most};
}
constexpr Rule ordered_pairs(const char* otherwise) { return {Form::kOrderedPairs, otherwise}; }
constexpr Rule cost_unit(const char* otherwise) { return {Form::kUnit, otherwise, kCostUnitNames, 0, 2}; }
constexpr Rule distance(const char* otherwise) { return {Form::kName, otherwise, kDistanceNames, 0, kDistances}; }
constexpr Rule operation(const char* otherwise) {
  return {Form::kName, otherwise, kWinnerOperationNames, 0, kWinnerOperations};
}
constexpr Rule sync(const char* otherwise) { return {Form::kName, otherwise, kSyncNames, 0, kSyncs, nullptr, true}; }
constexpr Rule copy_choice(const char* otherwise) {
  return {Form::kName, otherwise, kCopyChoiceNames, 0, kCopyChoices, nullptr, true};
}
constexpr Rule marks(const char* otherwise) { return {Form::kMarks, otherwise, kClassMarkNames, 0, kClassMarks}; }
constexpr Rule conditions(const char* otherwise) { return {Form::kMarks, otherwise, kConditionNames, 0, kConditions}; }
constexpr Rule text() { return {Form::kText, "its texts are not plain text"}; }
constexpr Rule hexadecimal() { return {Form::kHexadecimal}; }
constexpr Rule date(const char* otherwise) { return {Form::kDate, otherwise}; }
constexpr Rule kind() { return {Form::kKind}; }

// JSON tells first what something is, then its figures.
constexpr uint32_t place_of(Form form) {
  switch (form) {
    case Form::kHidden:
    case Form::kReserved: return 0;
    case Form::kName:
    case Form::kText: return 1;
    default: return 2;
  }
}

#define SMELT_FIELD(in, place, type, name, array, rule) \
  {#name, place, offsetof(in, name), sizeof(type array), sizeof(type array) / sizeof(type), rule},
#define SMELT_ROW(in, type, name, array, rule) SMELT_FIELD(in, place_of((rule).form), type, name, array, rule)
#define SMELT_AXIS(name, axis) {#name, 2, 0, 0, 0, {Form::kAxis, nullptr, nullptr, 0, UINT32_MAX, &(axis)}},
inline constexpr Field kHeader[] = {
#define HEADER(place, type, name, array, rule) SMELT_FIELD(PackedHeader, place, type, name, array, rule)
#define HEADER_TEXT(place, name, bytes) SMELT_FIELD(PackedHeader, place, char, name, [bytes], text())
#define HEADER_JSON(place, name, rule) {#name, place, 0, 0, 0, rule},
#include "profile/fields.def"
};
inline constexpr Field kCurves[] = {
#define CURVES(type, name, array, rule) SMELT_ROW(CurveSet, type, name, array, rule)
#define CURVES_AXIS(name, axis) SMELT_AXIS(name, axis)
#include "profile/fields.def"
};
inline constexpr Field kClass[] = {
#define CLASS(type, name, array, rule) SMELT_ROW(ClassFigures, type, name, array, rule)
#include "profile/fields.def"
};
inline constexpr Field kWait[] = {
#define WAIT(type, name, array, rule) SMELT_ROW(WaitFigures, type, name, array, rule)
#include "profile/fields.def"
};
inline constexpr Field kFan[] = {
#define FAN(type, name, array, rule) SMELT_ROW(FanCurves, type, name, array, rule)
#define FAN_AXIS(name, axis) SMELT_AXIS(name, axis)
#include "profile/fields.def"
};
inline constexpr Field kQueue[] = {
#define QUEUE(type, name, array, rule) SMELT_ROW(QueueCurves, type, name, array, rule)
#define QUEUE_AXIS(name, axis) SMELT_AXIS(name, axis)
#include "profile/fields.def"
};
inline constexpr Field kDistance[] = {
#define DISTANCE(type, name, array, rule) SMELT_ROW(DistanceCurves, type, name, array, rule)
#define DISTANCE_AXIS(name, axis) SMELT_AXIS(name, axis)
#include "profile/fields.def"
};
inline constexpr Field kWinner[] = {
#define WINNER(type, name, array, rule) SMELT_ROW(Winner, type, name, array, rule)
#include "profile/fields.def"
};
#undef SMELT_FIELD
#undef SMELT_ROW
#undef SMELT_AXIS

}  // namespace rules

// A struct of the profile: its fields, in the packed form's order.
struct Description {
  std::span<const Field> fields;
  const char* not_a_cost;  // why a file is refused that has no cost in a field of costs
};
template <typename Struct>
inline constexpr Description kDescription{};
template <>
inline constexpr Description kDescription<PackedHeader>{rules::kHeader, "a figure in its header is not a cost"};
template <>
inline constexpr Description kDescription<CurveSet>{rules::kCurves, "a number in its curves is not a cost"};
template <>
inline constexpr Description kDescription<ClassFigures>{rules::kClass, "a number in its classes is not a cost"};
template <>
inline constexpr Description kDescription<WaitFigures>{rules::kWait, "a figure of waiting is not a cost"};
template <>
inline constexpr Description kDescription<FanCurves>{rules::kFan, "a number in its fans is not a cost"};
template <>
inline constexpr Description kDescription<QueueCurves>{rules::kQueue, "a number in its queues is not a cost"};
template <>
inline constexpr Description kDescription<DistanceCurves>{rules::kDistance,
                                                          "a number in its curves by distance is not a cost"};
template <>
inline constexpr Description kDescription<Winner>{rules::kWinner, "a number of a winner is not a cost"};

// The packed form has no hidden padding, and no field that is not described.
constexpr size_t described_bytes(const Description& description) {
  size_t bytes = 0;
  for (const Field& field : description.fields) bytes += field.bytes;
  return bytes;
}
#define SINGLE(type, name) static_assert(described_bytes(kDescription<type>) == sizeof(type));
#define ROWS(type, name, count, most, json, what) SINGLE(type, name)
#include "profile/fields.def"
static_assert(offsetof(PackedHeader, fingerprint) + described_bytes(kDescription<PackedHeader>) +
                  (sizeof(PackedCounts) - sizeof(PackedCounts::cpus)) ==
              sizeof(PackedHeader));

template <typename T>
const T* values_of(const Field& field, const void* row) {
  return reinterpret_cast<const T*>(static_cast<const char*>(row) + field.offset);
}
template <typename T>
T* values_of(const Field& field, void* row) {
  return reinterpret_cast<T*>(static_cast<char*>(row) + field.offset);
}

}  // namespace smelt
