// Near-optimal trees: greedy starts, then simulated annealing.
//
//   1. Candidates: the trees handed in, and greedy ones (greedy.cc) from one root or, where the root is free, from six
//      that send cheaply, with several weights. Their children are put into the best order and the best candidates are
//      remembered.
//   2. Annealing (Kirkpatrick, Gelatt, Vecchi: Optimization by simulated annealing, Science 220, 1983), several runs
//      from different candidates. An edit is made; if it raises the value of the tree by more than the temperature
//      times an exponential variate, it is taken back. That is Metropolis's rule with the variate drawn first. The
//      temperature falls in equal ratios, stage by stage.
//   3. The best tree ever seen is the result. It is never above a candidate.
//
// The value of a tree is that of its slowest path, so most random edits change nothing that counts, and of those that
// do most are for the worse. Half of the edits therefore start from somebody on the critical path or served before it,
// whom one has to move to gain anything; the other half keep the rest of the tree in motion, which costs nothing while
// it has slack.
//
//   edit            why
//   relocate        a subtree goes to another parent: near by (of the same group of some level, levels.h), along its
//                   own line (an uncle, a brother), or anywhere
//   swap labels     two participants change places: a better sender comes where much is sent. Parent and child are one
//                   case
//   swap subtrees   two parents change loads
//   move alone      one participant leaves its children to its parent and becomes a leaf elsewhere
#include "generate/optimise.h"

#include <algorithm>
#include <cerrno>

#include "base/os/os.h"
#include "generate/greedy.h"
#include "generate/random.h"
#include "generate/tree_editor.h"

namespace smelt {

namespace {

constexpr uint32_t kRoots = 6;            // that greedy construction tries when the root is free
constexpr uint32_t kRootsPerCluster = 2;  // first, so that not all are of one cluster
constexpr GreedyWeights kWeights[] = {{1, 1}, {0, 0}, {1, 0.5f}, {1, 0}};
constexpr uint32_t kKept = 4;     // candidates that annealing may start from
constexpr uint32_t kRuns = 8;     // of annealing; they share the moves and the time
constexpr uint32_t kStages = 60;  // of falling temperature in a run
// Temperature of the first stage as a share of the start's value, run by run. In a small tree one edge is a large part
// of the value.
constexpr double kHottestSmall[] = {0.1, 0.25, 0.03, 0.15}, kHottestLarge[] = {0.02, 0.04, 0.03, 0.015};
constexpr uint32_t kSmall = 24;              // participants, up to which the first list of heats is taken
constexpr uint32_t kLongRun = 400;           // moves per participant that the heat above is for
constexpr double kCooling = 0.905;           // from stage to stage: 0.905^60 = 1/400
constexpr uint32_t kMovesBetweenLooks = 64;  // at the clock: it takes as long as a tenth of a move or so

// ---- 1. candidates ------------------------------------------------------------------------------------------------

// The best few trees so far, by falling merit; tree[0] is the best.
struct Candidates {
  const TreeProblem& problem;
  double* scratch;            // [2 n]
  uint16_t* order;            // [2 n]
  Tree tree[kKept + 1] = {};  // one more than kept: the one being built
  double value[kKept + 1] = {};
  uint32_t count = 0;

  Tree& building() { return tree[count]; }

