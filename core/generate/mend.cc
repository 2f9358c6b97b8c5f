// Mending a tree: incremental change, which the paper leaves to future work (Kaestle et al., OSDI 2016, section 8). A program's
// team loses a thread, or a rank is added; a search from the beginning costs a tenth of a second, and what it would find is most of
// the tree that is there.
//
//   leave   v was a leaf: it goes. Otherwise its children go to its parent, or somebody takes its place and leaves its own
//           children to whoever is above it: v's children and the dearest leaves are tried, and for a root that is the only way.
//   join    v is told last by the member for which that is soonest; the few who promise most are tried.
//   both    then some moves, of which those stay that make the tree no worse: hill climbing on the critical path, whose members
//           are the only ones that can shorten it. Most candidates are aimed: v goes where it would be told the soonest. A move
//           that changes nothing stays as well, so that the tree does not get stuck on a plateau.
//
// The bound has to follow as well, and that of a larger set is none for a smaller one: whoever leaves may have been the detour that
// others went by, or the one it was dear to reach. So what is kept is only, for each member and each level of groups (levels.h),
// the cheapest edge that comes from another group, and from whom: a leave looks anew for those who lose theirs, a join compares once
// with each. From that, for each level, its groups being units that are told when one of theirs is told from outside:
//   1. Say that all messages between units arrive as soon as the quickest, and keep their sender as short as the shortest; and that who
//      is told can send with as many as the largest unit has. Then the k-th message begins at F(k) at the earliest (the postal
//      model; Bar-Noy, Kipnis, SPAA 1992, with several senders at a place).
//   2. The message that tells a unit takes the cheapest edge into it at least. Of the units of one group of a coarser level, which is
//      not the root's, one is told from outside that group; no choice of it leaves smaller numbers than that of the unit with the
//      largest. So there is one number for each unit but the root's.
//   3. The k-th message to begin does so at F(k) or later; so however messages and units are matched, some unit is told at the
//      maximum over k of F(k) + the k-th largest number, or later: the longest way has to begin first.
#include "generate/mend.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <functional>


