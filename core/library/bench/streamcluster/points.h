// Weighted points, made by number: which thread makes one, and when, changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace smelt::bench {

inline constexpr uint32_t kBlock = 64;       // points whose sums are taken in one go, by one thread
inline constexpr uint32_t kLineDoubles = 8;  // in a cache line

inline uint32_t blocks_of(uint32_t points) { return (points + kBlock - 1) / kBlock; }

// Its memory is not filled: a page lies with the thread that writes it first, its block's owner.
template <typename T>
class Array {
 public:
  Array() = default;
  explicit Array(size_t n) : values_(std::make_unique_for_overwrite<T[]>(n)) {}
  T& operator[](size_t i) { return values_[i]; }
  const T& operator[](size_t i) const { return values_[i]; }

 private:
  std::unique_ptr<T[]> values_;
};

class Points {
 public:
  Points() = default;
  Points(uint32_t capacity, uint32_t dimensions);

  // Point i of these becomes number `number` of an endless stream of `clusters` clusters, of weight 1.
  void make(uint32_t i, uint64_t number, uint32_t clusters, uint64_t seed);
  void copy(uint32_t i, const Points& from, uint32_t j);
  void append(const Points& from, uint32_t j, double weight);

  double weighted_distance(uint32_t i, uint32_t to) const;  // the weight of i x the Euclidean distance
  double weight(uint32_t i) const { return weights_[i]; }
  uint32_t size() const { return size_; }  // how many were appended
  uint64_t digest(double cost) const;      // of all that were appended, and this

 private:
  float* at(uint32_t i) { return &coordinates_[size_t{i} * dimensions_]; }
  const float* at(uint32_t i) const { return &coordinates_[size_t{i} * dimensions_]; }

  uint32_t size_ = 0, capacity_ = 0, dimensions_ = 0;
  Array<float> coordinates_;
  Array<double> weights_;
};

}  // namespace smelt::bench