  // Values the tree in building() and keeps it if it is among the best and new.
  void consider() {
    double now = sort_and_value(problem, tree[count], scratch, order);
    uint32_t at = count;
    for (uint32_t i = 0; i < count; ++i) {
      if (value[i] == now && tree[i].root == tree[count].root) return;  // most likely the same tree
    }
    while (at > 0 && value[at - 1] > now) --at;
    for (uint32_t i = count; i > at; --i) {
      std::swap(tree[i], tree[i - 1]);
      std::swap(value[i], value[i - 1]);
    }
    value[at] = now;
    if (count < kKept) ++count;
  }
};

// The senders with the lowest mean edge, not too many of one cluster.
uint32_t cheap_senders(const TreeProblem& problem, const uint16_t* cluster, double* mean, uint16_t* by_mean,
                       uint16_t* out) {
  const uint32_t n = problem.n;
  for (uint32_t v = 0; v < n; ++v) {
    by_mean[v] = static_cast<uint16_t>(v);
    mean[v] = 0;
    for (uint32_t c = 0; c < n; ++c) mean[v] += c == v ? 0 : problem.edge_of(v, c);
  }
  std::sort(by_mean, by_mean + n,
            [mean](uint16_t a, uint16_t b) { return mean[a] != mean[b] ? mean[a] < mean[b] : a < b; });
  uint32_t count = 0;
  for (uint32_t per_cluster : {kRootsPerCluster, kRoots}) {
    for (uint32_t i = 0; i < n && count < kRoots; ++i) {
      const uint16_t v = by_mean[i];
      uint32_t alike = 0;
      bool in = false;
      for (uint32_t k = 0; k < count; ++k) {
        in |= out[k] == v;
        alike += cluster[out[k]] == cluster[v];
      }
      if (!in && alike < per_cluster) out[count++] = v;
    }
  }
  return count;
}

int collect(Candidates& candidates, const Levels& levels, const GroupNeeds& needs, int root,
            const OptimiseSettings& settings, const uint16_t* roots, uint32_t root_count, Arena& arena) {
  for (const Tree* start : settings.starts) {
    if (start->n != candidates.problem.n || (root >= 0 && start->root != root)) continue;
    copy_tree(*start, candidates.building());
    candidates.consider();
  }
  for (const GreedyWeights& weights : kWeights) {
    for (uint32_t k = 0; k < root_count; ++k) {
      if (candidates.count > 0 && settings.limits.exceeded()) return 0;
      if (int error = greedy_tree(candidates.problem, levels, needs, roots[k], weights, arena, &candidates.building()))
        return error;
      candidates.consider();
    }
    // One round says which root is best; the other weights are tried from there only.
    if (root < 0) {
      roots = &candidates.tree[0].root;
      root_count = 1;
    }
  }
  return 0;
}

// ---- 2. annealing -------------------------------------------------------------------------------------------------

struct Annealing {
  const TreeProblem& problem;
  const OptimiseSettings& settings;
  bool free_root;
  TreeEditor editor;
  const Levels& levels;
  uint16_t* member;    // [levels][n] participants by group
  uint16_t* begin;     // [levels][n + 1] of a group in `member`
  uint16_t* critical;  // [n] of the tree as it stands, if critical_count is not 0
  uint32_t critical_count = 0;
  Tree best;  // its arrays are the result's
  double best_value = 0;
  SplitMix64 random{0};

  uint16_t anybody() { return static_cast<uint16_t>(random.below(problem.n)); }

  void list_groups() {
    const uint32_t n = problem.n;
    for (uint32_t i = 0; i < levels.count; ++i)
      list_members(levels.level[i], n, member + size_t{i} * n, begin + size_t{i} * (n + 1));
  }

  // Somebody of v's group, of any level but the finest.
  uint16_t near(uint16_t v) {
    const uint32_t i = 1 + random.below(levels.count - 1);
    const uint16_t* const first = begin + i * (problem.n + 1) + levels.level[i].of[v];
    return member[i * problem.n + first[0] + random.below(static_cast<uint32_t>(first[1] - first[0]))];
  }

  // Somebody to start an edit from; never the root.
  uint16_t somebody() {
    if (random.next() & 1) {
      if (critical_count == 0) critical_count = editor.critical(critical);
      return critical[random.below(critical_count)];
    }
    for (;;) {
      const uint16_t v = anybody();
      if (v != editor.root()) return v;
    }
  }

  // One edit, if the drawn one makes sense.
  bool edit() {
    const uint16_t v = somebody();
    const uint32_t dice = random.below(16);
    const uint32_t where = random.below(8);
    uint16_t other;
    if (where < 4) {
      other = near(v);
    } else if (where < 5) {
      other = anybody();
    } else if (where == 5) {
      other = near(editor.parent(v));
    } else {  // along its own line
      const uint16_t above = editor.parent(v);
      const uint16_t grand = editor.parent(above);
      uint16_t from = (random.next() & 1) && grand != kNobody ? grand : above;
      other = editor.first(from);
      for (uint32_t steps = random.below(4); steps > 0 && editor.next(other) != kNobody; --steps)
        other = editor.next(other);
      if (from == grand && random.below(3) == 0) other = grand;
    }
    if (other == v) return false;
    if (dice < 8) {
      if (other == editor.parent(v) || editor.below(v, other)) return false;
      editor.relocate(v, other);
    } else if (dice < 12) {
      if (!free_root && other == editor.root()) return false;
      editor.swap_labels(v, other);
    } else if (dice < 13) {
      const uint16_t above = editor.parent(v);
      if (!free_root && above == editor.root()) return false;
      editor.swap_labels(v, above);
    } else if (dice < 15) {
      if (editor.parent(other) == editor.parent(v) || editor.below(v, other) || editor.below(other, v)) return false;
      editor.swap_subtrees(v, other);
    } else {
      if (editor.first(v) == kNobody) return false;
      editor.move_alone(v, other);
    }
    return true;
  }

