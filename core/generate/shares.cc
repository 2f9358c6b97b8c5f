// By turns: with k cores in a cluster, core m tells the clusters m + 1, m + 1 + k, m + 1 + 2 k ... places on in the
// ring, and hears from those as many places back. So each has near ones and far ones.
//
// A search then improves on that. By turns all cores store as many lines, and many come in at once while others find
// nothing to read; and a core that has another line to store reads later. It is cheaper when some tell many by one
// line, which costs a crossing, others few by a line each, and everybody hears from both. Which share makes whom late
// is reckoned as line_split.cc does it: all begin the round together, each stores its lines one after the other, and
// reads what comes in the order in which it comes. A try gives one message to another core of its cluster, there or
// here, or exchanges two; it is kept if the sum of the 16th powers of all cores' times does not grow, which the latest
// decide. Three tries in four are about the core that is latest. A core's time hangs only on those who tell it and on
// whom they tell beside it, so a try is some microseconds.
//
// Local search for a makespan with a smoothed objective: as partners.cc, which prices everything each time. If there is
// more time, it goes by simulated annealing (optimise.cc has the reference and the rule): a worse try is kept, too, if
// the sum grows by no more than the temperature times an exponential variate. The temperature is a share of what the
// latest core counts in that sum, falls from stage to stage, and is 0 in the last one.
#include "generate/shares.h"

#include <algorithm>
#include <cerrno>
#include <span>

#include "generate/line_split.h"
#include "generate/random.h"

namespace smelt {

namespace {

constexpr uint32_t kMostHeard = 32;  // by one core; more are not searched for
// A first message that comes so much before a whole read, as a share of that, may as well come after it: the cores of a
// cluster do not begin quite together. A core that waited for it pays a whole read for the second, too
// (schedule/predict.h).
constexpr float kUnsure = 0.15f;
constexpr uint32_t kShareStages = 64;    // of falling temperature
constexpr double kShareCooling = 0.931;  // from stage to stage: 0.931^64 = 1/100
static_assert(kMostHeard <= kMostSplit);

// The messages of one core, as numbers of pairs of clusters.
struct List {
  uint32_t count = 0;
  uint32_t pair[kMostHeard];

  void add(uint32_t p) { pair[count++] = p; }
  void remove(uint32_t p) {
    uint32_t* const at = std::find(pair, pair + count, p);
    std::copy(at + 1, pair + count, at);
    --count;
  }
};

struct Search {
  const Costs& costs;
  const Clusters& clusters;
  Shares& shares;
  List* tells = nullptr;  // [n]
  List* hears = nullptr;  // [n]
  float* busy = nullptr;  // [n] with its own lines
  float* done = nullptr;  // [n] with reading
  float scale = 1;        // the longest of those at first
  double temperature = 0;

  bool make(Arena& arena) {
    const uint32_t n = costs.n;
    tells = arena.make<List>(n);
    hears = arena.make<List>(n);
    busy = arena.make<float>(n);
    done = shares.done;
    return tells && hears && busy;
  }

  // False: some core has more than there is room for.
  bool list() {
    const uint32_t count = clusters.count;
    for (uint32_t distance = 1; distance < count; ++distance)
      for (uint32_t from = 0; from < count; ++from) {
        const uint32_t pair = from * count + (from + distance) % count;
        List &out = tells[shares.sends[pair]], &in = hears[shares.hears[pair]];
        if (out.count == kMostHeard || in.count == kMostHeard) return false;
        out.add(pair);
        in.add(pair);
      }
    return true;
  }

  // How a core stores its lines, and when they are seen.
  void tell(uint16_t core) {
    const List& own = tells[core];
    uint16_t to[kMostHeard], line[kMostHeard];
    float seen[kMostHeard];
    for (uint32_t k = 0; k < own.count; ++k) to[k] = shares.hears[own.pair[k]];
    split_lines(costs, core, to, own.count, line, seen);
    busy[core] = 0;
    const uint32_t row = clusters.of[core] * clusters.count;
    float longest = 0;
    for (uint32_t k = 0; k < own.count; ++k) {
      shares.visible[row + clusters.of[to[k]]] = seen[k];
      longest = std::max(longest, costs.send_busy[costs.at(core, to[k])]);
      if (k + 1 < own.count && line[k + 1] == line[k]) continue;
      busy[core] += longest;
      longest = 0;
    }
  }