namespace smelt {

namespace {

constexpr uint32_t kParentsTried = 4;       // of who joins
constexpr uint32_t kSuccessorsTried = 8;    // of who leaves
constexpr uint32_t kEditsAtOnce = 2;        // between two keep()s: a swap, and a removal

// Does every group of `fine` lie in one of `coarse`? `seen` has room for fine.count.
bool is_nested(uint32_t n, const Grouping& fine, const Grouping& coarse, uint16_t* seen) {
  std::fill_n(seen, fine.count, kNobody);
  for (uint32_t v = 0; v < n; ++v) {
    if (seen[fine.of[v]] != kNobody && seen[fine.of[v]] != coarse.of[v]) return false;
    seen[fine.of[v]] = coarse.of[v];
  }
  return true;
}

}  // namespace

int Mender::make(const TreeProblem& problem, bool free_root, Arena& arena, uint32_t moves) {
  const uint32_t n = problem.n;
  char* const start = arena.mark();
  problem_ = problem;
  free_root_ = free_root;
  moves_ = moves;
  count_ = 0;
  random_ = SplitMix64(n);
  member_ = arena.make<uint16_t>(n);
  place_ = arena.make<uint16_t>(n);
  group_ = arena.make<uint16_t>(size_t{kMostLevels} * n);
  way_ = arena.make<Way>(size_t{kMostLevels} * n);
  critical_ = arena.make<uint16_t>(n);
  ready_ = arena.make<double>(n);
  walk_ = arena.make<uint16_t>(n);
  shortest_ = arena.make<float>(size_t{kMostLevels} * n);
  numbers_ = arena.make<float>(n);
  units_ = arena.make<Unit>(n);
  parts_ = arena.make<Part>(n);
  starts_ = arena.make<double>(n);
  int error = member_ && place_ && group_ && way_ && critical_ && ready_ && walk_ && shortest_ && numbers_ && units_ && parts_ && starts_
                  ? 0
                  : -ENOMEM;
  if (error == 0) error = make_tree(n, 0, arena, &tree_);
  if (error == 0) error = editor_.make(problem, arena, kEditsAtOnce);
  char* const scratch = arena.mark();
  Levels levels;
  if (error == 0) error = find_levels(problem, arena, &levels);
  if (error != 0) {
    arena.rewind(start);
    return error;
  }
  levels_ = levels.count - 1;  // but that which has everybody together
  // From fine to coarse, the clusters too.
  for (uint32_t k = levels_ - 1; k > 0 && levels.level[k - 1].count < levels.level[k].count; --k)
    std::swap(levels.level[k - 1], levels.level[k]);
  for (uint32_t i = 0; i < levels_; ++i) {
    std::copy_n(levels.level[i].of, n, group_ + size_t{i} * n);
    for (uint32_t j = i + 1; j < levels_; ++j) nested_[i][j] = is_nested(n, levels.level[i], levels.level[j], walk_);
  }
  arena.rewind(scratch);
  for (uint32_t i = 0; i < levels_; ++i) {
    const uint16_t* const group = group_ + size_t{i} * n;
    for (uint32_t v = 0; v < n; ++v) {
      float& shortest = shortest_[size_t{i} * n + v] = HUGE_VALF;
      for (uint32_t c = 0; c < n; ++c) {
        if (group[c] != group[v]) shortest = std::min(shortest, problem.busy_of(v, c));
      }
    }
  }
  return 0;
}

void Mender::load(const Tree& tree, const uint16_t* members) {
  const uint32_t n = problem_.n;
  for (uint16_t* links : {tree_.parent, tree_.first, tree_.next, tree_.last, place_}) std::fill_n(links, n, kNobody);
  const auto name = [members](uint16_t i) { return i == kNobody ? kNobody : members[i]; };
  for (uint32_t i = 0; i < tree.n; ++i) {
    tree_.parent[members[i]] = name(tree.parent[i]);
    tree_.first[members[i]] = name(tree.first[i]);
    tree_.next[members[i]] = name(tree.next[i]);
    tree_.last[members[i]] = name(tree.last[i]);
  }
  tree_.root = members[tree.root];
  editor_.load(tree_);
  editor_.keep();
  count_ = 0;
  critical_count_ = 0;
  for (uint32_t i = 0; i < tree.n; ++i) enter(members[i]);
}

void Mender::store(Tree& tree, uint16_t* members) const {
  uint32_t next = 0;
  uint16_t* const number = walk_;
  for (uint32_t v = 0; v < problem_.n; ++v) {
    number[v] = static_cast<uint16_t>(next);
    if (place_[v] != kNobody) members[next++] = static_cast<uint16_t>(v);
  }
  const auto name = [number](uint16_t v) { return v == kNobody ? kNobody : number[v]; };
  for (uint32_t i = 0; i < count_; ++i) {
    const uint16_t v = members[i];
    tree.parent[i] = name(editor_.parent(v));
    tree.first[i] = name(editor_.first(v));
    tree.last[i] = name(editor_.last(v));
    tree.next[i] = v == editor_.root() ? kNobody : name(editor_.next(v));
  }
  tree.root = number[editor_.root()];
}

// ---- members and their ways in -----------------------------------------------------------------------------------------------

void Mender::notice(uint16_t v, uint16_t c) {
  const float edge = problem_.edge_of(v, c);
  for (uint32_t i = 0; i < levels_; ++i) {
    const size_t at = size_t{i} * problem_.n;
    if (edge < way_[at + c].edge && group_[at + v] != group_[at + c]) way_[at + c] = {edge, v};
  }
}

void Mender::look_around(uint16_t c) {
  for (uint32_t i = 0; i < levels_; ++i) way_[size_t{i} * problem_.n + c] = {HUGE_VALF, kNobody};
  for (uint32_t i = 0; i < count_; ++i) {
    if (member_[i] != c) notice(member_[i], c);
  }
}

void Mender::enter(uint16_t v) {
  look_around(v);
  for (uint32_t i = 0; i < count_; ++i) notice(v, member_[i]);
  place_[v] = static_cast<uint16_t>(count_);
  member_[count_++] = v;
}

void Mender::forget(uint16_t v) {
  const uint16_t last = member_[--count_];
  member_[place_[v]] = last;
  place_[last] = place_[v];
  place_[v] = kNobody;
  for (uint32_t i = 0; i < count_; ++i) {
    const uint16_t c = member_[i];
    bool lost = false;
    for (uint32_t level = 0; level < levels_; ++level) lost |= way_[size_t{level} * problem_.n + c].from == v;
    if (lost) look_around(c);
  }
}

// ---- change ------------------------------------------------------------------------------------------------------------------

// Who is critical, and from when on everybody has time for one more child.
void Mender::find_ways() {
  critical_count_ = editor_.critical(critical_);
  uint32_t known = 0;
  walk_[known++] = editor_.root();
  ready_[editor_.root()] = 0;
  for (uint32_t i = 0; i < known; ++i) {
    const uint16_t v = walk_[i];
    double now = ready_[v];
    for (uint16_t c = editor_.first(v); c != kNobody; c = editor_.next(c)) {
      ready_[c] = now + problem_.edge_of(v, c);
      now += problem_.busy_of(v, c);
      walk_[known++] = c;
    }
    ready_[v] = now;
  }
}

// Where v would be told the soonest as a last child: below its parent it is already, and below itself it cannot be.
uint16_t Mender::cheapest_parent(uint16_t v) const {
  const uint16_t above = is_member(v) ? editor_.parent(v) : kNobody;
  uint16_t best = kNobody;
  double soonest = HUGE_VAL;
  for (uint32_t i = 0; i < count_; ++i) {
    const uint16_t p = member_[i];
    const double at = ready_[p] + problem_.edge_of(p, v);
    if (at >= soonest || p == v || p == above || (is_member(v) && editor_.below(v, p))) continue;
    soonest = at;
    best = p;
  }
  return best;
}

// One edit, if what is drawn makes sense.
bool Mender::move() {
  const uint32_t dice = random_.below(8);
  // The root has a part in everything: anybody may take its place.
  const bool dethrone = dice == 5 && free_root_ && (random_.next() & 1);
  const uint16_t v = dethrone ? member_[random_.below(count_)] : critical_[random_.below(critical_count_)];
  if (v == editor_.root()) return false;
  if (dice < 4) {
    const uint16_t parent = cheapest_parent(v);
    if (parent == kNobody) return false;
    if (dice == 0 && editor_.first(v) != kNobody) editor_.move_alone(v, parent);
    else editor_.relocate(v, parent);
    return true;
  }
  const uint16_t other = dethrone ? editor_.root() : dice == 4 ? editor_.parent(v) : member_[random_.below(count_)];
  if (other == v || (!free_root_ && other == editor_.root())) return false;
  if (dice < 7) {
    editor_.swap_labels(v, other);
    return true;
  }
  if (other == editor_.root() || editor_.parent(other) == editor_.parent(v) || editor_.below(v, other) || editor_.below(other, v))
    return false;
  editor_.swap_subtrees(v, other);
  return true;
}

void Mender::improve() {
  double now = editor_.value();
  for (uint32_t tried = 0; tried < moves_ && count_ > 2; ++tried) {
    if (critical_count_ == 0) find_ways();
    if (!move()) continue;
    // What makes it worse may be the first half of what makes it better.
    if (editor_.value() > now && (random_.next() & 1)) move();
    const double then = editor_.value();
    if (then > now) {
      editor_.undo();
      continue;
    }
    editor_.keep();
    critical_count_ = 0;
    now = then;
  }
}

double Mender::join(uint16_t v) {
  if (is_member(v)) return value();
  find_ways();
  // The best few by when they would tell v, found by keeping a short sorted list.
  uint16_t parents[kParentsTried] = {};
  double at[kParentsTried];
  uint32_t known = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    const uint16_t p = member_[i];
    const double then = ready_[p] + problem_.edge_of(p, v);
    if (known == kParentsTried && then >= at[known - 1]) continue;
    uint32_t k = known < kParentsTried ? known++ : known - 1;
    for (; k > 0 && at[k - 1] > then; --k) {
      at[k] = at[k - 1];
      parents[k] = parents[k - 1];
    }
    at[k] = then;
    parents[k] = p;
  }
  uint16_t best = parents[0];
  double least = HUGE_VAL;
  for (uint32_t k = 0; k < known; ++k) {
    editor_.insert(v, parents[k]);
    if (editor_.value() < least) {
      least = editor_.value();
      best = parents[k];
    }
    editor_.undo();
  }
  editor_.insert(v, best);
  editor_.keep();
  enter(v);
  critical_count_ = 0;
  improve();
  return value();
}