  // One run. Ends early when the tree is good enough.
  void run(const Tree& start, double hottest, uint32_t moves, int64_t begin_ns, int64_t end_ns) {
    editor.load(start);
    critical_count = 0;
    double now = editor.value();
    double temperature = hottest * now;
    uint32_t done = 0;
    for (uint32_t stage = 1; stage <= kStages; ++stage, temperature *= kCooling) {
      // A stage ends with its share of the moves or of the time, whichever comes first.
      const auto until = static_cast<uint32_t>(uint64_t{moves} * stage / kStages);
      const int64_t until_ns = begin_ns + (end_ns - begin_ns) * stage / kStages;
      for (; done < until; ++done) {
        if (done % kMovesBetweenLooks == 0) {
          if (settings.limits.exceeded()) return;
          if (end_ns != 0 && os::now_ns() >= until_ns) break;
        }
        if (!edit()) continue;
        const double then = editor.value();
        if (then > now + temperature * random.exponential()) {
          editor.undo();
          continue;
        }
        editor.keep();
        critical_count = 0;
        now = then;
        if (now >= best_value) continue;
        best_value = now;
        editor.store(best);
      }
    }
  }
};

}  // namespace

// A move takes the longer the larger the tree.
uint32_t default_moves(uint32_t n) { return std::min(240000u, 40'000'000u / n); }

int optimise_tree(const TreeProblem& problem, int root, const OptimiseSettings& settings, Arena& arena, Tree* out,
                  double* value) {
  const uint32_t n = problem.n;
  if (n == 0 || n > kMaxParticipants || root < -1 || root >= static_cast<int>(n)) return -EINVAL;
  char* const start = arena.mark();
  Tree result;
  if (int error = make_tree(n, static_cast<uint16_t>(std::max(root, 0)), arena, &result)) return error;
  char* const scratch = arena.mark();
  auto* member = arena.make<uint16_t>(size_t{kMostLevels} * n);
  auto* begin = arena.make<uint16_t>(size_t{kMostLevels} * (n + 1));
  auto* critical = arena.make<uint16_t>(n);
  Candidates candidates{problem, arena.make<double>(2 * n), arena.make<uint16_t>(2 * n)};
  int error = member && begin && critical && candidates.scratch && candidates.order ? 0 : -ENOMEM;
  for (Tree& tree : candidates.tree) {
    if (error == 0) error = make_tree(n, 0, arena, &tree);
  }
  Levels levels;
  GroupNeeds needs;
  if (error == 0) error = find_levels(problem, arena, &levels);
  if (error == 0) error = study_groups(problem, levels, arena, &needs);
  Annealing annealing{problem, settings, root < 0, {},     levels, member,
                      begin,   critical, 0,        result, 0,      SplitMix64(settings.seed)};
  if (error == 0) error = annealing.editor.make(problem, arena);
  if (error == 0) {
    uint16_t roots[kRoots] = {static_cast<uint16_t>(std::max(root, 0))};
    const uint32_t root_count =
        root < 0 ? cheap_senders(problem, levels.clusters().of, candidates.scratch, candidates.order, roots) : 1;
    annealing.list_groups();
    error = collect(candidates, levels, needs, root, settings, roots, root_count, arena);
  }
  if (error != 0) {
    arena.rewind(start);
    return error;
  }
  Tree& best = annealing.best;
  copy_tree(candidates.tree[0], best);
  annealing.best_value = candidates.value[0];

  const uint32_t moves = settings.moves == kDefaultMoves ? default_moves(n) : settings.moves;
  // Two participants have one tree for each root, and greedy construction has tried both.
  for (uint32_t k = 0; k < kRuns && n > 2; ++k) {
    if (settings.limits.exceeded()) break;
    const int64_t now = settings.limits.deadline_ns ? os::now_ns() : 0;
    const int64_t end = now ? now + (settings.limits.deadline_ns - now) / (kRuns - k) : 0;
    annealing.random = SplitMix64(settings.seed + k * 0x632be59bd9b4e019u);
    // The last run goes on from the best of all.
    const bool last = k + 1 == kRuns;
    copy_tree(last ? best : candidates.tree[k % candidates.count], candidates.tree[kKept]);
    // A run that is short for its tree has no time to repair what great heat breaks.
    const double* const heats = n <= kSmall ? kHottestSmall : kHottestLarge;
    const double hottest = heats[k % 4];
    const double length = static_cast<double>(moves / kRuns) / (kLongRun * n);
    annealing.run(candidates.tree[kKept], hottest * std::min(1.0, length), moves / kRuns, now, end);
  }
  *value = sort_and_value(problem, best, candidates.scratch, candidates.order);
  *out = best;
  arena.rewind(scratch);
  return 0;
}

}  // namespace smelt
