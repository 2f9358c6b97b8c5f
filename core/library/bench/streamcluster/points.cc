#include "streamcluster/points.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace smelt::bench {
namespace {

// A random number that depends on its place alone: the finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
uint64_t mixed(uint64_t bits) {
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
  return bits ^ bits >> 31;
}

uint64_t random_at(uint64_t seed, uint64_t a, uint64_t b) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;
  return mixed(mixed(mixed(seed + kGolden) + a + kGolden) + b + kGolden);
}

float unit(uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f; }

// FNV-1a, by 64-bit words.
class Digest {
 public:
  void add(uint64_t word) {
    for (int byte = 0; byte < 8; byte++) value_ = (value_ ^ (word >> 8 * byte & 0xff)) * 0x100000001b3u;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace

Points::Points(uint32_t capacity, uint32_t dimensions)
    : capacity_(capacity), dimensions_(dimensions), coordinates_(size_t{capacity} * dimensions), weights_(capacity) {}

// Around the cluster's centre, in each direction the sum of three uniform numbers of -1/8 .. 1/8.
void Points::make(uint32_t i, uint64_t number, uint32_t clusters, uint64_t seed) {
  const uint64_t cluster = random_at(seed, 1, number) % clusters;
  float* const point = at(i);
  for (uint32_t d = 0; d < dimensions_; d++) {
    const uint64_t bits = random_at(seed + 1 + number, 2, d);
    const float noise = unit(bits) + unit(bits << 20) + unit(bits << 40) - 1.5f;
    point[d] = unit(random_at(seed, 3 + cluster, d)) + noise / 4;
  }
  weights_[i] = 1;
}

void Points::copy(uint32_t i, const Points& from, uint32_t j) {
  std::copy_n(from.at(j), dimensions_, at(i));
  weights_[i] = from.weights_[j];
}

void Points::append(const Points& from, uint32_t j, double weight) {
  if (size_ == capacity_) {
    Points more(2 * capacity_ + 1, dimensions_);
    for (; more.size_ < size_; more.size_++) more.copy(more.size_, *this, more.size_);
    *this = std::move(more);
  }
  copy(size_, from, j);
  weights_[size_++] = weight;
}

double Points::weighted_distance(uint32_t i, uint32_t to) const {
  const float* const a = at(i);
  const float* const b = at(to);
  // Eight sums side by side, which a compiler may keep in one register without changing the result.
  float lanes[8] = {};
  uint32_t d = 0;
  for (; d + 8 <= dimensions_; d += 8)
    for (uint32_t lane = 0; lane < 8; lane++) {
      const float difference = a[d + lane] - b[d + lane];
      lanes[lane] += difference * difference;
    }
  for (; d < dimensions_; d++) {
    const float difference = a[d] - b[d];
    lanes[d % 8] += difference * difference;
  }
  const float pairs[4] = {lanes[0] + lanes[4], lanes[1] + lanes[5], lanes[2] + lanes[6], lanes[3] + lanes[7]};
  return weights_[i] * std::sqrt(static_cast<double>((pairs[0] + pairs[2]) + (pairs[1] + pairs[3])));
}

uint64_t Points::digest(double cost) const {
  Digest digest;
  digest.add(size_);
  for (uint32_t i = 0; i < size_; i++) {
    for (uint32_t d = 0; d < dimensions_; d++) digest.add(std::bit_cast<uint32_t>(at(i)[d]));
    digest.add(std::bit_cast<uint64_t>(weights_[i]));
  }
  digest.add(std::bit_cast<uint64_t>(cost));
  return digest.value();
}

}  // namespace smelt::bench
