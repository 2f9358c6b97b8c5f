// The news of one side of a cut must all cross it, message by message, and then get about on the other side.
//
// Let A be a node or a package, B all others, and T the time at which everybody in B has heard of everybody in A. For a
// in A and v in B follow the messages that bring a's news to v, from a on, to the first that leaves A. It was sent by
// one that had heard of a inside A; it passed the link from its sender's node to u's, in B, at a time p; and it took at
// least a hop from then on to be seen, and from u on the shortest way to v. So of the pairs (a, v) one such message
// serves at most
//
//   heard(p) * about(T - hop - p)    heard(p): the most of A that one in A has heard of by p, inside A (growth.h)
//                                    about(r): of B, those that are within r of the best placed u of its node
//
// and all |A| |B| pairs must be served. A link is kept by each message for its service time s, whatever lines or rounds
// they belong to (schedule/predict.h). So of the half-open bins of length s that end at T - hop, each has at most one
// message, which serves at most the largest product in its bin: heard() falls towards earlier p, and about() rises
// there in steps, so only those steps and the bin's end count. If the sum over all bins and links is below |A| |B|,
// there is no barrier in T. The sum grows with T, so the largest such T is found by halving.
//
// It says that many cannot hear at first hand: links are few, messages come through them one after the other, early
// ones know little, and late ones have no time to be passed on. Within one cache, and between nodes so small that they
// have links enough for everybody, it says nothing.
#include "bench/lab/bounds/cut_bound.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "bench/lab/bounds/bound.h"

namespace smelt {

namespace {

constexpr uint32_t kHeardSamples = 512;  // of heard()
constexpr double kHighest = 3;           // times the bound that is known: how far up to look
constexpr uint32_t kMostNodes = 16;      // more have links enough
constexpr uint32_t kMostSides = 4;       // cuts that are looked at
constexpr uint32_t kMostBins = 1 << 14;  // of one link; a shorter service time keeps nobody waiting
constexpr uint32_t kHalvings = 40;

struct Link {
  float hop = 0, service = 0;  // the least; 0: there is no such link
};

// One side A, the links from its nodes to B's, and how quickly news gets about in B.
struct Cut {
  const Costs& costs;
  const uint16_t* node = nullptr;  // [n] 0 .. nodes - 1
  uint32_t nodes = 0;
  uint16_t* inside = nullptr;               // [n] A's members first, then B's
  uint32_t size = 0;                        // of A
  Link link[kMostNodes * kMostNodes] = {};  // row = from
  float* about = nullptr;  // [nodes][n - size] the distance of the k-th nearest in B to the best placed u
  float heard[kHeardSamples + 1] = {};
  double range = 0;

  // All messages across must queue for links.
  bool find_links() {
    std::fill_n(link, kMostNodes * kMostNodes, Link{});
    for (uint32_t i = 0; i < size; ++i) {
      for (uint32_t k = size; k < costs.n; ++k) {
        const uint32_t a = inside[i], b = inside[k];
        const Distance distance = distance_in(costs, a, b);
        const float service = costs.service[static_cast<uint32_t>(distance)], hop = costs.hop[costs.at(a, b)];
        const bool crosses = distance == Distance::kSamePackage || distance == Distance::kOther;
        if (!crosses || node[a] == node[b] || service <= 0) return false;
        Link& way = link[node[a] * kMostNodes + node[b]];
        way = way.service > 0 ? Link{std::min(way.hop, hop), std::min(way.service, service)} : Link{hop, service};
      }
    }
    return true;
  }

  // `row` is scratch, [n].
  void find_distances(const float* way, float* row) {
    const uint32_t others = costs.n - size;
    std::fill_n(about, size_t{nodes} * others, HUGE_VALF);
    for (uint32_t k = size; k < costs.n; ++k) {
      const uint32_t u = inside[k];
      for (uint32_t j = 0; j < others; ++j) row[j] = u == inside[size + j] ? 0 : way[costs.at(u, inside[size + j])];
      std::sort(row, row + others);
      float* const best = about + size_t{node[u]} * others;
      for (uint32_t j = 0; j < others; ++j) best[j] = std::min(best[j], row[j]);
    }
  }

  double most_heard(double t) const {
    const double at = t / range * kHeardSamples;  // the sample after it
    return at >= kHeardSamples ? heard[kHeardSamples] : heard[static_cast<uint32_t>(at) + 1];
  }

  // The most that one message serves that passes its link between `first` and `end` before `latest`. `reached`: how
  // many of `distance` are below `first`; on return, below `end`.
  double most_of_bin(double latest, const float* distance, double first, double end, uint32_t& reached) const {
    const uint32_t others = costs.n - size;
    while (reached < others && double{distance[reached]} <= first) ++reached;
    double most = most_heard(latest - first) * reached;
    while (reached < others && double{distance[reached]} < end) {
      const double next = double{distance[reached]};
      while (reached < others && double{distance[reached]} <= next) ++reached;
      if (next <= latest) most = std::max(most, most_heard(latest - next) * reached);
    }
    return most;
  }

