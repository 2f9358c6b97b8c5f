// A graph as Graph500 makes them (Kronecker, A 0.57, B 0.19, C 0.19; vertices renumbered, both directions of every
// edge), of which each of two processes has the edges of every other vertex.
//
// The generator of random numbers is another one, so the graphs are not Graph500's own.
#pragma once

#include <cstdint>
#include <vector>

namespace smelt::breadth_first {

using Vertex = uint32_t;

struct Shape {
  uint32_t scale = 18, factor = 16;  // 2^scale vertices, factor times as many edges
  uint64_t seed = 1;
  Vertex vertices() const { return Vertex{1} << scale; }
};

inline uint64_t mix(uint64_t state) {  // SplitMix64's
  state += 0x9e3779b97f4a7c15;
  state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
  state = (state ^ state >> 27) * 0x94d049bb133111eb;
  return state ^ state >> 31;
}

// One to one.
inline Vertex renumbered(const Shape& shape, Vertex v) {
  const Vertex mask = shape.vertices() - 1;
  const uint32_t half = (shape.scale + 1) / 2;
  for (uint32_t round = 0; round < 3; ++round) {
    v = v * static_cast<Vertex>(mix(shape.seed + round) | 1) & mask;
    v ^= v >> half;
  }
  return v;
}

struct Edge {
  Vertex from, to;
};
inline Edge edge(const Shape& shape, uint64_t which) {
  uint64_t state = mix(shape.seed ^ mix(which));
  Edge e{0, 0};
  for (uint32_t bit = 0; bit < shape.scale; ++bit) {
    state = mix(state);
    const auto chance = static_cast<double>(state >> 11) * 0x1p-53;
    e.from = e.from << 1 | (chance >= 0.57 + 0.19);
    e.to = e.to << 1 | ((chance >= 0.57 && chance < 0.57 + 0.19) || chance >= 0.57 + 0.19 + 0.19);
  }
  return {renumbered(shape, e.from), renumbered(shape, e.to)};
}

// The edges of the vertices v with v % processes == me; vertex v is number v / processes of them.
class Part {
 public:
  Part(const Shape& shape, uint32_t me, uint32_t processes)
      : begin_(shape.vertices() / processes + 2), processes_(processes) {
    const uint64_t edges = uint64_t{shape.factor} << shape.scale;
    const auto each = [&](const auto& use) {
      for (uint64_t i = 0; i < edges; ++i) {
        const Edge e = edge(shape, i);
        if (e.from % processes == me) use(e.from / processes, e.to);
        if (e.to % processes == me) use(e.to / processes, e.from);
      }
    };
    each([&](Vertex own, Vertex) { ++begin_[own + 2]; });
    for (size_t i = 2; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    to_.resize(begin_.back());
    each([&](Vertex own, Vertex other) { to_[begin_[own + 1]++] = other; });
  }
  uint32_t processes() const { return processes_; }
  Vertex count() const { return static_cast<Vertex>(begin_.size() - 2); }
  const Vertex* begin(Vertex own) const { return to_.data() + begin_[own]; }
  const Vertex* end(Vertex own) const { return to_.data() + begin_[own + 1]; }

 private:
  std::vector<uint64_t> begin_;
  std::vector<Vertex> to_;
  const uint32_t processes_;
};

// The result of a search, the same for every program: vertices by their distance from where it began.
struct Found {
  std::vector<uint64_t> at;  // at each distance
  uint64_t ends = 0;         // of edges: twice as many as edges were traversed
  uint64_t vertices() const {
    uint64_t all = 0;
    for (const uint64_t some : at) all += some;
    return all;
  }
  uint64_t sum_of_distances() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < at.size(); ++i) sum += i * at[i];
    return sum;
  }
};

// Where it begins: at a vertex that has an edge.
inline Vertex root_of(const Shape& shape) { return edge(shape, 0).from; }

// By one thread.
inline Found search_alone(const Part& all, Vertex root) {
  Found found;
  std::vector<bool> seen(all.count());
  std::vector<Vertex> now{root}, next;
  seen[root] = true;
  for (; !now.empty(); now.swap(next), next.clear()) {
    found.at.push_back(now.size());
    for (const Vertex v : now) {
      found.ends += static_cast<uint64_t>(all.end(v) - all.begin(v));
      for (const Vertex* to = all.begin(v); to != all.end(v); ++to) {
        if (seen[*to]) continue;
        seen[*to] = true;
        next.push_back(*to);
      }
    }
  }
  return found;
}

}  // namespace smelt::breadth_first
