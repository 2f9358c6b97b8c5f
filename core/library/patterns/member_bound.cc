// A lower bound for a changing set. That of a larger set is none for a smaller one: a leaver may have been the detour
// that others went by, or the one it was dear to reach. So only this is kept for each member and each level of groups
// (levels.h): the cheapest edge that comes from another group, and its sender. A leave looks anew for the members that
// lose theirs, a join compares once with each. From that, for each level, its groups being units that are told when one
// of theirs is told from outside:
//   1. Say that all messages between units arrive as soon as the quickest, and keep their sender as short as the
//      shortest; and that a unit that is told can send with as many members as the largest unit has. Then the k-th
//      message begins at F(k) at the earliest (the postal model; Bar-Noy, Kipnis, SPAA 1992, with several senders at a
//      place).
//   2. The message that tells a unit takes the cheapest edge into it at least. Of the units of one group of a coarser
//      level, which is not the root's, one is told from outside that group; no choice of it leaves smaller numbers than
//      that of the unit with the largest. So there is one number for each unit but the root's.
//   3. The k-th message to begin does so at F(k) or later; so however messages and units are matched, some unit is told
//      at the maximum over k of F(k) + the k-th largest number, or later: the longest way has to begin first.
#include "library/patterns/member_bound.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <functional>

namespace smelt {

namespace {

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

int MemberBound::make(const TreeProblem& problem, Arena& arena) {
  const uint32_t n = problem.n;
  char* const start = arena.mark();
  problem_ = problem;
  member_ = arena.make<uint16_t>(n);
  place_ = arena.make<uint16_t>(n);
  group_ = arena.make<uint16_t>(size_t{kMostLevels} * n);
  way_ = arena.make<Nearest>(size_t{kMostLevels} * n);
  shortest_ = arena.make<float>(size_t{kMostLevels} * n);
  numbers_ = arena.make<float>(n);
  units_ = arena.make<Unit>(n);
  parts_ = arena.make<Part>(n);
  starts_ = arena.make<double>(n);
  int error = member_ && place_ && group_ && way_ && shortest_ && numbers_ && units_ && parts_ && starts_ ? 0 : -ENOMEM;
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
    for (uint32_t j = i + 1; j < levels_; ++j) nested_[i][j] = is_nested(n, levels.level[i], levels.level[j], member_);
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
  clear();
  return 0;
}

void MemberBound::clear() {
  count_ = 0;
  std::fill_n(place_, problem_.n, kNobody);
}

void MemberBound::notice(uint16_t v, uint16_t c) {
  const float edge = problem_.edge_of(v, c);
  for (uint32_t i = 0; i < levels_; ++i) {
    const size_t at = size_t{i} * problem_.n;
    if (edge < way_[at + c].edge && group_[at + v] != group_[at + c]) way_[at + c] = {edge, v};
  }
}

void MemberBound::look_around(uint16_t c) {
  for (uint32_t i = 0; i < levels_; ++i) way_[size_t{i} * problem_.n + c] = {HUGE_VALF, kNobody};
  for (uint32_t i = 0; i < count_; ++i) {
    if (member_[i] != c) notice(member_[i], c);
  }
}

void MemberBound::enter(uint16_t v) {
  look_around(v);
  for (uint32_t i = 0; i < count_; ++i) notice(v, member_[i]);
  place_[v] = static_cast<uint16_t>(count_);
  member_[count_++] = v;
}

void MemberBound::forget(uint16_t v) {
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

double MemberBound::bound(int root) const {
  double highest = 0;
  for (uint32_t i = 0; i < levels_ && count_ > 1; ++i) highest = std::max(highest, bound_of(i, root));
  return highest * (1 - 1e-6);  // values are sums of rounded numbers, as bound.cc says
}

double MemberBound::bound_of(uint32_t level, int root) const {
  const uint32_t n = problem_.n;
  const uint16_t* const unit_of = group_ + size_t{level} * n;
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
  // The unit of a free root need not be told, nor those parts be entered that it lies in: of all numbers that may not
  // count, the largest.
  const float* const number = numbers_ + (root < 0);
  double highest = 0;
  for (uint32_t k = 0, busy = 0, arrived = 0, used = 0; k + 1 < units; ++k) {
    // Every message that begins lets others begin: its sender's next, and the first ones of all members that it tells.
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

}  // namespace smelt