  // Could a barrier be over at `end`?
  bool is_possible(double end) const {
    const uint32_t others = costs.n - size;
    const double all = static_cast<double>(size) * others;
    double served = 0;
    for (uint32_t from = 0; from < nodes; ++from) {
      for (uint32_t to = 0; to < nodes; ++to) {
        const Link& through = link[from * kMostNodes + to];
        if (through.service <= 0) continue;
        const float* const distance = about + size_t{to} * others;
        const double latest = end - double{through.hop};
        if (latest > kMostBins * double{through.service}) return true;
        uint32_t reached = 0;
        for (uint32_t i = 0; latest - i * double{through.service} >= 0 && served < all; ++i)
          served +=
              most_of_bin(latest, distance, i * double{through.service}, (i + 1) * double{through.service}, reached);
      }
    }
    return served >= all;
  }
};

// The numbers of the different ids, by first appearance; how many there are.
uint32_t number(const uint16_t* ids, uint32_t n, uint16_t* out) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t k = 0;
    while (k < i && ids[k] != ids[i]) ++k;
    out[i] = k < i ? out[k] : static_cast<uint16_t>(count++);
  }
  return count;
}

// The bound by the cut around the participants of which side[i] == own.
double bound_of(Cut& cut, const uint16_t* side, uint16_t own, const float* way, double known, Arena& arena,
                const SearchLimits& limits) {
  const uint32_t n = cut.costs.n;
  cut.size = 0;
  for (uint32_t i = 0; i < n; ++i)
    if (side[i] == own) cut.inside[cut.size++] = static_cast<uint16_t>(i);
  for (uint32_t i = 0, k = cut.size; i < n; ++i)
    if (side[i] != own) cut.inside[k++] = static_cast<uint16_t>(i);
  auto* row = arena.make<float>(n);
  cut.about = arena.make<float>(size_t{cut.nodes} * (n - cut.size));
  Costs within;
  TreeProblem problem;
  if (!row || !cut.about || !cut.find_links() || subset_costs(cut.costs, {cut.inside, cut.size}, arena, &within) != 0 ||
      make_gather_problem(within, arena, &problem) != 0)
    return 0;
  cut.find_distances(way, row);
  cut.range = kHighest * known;
  std::fill_n(cut.heard, kHeardSamples + 1, static_cast<float>(cut.size));
  lower_heard(problem, cut.range, kHeardSamples, cut.heard, arena, limits);
  if (limits.exceeded() || cut.is_possible(known)) return 0;
  double low = known, high = cut.range;
  for (uint32_t k = 0; k < kHalvings; ++k) {
    const double middle = (low + high) / 2;
    (cut.is_possible(middle) ? high : low) = middle;
  }
  return low * (1 - 1e-6);  // hops and services are floats, which the simulation adds up as doubles
}

}  // namespace

int make_gather_problem(const Costs& costs, Arena& arena, TreeProblem* out) {
  const size_t pairs = size_t{costs.n} * costs.n;
  auto* read = arena.make<float>(pairs);
  if (!read) return -ENOMEM;
  for (size_t i = 0; i < pairs; ++i) read[i] = std::min(costs.recv_busy[i], costs.ready_read[i]);
  Costs quick = costs;
  quick.recv_busy = read;
  return make_problem(quick, Direction::kReduce, arena, out);
}

double cut_bound(const Costs& costs, const float* way, double known, Arena& arena, const SearchLimits& limits) {
  const uint32_t n = costs.n;
  char* const start = arena.mark();
  auto* numbers = arena.make<uint16_t>(size_t{3} * n);
  if (!numbers || known <= 0) {
    arena.rewind(start);
    return 0;
  }
  uint16_t *const node = numbers, *const package = numbers + n;
  Cut cut{costs};
  cut.node = node;
  cut.inside = numbers + size_t{2} * n;
  cut.nodes = number(costs.node, n, node);
  const uint32_t packages = number(costs.package, n, package);
  double bound = 0;
  const auto look = [&](const uint16_t* side, uint32_t sides) {
    if (sides < 2 || sides > kMostSides) return;
    char* const scratch = arena.mark();
    for (uint16_t own = 0; own < sides; ++own) {
      bound = std::max(bound, bound_of(cut, side, own, way, std::max(bound, known), arena, limits));
      arena.rewind(scratch);
    }
  };
  if (cut.nodes <= kMostNodes) {
    look(package, packages);
    if (cut.nodes != packages) look(node, cut.nodes);
  }
  arena.rewind(start);
  return bound;
}

}  // namespace smelt
