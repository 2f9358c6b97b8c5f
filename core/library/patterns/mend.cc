// Mending a tree: incremental change, which the paper leaves to future work (Kaestle et al., OSDI 2016). A program's
// team loses a thread, or a rank is added; a search from the beginning costs a tenth of a second, and it would find
// most of the tree that is there.
//
//   leave   v was a leaf: it goes. Otherwise its children go to its parent, or somebody takes its place and leaves its
//           own children to its parent: v's first children and some leaves are tried, and for a root that is the only
//           way.
//   join    v is told last by the member for which that is soonest; the few that promise most are tried.
//   both    then some moves, of which those stay that make the tree no worse: hill climbing on the critical path, whose
//           members are the only ones that can shorten it. Most candidates are aimed: v goes where it would be told the
//           soonest. A move that changes nothing stays as well, so that the tree does not get stuck on a plateau. When
//           one makes it worse, a second one may be tried on top before both are taken back.
#include "library/patterns/mend.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

namespace smelt {

namespace {

constexpr uint32_t kParentsTried = 4;     // of a joiner
constexpr uint32_t kSuccessorsTried = 8;  // of a leaver
constexpr uint32_t kEditsAtOnce = 2;      // between two keep()s: a swap, and a removal

}  // namespace

int Mender::make(const TreeProblem& problem, bool free_root, Arena& arena, uint32_t moves) {
  const uint32_t n = problem.n;
  char* const start = arena.mark();
  problem_ = problem;
  free_root_ = free_root;
  moves_ = moves;
  random_ = SplitMix64(n);
  critical_ = arena.make<uint16_t>(n);
  ready_ = arena.make<double>(n);
  walk_ = arena.make<uint16_t>(n);
  int error = critical_ && ready_ && walk_ ? 0 : -ENOMEM;
  if (error == 0) error = make_tree(n, 0, arena, &tree_);
  if (error == 0) error = editor_.make(problem, arena, kEditsAtOnce);
  if (error == 0) error = members_.make(problem, arena);
  if (error != 0) arena.rewind(start);
  return error;
}

void Mender::load(const Tree& tree, const uint16_t* members) {
  const uint32_t n = problem_.n;
  for (uint16_t* links : {tree_.parent, tree_.first, tree_.next, tree_.last}) std::fill_n(links, n, kNobody);
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
  critical_count_ = 0;
  members_.clear();
  for (uint32_t i = 0; i < tree.n; ++i) members_.enter(members[i]);
}

void Mender::store(Tree& tree, uint16_t* members) const {
  uint32_t next = 0;
  uint16_t* const number = walk_;
  for (uint32_t v = 0; v < problem_.n; ++v) {
    number[v] = static_cast<uint16_t>(next);
    if (members_.has(static_cast<uint16_t>(v))) members[next++] = static_cast<uint16_t>(v);
  }
  const auto name = [number](uint16_t v) { return v == kNobody ? kNobody : number[v]; };
  for (uint32_t i = 0; i < count(); ++i) {
    const uint16_t v = members[i];
    tree.parent[i] = name(editor_.parent(v));
    tree.first[i] = name(editor_.first(v));
    tree.last[i] = name(editor_.last(v));
    tree.next[i] = v == editor_.root() ? kNobody : name(editor_.next(v));
  }
  tree.root = number[editor_.root()];
}

// ---- change -------------------------------------------------------------------------------------------------------

// The critical members, and the time from which each member has time for one more child.
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

// Where a member would be told the soonest as a last child: below its parent it is already, and below itself it cannot
// be.
uint16_t Mender::cheapest_parent(uint16_t v) const {
  uint16_t best = kNobody;
  double soonest = HUGE_VAL;
  for (uint32_t i = 0; i < count(); ++i) {
    const uint16_t p = members_.member(i);
    const double at = ready_[p] + problem_.edge_of(p, v);
    if (at >= soonest || p == editor_.parent(v) || editor_.below(v, p)) continue;
    soonest = at;
    best = p;
  }
  return best;
}

// One edit, if the drawn one makes sense.
bool Mender::move() {
  const uint32_t dice = random_.below(8);
  // The root has a part in everything: anybody may take its place.
  const bool dethrone = dice == 5 && free_root_ && (random_.next() & 1);
  const uint16_t v = dethrone ? members_.member(random_.below(count())) : critical_[random_.below(critical_count_)];
  if (v == editor_.root()) return false;
  if (dice < 4) {
    const uint16_t parent = cheapest_parent(v);
    if (parent == kNobody) return false;
    if (dice == 0 && editor_.first(v) != kNobody)
      editor_.move_alone(v, parent);
    else
      editor_.relocate(v, parent);
    return true;
  }
  const uint16_t other = dethrone    ? editor_.root()
                         : dice == 4 ? editor_.parent(v)
                                     : members_.member(random_.below(count()));
  if (other == v || (!free_root_ && other == editor_.root())) return false;
  if (dice < 7) {
    editor_.swap_labels(v, other);
    return true;
  }
  if (other == editor_.root() || editor_.parent(other) == editor_.parent(v) || editor_.below(v, other) ||
      editor_.below(other, v))
    return false;
  editor_.swap_subtrees(v, other);
  return true;
}

void Mender::improve() {
  double now = editor_.value();
  for (uint32_t tried = 0; tried < moves_ && count() > 2; ++tried) {
    if (critical_count_ == 0) find_ways();
    if (!move()) continue;
    // A move that makes it worse may be the first half of an improvement.
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
  for (uint32_t i = 0; i < count(); ++i) {
    const uint16_t p = members_.member(i);
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
  members_.enter(v);
  critical_count_ = 0;
  improve();
  return value();
}

double Mender::leave(uint16_t v) {
  if (!is_member(v) || count() == 1) return value();
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
    for (uint16_t c = editor_.first(v); c != kNobody && tried < kSuccessorsTried / 2; c = editor_.next(c), ++tried)
      consider(c);
    // Anybody may make more of the place: those with no place of their own to lose.
    for (uint32_t draws = 0; draws < 4 * kSuccessorsTried && tried < kSuccessorsTried; ++draws) {
      const uint16_t w = members_.member(random_.below(count()));
      if (w == v || editor_.first(w) != kNobody || editor_.parent(w) == v) continue;
      consider(w);
      ++tried;
    }
  }
  succeed(best);
  editor_.keep();
  members_.forget(v);
  critical_count_ = 0;
  improve();
  return value();
}

double Mender::bound() const { return members_.bound(free_root_ ? -1 : editor_.root()); }

double Mender::gap() const {
  const double least = bound();
  return least > 0 ? std::max(0.0, value() / least - 1) : 0;
}

}  // namespace smelt