double Mender::leave(uint16_t v) {
  if (!is_member(v) || count_ == 1) return value();
  const auto succeed = [&](uint16_t successor) {
    if (successor != v) editor_.swap_labels(v, successor);
    editor_.remove(v);
  };
  uint16_t best = kNobody;
  double least = HUGE_VAL;
  const auto consider = [&](uint16_t successor) {
    succeed(successor);
    if (editor_.value() < least) {
      least = editor_.value();
      best = successor;
    }
    editor_.undo();
  };
  if (v != editor_.root()) consider(v);
  if (editor_.first(v) != kNobody) {
    uint32_t tried = 0;
    for (uint16_t c = editor_.first(v); c != kNobody && tried < kSuccessorsTried / 2; c = editor_.next(c), ++tried) consider(c);
    // Anybody may make more of the place: those with no place of their own to lose.
    for (uint32_t draws = 0; draws < 4 * kSuccessorsTried && tried < kSuccessorsTried; ++draws) {
      const uint16_t w = member_[random_.below(count_)];
      if (w == v || editor_.first(w) != kNobody || editor_.parent(w) == v) continue;
      consider(w);
      ++tried;
    }
  }
  succeed(best);
  editor_.keep();
  forget(v);
  critical_count_ = 0;
  improve();
  return value();
}