  void read(uint16_t core) {
    const List& own = hears[core];
    uint32_t order[kMostHeard];
    for (uint32_t k = 0; k < own.count; ++k) {
      uint32_t at = k;
      for (; at > 0 && shares.visible[order[at - 1]] > shares.visible[own.pair[k]]; --at) order[at] = order[at - 1];
      order[at] = own.pair[k];
    }
    float now = busy[core];
    bool alone = true;
    for (uint32_t k = 0; k < own.count; ++k) {
      const size_t at = costs.at(shares.sends[order[k]], core);
      const float whole = costs.ready_read[at], kept = now + (alone ? whole : costs.recv_busy[at]);
      now = std::max(kept, shares.visible[order[k]]);
      alone = k == 0 && shares.visible[order[k]] + kUnsure * whole > kept;
    }
    done[core] = now;
  }

  float latest() const { return *std::max_element(done, done + costs.n); }

  double weight(float time) const {
    double power = double{time / scale};
    for (uint32_t k = 0; k < 4; ++k) power *= power;
    return power;
  }
};

// Another sender and another receiver for the message of a pair.
struct Change {
  uint32_t pair;
  uint16_t sends, hears;
};

struct Try {
  Search& search;
  Change change[2];
  uint32_t changes = 0;

  // Draws one; false: there is none that way.
  bool draw(SplitMix64& random) {
    const uint32_t n = search.costs.n, count = search.clusters.count;
    Shares& shares = search.shares;
    const auto core = random.below(4) > 0
                          ? static_cast<uint16_t>(std::max_element(search.done, search.done + n) - search.done)
                          : static_cast<uint16_t>(random.below(n));
    const List& own = random.below(2) > 0 ? search.hears[core] : search.tells[core];
    if (own.count == 0) return false;
    const uint32_t pair = own.pair[random.below(own.count)];
    const bool there = random.below(2) > 0, exchanged = random.below(2) > 0;
    const uint32_t cluster = there ? pair / count : pair % count;
    const uint16_t other = search.clusters.at(cluster, random.below(search.clusters.size(cluster)));
    const uint16_t was = there ? shares.sends[pair] : shares.hears[pair];
    const List& others = there ? search.tells[other] : search.hears[other];
    if (other == was) return false;
    const auto give = [&](uint32_t p, uint16_t to) {
      change[changes++] = there ? Change{p, to, shares.hears[p]} : Change{p, shares.sends[p], to};
    };
    give(pair, other);
    if (!exchanged) return others.count < kMostHeard;
    if (others.count == 0) return false;
    give(others.pair[random.below(others.count)], was);
    return true;
  }

  // Puts them into effect, and what was before into `change`. All are taken out before any is put in, so that two that
  // change places need no more room.
  void swap() {
    const std::span all(change, changes);
    for (const Change& it : all) {
      search.tells[search.shares.sends[it.pair]].remove(it.pair);
      search.hears[search.shares.hears[it.pair]].remove(it.pair);
    }
    for (Change& it : all) {
      std::swap(search.shares.sends[it.pair], it.sends);
      std::swap(search.shares.hears[it.pair], it.hears);
      search.tells[search.shares.sends[it.pair]].add(it.pair);
      search.hears[search.shares.hears[it.pair]].add(it.pair);
    }
  }

  void run(SplitMix64& random) {
    // One message given away has two tellers or two readers; two that change places have two of either at most.
    uint16_t teller[2], reader[4 + 2 * kMostHeard];
    uint32_t tellers = 0, readers = 0;
    const auto add = [](uint16_t* list, uint32_t& size, uint16_t core) {
      if (std::find(list, list + size, core) == list + size) list[size++] = core;
    };
    for (uint32_t k = 0; k < changes; ++k) {
      for (const uint16_t core : {search.shares.sends[change[k].pair], change[k].sends}) add(teller, tellers, core);
      for (const uint16_t core : {search.shares.hears[change[k].pair], change[k].hears}) add(reader, readers, core);
    }
    swap();
    float seen[2 * kMostHeard], was[4 + 2 * kMostHeard], kept[2];
    uint32_t pairs = 0;
    for (uint32_t k = 0; k < tellers; ++k) {
      const List& own = search.tells[teller[k]];
      add(reader, readers, teller[k]);
      kept[k] = search.busy[teller[k]];
      const uint32_t first = pairs;
      for (uint32_t i = 0; i < own.count; ++i) seen[pairs++] = search.shares.visible[own.pair[i]];
      search.tell(teller[k]);
      for (uint32_t i = 0; i < own.count; ++i)
        if (search.shares.visible[own.pair[i]] != seen[first + i])
          add(reader, readers, search.shares.hears[own.pair[i]]);
    }
    double before = 0, after = 0;
    for (uint32_t k = 0; k < readers; ++k) {
      was[k] = search.done[reader[k]];
      before += search.weight(was[k]);
      search.read(reader[k]);
      after += search.weight(search.done[reader[k]]);
    }
    if (after <= before) return;
    if (search.temperature > 0 && after <= before + search.temperature * random.exponential()) return;
    pairs = 0;
    for (uint32_t k = 0; k < tellers; ++k) {
      const List& own = search.tells[teller[k]];
      search.busy[teller[k]] = kept[k];
      for (uint32_t i = 0; i < own.count; ++i) search.shares.visible[own.pair[i]] = seen[pairs++];
    }
    for (uint32_t k = 0; k < readers; ++k) search.done[reader[k]] = was[k];
    swap();
  }
};

}  // namespace

int share_clusters(const Costs& costs, const Clusters& clusters, const ShareSearch& how, Arena& arena, Shares* out) {
  const uint32_t count = clusters.count;
  const size_t pairs = size_t{count} * count;
  *out = Shares{arena.make<uint16_t>(pairs), arena.make<uint16_t>(pairs), arena.make<float>(pairs),
                arena.make<uint32_t>(pairs), arena.make<float>(costs.n)};
  if (!out->sends || !out->hears || !out->visible || !out->order || !out->done) return -ENOMEM;
  uint32_t filled = 0;
  for (uint32_t distance = 1; distance < count; ++distance)
    for (uint32_t from = 0; from < count; ++from) {
      const uint32_t to = (from + distance) % count, pair = from * count + to;
      out->sends[pair] = clusters.at(from, distance - 1);
      out->hears[pair] = clusters.at(to, distance - 1);
      out->order[filled++] = pair;
    }
  char* const scratch = arena.mark();
  Search search{costs, clusters, *out};
  if (!search.make(arena)) return -ENOMEM;
  if (search.list()) {
    for (uint32_t core = 0; core < costs.n; ++core) search.tell(static_cast<uint16_t>(core));
    for (uint32_t core = 0; core < costs.n; ++core) search.read(static_cast<uint16_t>(core));
    search.scale = std::max(search.latest(), 1e-30f);
    SplitMix64 random(how.seed);
    double heat = double{how.heat};
    for (uint32_t stage = 0, k = 0; stage < kShareStages; ++stage, heat *= kShareCooling) {
      search.temperature = stage + 1 < kShareStages ? heat * search.weight(search.latest()) : 0;
      for (const auto end = static_cast<uint32_t>(uint64_t{how.tries} * (stage + 1) / kShareStages); k < end; ++k) {
        Try next{search, {}};
        if (next.draw(random)) next.run(random);
      }
    }
    const auto turn = [count](uint32_t pair) {  // where it stands round the ring
      const uint32_t from = pair / count, to = pair % count;
      return (to + count - from) % count * count + from;
    };
    std::sort(out->order, out->order + filled, [&](uint32_t a, uint32_t b) {
      return out->visible[a] != out->visible[b] ? out->visible[a] < out->visible[b] : turn(a) < turn(b);
    });
  }
  arena.rewind(scratch);
  return 0;
}

}  // namespace smelt