// ---- bound -------------------------------------------------------------------------------------------------------------------

double Mender::bound() const {
  double highest = 0;
  for (uint32_t i = 0; i < levels_ && count_ > 1; ++i) highest = std::max(highest, bound_of(i));
  return highest * (1 - 1e-6);  // values are sums of rounded numbers, as bound.cc says
}

double Mender::bound_of(uint32_t level) const {
  const uint32_t n = problem_.n;
  const uint16_t* const unit_of = group_ + size_t{level} * n;
  const int root = free_root_ ? -1 : editor_.root();
  std::fill_n(units_, n, Unit{HUGE_VALF, 0, 0});
  float quickest = HUGE_VALF, shortest = HUGE_VALF;
  uint32_t largest = 0, units = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    const uint16_t c = member_[i];
    Unit& unit = units_[unit_of[c]];
    units += unit.members == 0;
    largest = std::max(largest, ++unit.members);
    unit.anyone = c;
    unit.need = std::min(unit.need, way_[size_t{level} * n + c].edge);
    shortest = std::min(shortest, shortest_[size_t{level} * n + c]);
  }
  if (units < 2) return 0;
  const auto told = [&](const Unit& unit) { return unit.members > 0 && (root < 0 || &unit != &units_[unit_of[root]]); };
  for (uint32_t k = 0; k < n; ++k) {
    if (told(units_[k])) quickest = std::min(quickest, units_[k].need);
  }
  for (uint32_t coarse = level + 1, fine = level; coarse < levels_; ++coarse) {
    // Each in the next: where two overlap, one unit may be the one that is told from outside both.
    if (!nested_[fine][coarse]) continue;
    fine = coarse;
    const uint16_t* const part_of = group_ + size_t{coarse} * n;
    std::fill_n(parts_, n, Part{HUGE_VALF, nullptr});
    for (uint32_t i = 0; i < count_; ++i) {
      const uint16_t c = member_[i];
      parts_[part_of[c]].entry = std::min(parts_[part_of[c]].entry, way_[size_t{coarse} * n + c].edge);
    }
    for (uint32_t k = 0; k < n; ++k) {
      Unit& unit = units_[k];
      if (!told(unit) || (root >= 0 && part_of[unit.anyone] == part_of[root])) continue;
      Part& part = parts_[part_of[unit.anyone]];
      if (!part.dearest || unit.need > part.dearest->need) part.dearest = &unit;
    }
    for (uint32_t k = 0; k < n; ++k) {
      if (parts_[k].dearest) parts_[k].dearest->need = std::max(parts_[k].dearest->need, parts_[k].entry);
    }
  }
  uint32_t count = 0;
  for (uint32_t k = 0; k < n; ++k) {
    if (told(units_[k])) numbers_[count++] = units_[k].need;
  }
  std::sort(numbers_, numbers_ + count, std::greater<float>());
  // The unit of a free root need not be told, nor those parts be entered that it lies in: of all numbers that may not count, the largest.
  const float* const number = numbers_ + (root < 0);
  double highest = 0;
  for (uint32_t k = 0, busy = 0, arrived = 0, used = 0; k + 1 < units; ++k) {
    // Every message that begins lets others begin: its sender's next, and the first ones of all who are told by it.
    starts_[k] = k < largest ? 0 : std::min(starts_[busy] + shortest, starts_[arrived] + quickest);
    if (k >= largest) {
      if (starts_[busy] + shortest <= starts_[arrived] + quickest) {
        ++busy;
      } else if (++used == largest) {
        used = 0;
        ++arrived;
      }
    }
    highest = std::max(highest, starts_[k] + number[k]);
  }
  return highest;
}

double Mender::gap() const {
  const double least = bound();
  return least > 0 ? std::max(0.0, value() / least - 1) : 0;
}

}  // namespace smelt
