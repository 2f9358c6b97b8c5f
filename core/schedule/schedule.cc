// Trees and exchanges written out as programs.
#include "schedule/schedule.h"

#include <algorithm>
#include <cerrno>

#include "generate/line_split.h"
#include "generate/release.h"

namespace smelt {

namespace {

constexpr float kMuchLater = 1.2f;  // than the first message of a round: then their order matters

// Appends steps and peers to arrays that were made large enough.
struct Writer {
  Schedule schedule;
  uint32_t steps = 0;
  uint32_t peers = 0;

  int make(uint32_t n, Operation op, uint16_t root, uint32_t max_steps, uint32_t max_peers, Arena& arena) {
    char* const start = arena.mark();
    schedule.n = n;
    schedule.op = op;
    schedule.root = root;
    schedule.begin = arena.make<uint32_t>(n + 1);
    schedule.steps = arena.make<Step>(max_steps);
    schedule.peers = arena.make<uint16_t>(max_peers);
    if (schedule.begin && schedule.steps && schedule.peers) return 0;
    arena.rewind(start);
    return -ENOMEM;
  }

  void open(StepKind kind) { schedule.steps[steps] = Step{kind, false, peers, 0}; }
  void add(uint16_t peer) {
    schedule.peers[peers++] = peer;
    ++schedule.steps[steps].count;
  }
  void close() {  // a step without peers is none
    if (schedule.steps[steps].count > 0) ++steps;
  }

  void with_parent(StepKind kind, const Tree& tree, uint16_t i) {
    open(kind);
    if (i != tree.root) add(tree.parent[i]);
    close();
  }
  void close_line() {
    schedule.steps[steps].shared_line = schedule.steps[steps].count >= 2;
    close();
  }
  // Signals to the children by shared lines, one for those of a group that follow each other.
  void release_groups(const Tree& tree, const uint16_t* group, uint16_t i) {
    for (uint16_t c = tree.first[i]; c != kNobody;) {
      const uint16_t own = group[c];
      for (open(StepKind::kSignal); c != kNobody && group[c] == own; c = tree.next[c]) add(c);
      close_line();
    }
  }
  // ... as few as are best.
  void release_children(const Tree& tree, const Costs& costs, uint16_t i) {
    uint32_t children = 0;
    double busy = 0;
    auto widest = Distance::kSelf;  // between two children
    for (uint16_t c = tree.first[i]; c != kNobody; c = tree.next[c], ++children) {
      busy = std::max<double>(busy, costs.send_busy[costs.at(i, c)]);
      widest = std::max(widest, distance_in(costs, tree.first[i], c));
    }
    const double crossing = double{costs.crossing[static_cast<uint32_t>(widest)]};
    if (crossing > 0 && sides_are_cheaper(tree, costs, widest, busy, crossing, i))
      return release_sides(tree, costs, widest, i);
    const uint32_t lines = release_lines(children, costs.poller, busy);
    uint16_t c = tree.first[i];
    for (uint32_t line = 0; line < lines; ++line) {
      open(StepKind::kSignal);
      // Evenly, the longer ones last: later lines should wait for no more.
      for (uint32_t left = (children - line + lines - 1) / lines; left > 0; --left, c = tree.next[c]) add(c);
      close_line();
    }
  }
  // Children that are nearer to each other than `far` are one side. visit(first) for the first of each.
  static bool together(const Costs& costs, Distance far, uint16_t a, uint16_t b) {
    return a == b || distance_in(costs, a, b) < far;
  }
  template <typename Visit>
  static void for_each_side(const Tree& tree, const Costs& costs, Distance far, uint16_t i, Visit visit) {
    for (uint16_t first = tree.first[i]; first != kNobody; first = tree.next[first]) {
      uint16_t before = tree.first[i];
      while (!together(costs, far, before, first)) before = tree.next[before];
      if (before == first) visit(first);
    }
  }
  // Is a line for each side, that of the parent's own last, read by all before one that crosses?
  static bool sides_are_cheaper(const Tree& tree, const Costs& costs, Distance far, double busy, double crossing,
                                uint16_t i) {
    double before = 0, split = 0, farthest = 0, own = -1;
    for_each_side(tree, costs, far, i, [&](uint16_t first) {
      double hop = 0;
      for (uint16_t c = first; c != kNobody; c = tree.next[c])
        if (together(costs, far, first, c)) hop = std::max<double>(hop, costs.hop[costs.at(i, c)]);
      farthest = std::max(farthest, hop);
      if (together(costs, far, i, first)) {
        own = hop;
      } else {
        split = std::max(split, before + hop);
        before += busy;
      }
    });
    if (own >= 0) split = std::max(split, before + own);
    return split < farthest + crossing;
  }
  void release_sides(const Tree& tree, const Costs& costs, Distance far, uint16_t i) {
    for (const bool own : {false, true})
      for_each_side(tree, costs, far, i, [&](uint16_t first) {
        if (together(costs, far, i, first) != own) return;
        open(StepKind::kSignal);
        for (uint16_t c = first; c != kNobody; c = tree.next[c])
          if (together(costs, far, first, c)) add(c);
        close_line();
      });
  }
  void with_children(StepKind kind, const Tree& tree, uint16_t i) {
    open(kind);
    for (uint16_t c = tree.first[i]; c != kNobody; c = tree.next[c]) add(c);
    close();
  }
};

// Are children told by lines that they share, and by which? There are as few as the costs find best, or they go by
// group.
struct Lines {
  const Costs* costs = nullptr;
  const uint16_t* group = nullptr;
};

// Any of the three operations: gather up one tree, release down another, either of them absent.
int tree_schedule(Operation op, const Tree* gather, const Tree* release, const Lines& lines, Arena& arena,
                  Schedule* out) {
  const Tree& any = gather ? *gather : *release;
  for (const Tree* tree : {gather, release}) {
    if (tree && (!is_spanning(*tree) || tree->n != any.n || tree->root != any.root)) return -EINVAL;
  }
  const uint32_t trees = gather && release ? 2 : 1;
  Writer writer;
  // Per tree a step towards the parent and one towards the children, or one for each child at most; one step more is
  // opened and never closed.
  if (int error = writer.make(any.n, op, any.root, (trees * 2 + 1) * any.n + 1, trees * 2 * any.n, arena)) return error;
  for (uint16_t i = 0; i < any.n; ++i) {
    writer.schedule.begin[i] = writer.steps;
    if (gather) {
      writer.with_children(StepKind::kWait, *gather, i);
      writer.with_parent(StepKind::kSignal, *gather, i);
    }
    if (release) {
      writer.with_parent(StepKind::kWait, *release, i);
      if (lines.group)
        writer.release_groups(*release, lines.group, i);
      else if (lines.costs)
        writer.release_children(*release, *lines.costs, i);
      else
        writer.with_children(StepKind::kSignal, *release, i);
    }
  }
  writer.schedule.begin[any.n] = writer.steps;
  *out = writer.schedule;
  return 0;
}

bool is_well_formed(const Exchange& exchange) {
  if (exchange.n == 0 || exchange.n > kMaxParticipants) return false;
  for (uint32_t m = 0; m < exchange.count; ++m) {
    const RoundMessage& message = exchange.messages[m];
    if (message.from >= exchange.n || message.to >= exchange.n || message.from == message.to) return false;
    if (message.round >= exchange.rounds || (m > 0 && message.round < exchange.messages[m - 1].round)) return false;
  }
  return true;
}

// The messages of an exchange by participant, each list still in round order.
struct ByParticipant {
  uint32_t* begin = nullptr;  // [n + 1]
  uint32_t* list = nullptr;   // [count] indices of messages

  bool make(const Exchange& exchange, uint16_t RoundMessage::*side, Arena& arena) {
    begin = arena.make<uint32_t>(exchange.n + 1);
    list = arena.make<uint32_t>(exchange.count);
    if (!begin || !list) return false;
    // Counting sort: sizes, then ends, then filled from the back, which turns the ends into beginnings.
    for (uint32_t m = 0; m < exchange.count; ++m) ++begin[exchange.messages[m].*side];
    for (uint32_t i = 1; i <= exchange.n; ++i) begin[i] += begin[i - 1];
    for (uint32_t m = exchange.count; m-- > 0;) list[--begin[exchange.messages[m].*side]] = m;
    return true;
  }
};

// visit(list, count) for each round's messages of participant i.
template <typename Visit>
void for_each_round(const Exchange& exchange, const ByParticipant& by, uint32_t i, Visit visit) {
  for (uint32_t at = by.begin[i], end = at; at < by.begin[i + 1]; at = end) {
    const uint16_t round = exchange.messages[by.list[at]].round;
    while (end < by.begin[i + 1] && exchange.messages[by.list[end]].round == round) ++end;
    visit(by.list + at, end - at);
  }
}

// By which lines the messages of a round go, and in which order they are looked for.
struct Lined {
  uint16_t* line = nullptr;   // [count of messages] among those of its sender and round
  float* visible = nullptr;   // [count] since all began the round, if they began it together
  uint16_t* to = nullptr;     // [n] scratch
  uint16_t* by = nullptr;     // [n] scratch
  float* seen = nullptr;      // [n] scratch
  uint32_t* moved = nullptr;  // [n] scratch
  static constexpr uint32_t kTaken = ~0u;

  bool make(const Exchange& exchange, Arena& arena) {
    line = arena.make<uint16_t>(exchange.count);
    visible = arena.make<float>(exchange.count);
    to = arena.make<uint16_t>(exchange.n);
    by = arena.make<uint16_t>(exchange.n);
    seen = arena.make<float>(exchange.n);
    moved = arena.make<uint32_t>(exchange.n);
    return line && visible && to && by && seen && moved;
  }

  // The messages of one sender in one round, into the order in which they are stored.
  void split(const Exchange& exchange, const Costs& costs, uint32_t* list, uint32_t count) {
    for (uint32_t k = 0; k < count; ++k) to[k] = exchange.messages[list[k]].to;
    const bool one = split_lines(costs, exchange.messages[list[0]].from, to, count, by, seen) == 1;
    std::copy_n(list, count, moved);
    for (uint32_t k = 0; k < count; ++k) {
      // Many go by one line, and stay where they are.
      uint32_t at = one && moved[k] != kTaken && exchange.messages[moved[k]].to == to[k] ? k : 0;
      while (moved[at] == kTaken || exchange.messages[moved[at]].to != to[k]) ++at;
      list[k] = moved[at];
      moved[at] = kTaken;
      line[list[k]] = by[k];
      visible[list[k]] = seen[k];
    }
  }

  // The messages for one receiver in one round, into the order in which they come, where some come from another cache
  // and much later.
  void sort(const Exchange& exchange, const Costs& costs, uint32_t* list, uint32_t count) const {
    float first = visible[list[0]], last = first;
    auto widest = Distance::kSelf;
    for (uint32_t k = 0; k < count; ++k) {
      const RoundMessage& message = exchange.messages[list[k]];
      widest = std::max(widest, distance_in(costs, message.from, message.to));
      first = std::min(first, visible[list[k]]);
      last = std::max(last, visible[list[k]]);
    }
    if (widest <= Distance::kSameLlc) return;
    if (last <= kMuchLater * first) return;
    std::copy_n(list, count, moved);
    for (uint32_t k = 0; k < count; ++k) by[k] = static_cast<uint16_t>(k);
    std::sort(by, by + count, [this](uint16_t a, uint16_t b) {
      const float to_a = visible[moved[a]], to_b = visible[moved[b]];
      return to_a != to_b ? to_a < to_b : a < b;
    });
    for (uint32_t k = 0; k < count; ++k) list[k] = moved[by[k]];
  }
};

}  // namespace

const char* operation_name(Operation op) {
  switch (op) {
    case Operation::kBroadcast: return "broadcast";
    case Operation::kReduce: return "reduce";
    case Operation::kBarrier: return "barrier";
  }
  return "?";
}

int broadcast_schedule(const Tree& tree, Arena& arena, Schedule* out) {
  return tree_schedule(Operation::kBroadcast, nullptr, &tree, {}, arena, out);
}

int lined_broadcast_schedule(const Tree& tree, const uint16_t* group, Arena& arena, Schedule* out) {
  return tree_schedule(Operation::kBroadcast, nullptr, &tree, {nullptr, group}, arena, out);
}

int reduce_schedule(const Tree& tree, Arena& arena, Schedule* out) {
  return tree_schedule(Operation::kReduce, &tree, nullptr, {}, arena, out);
}

int barrier_schedule(const Tree& gather, const Tree& release, Arena& arena, Schedule* out) {
  return tree_schedule(Operation::kBarrier, &gather, &release, {}, arena, out);
}

int lined_barrier_schedule(const Tree& gather, const Tree& release, const Costs& costs, Arena& arena, Schedule* out) {
  if (costs.n != release.n) return -EINVAL;
  return tree_schedule(Operation::kBarrier, &gather, &release, {&costs, nullptr}, arena, out);
}

int lined_barrier_schedule(const Tree& gather, const Tree& release, const uint16_t* group, Arena& arena,
                           Schedule* out) {
  return tree_schedule(Operation::kBarrier, &gather, &release, {nullptr, group}, arena, out);
}

int fork_join_schedule(const Tree& gather, const Tree& release, Arena& arena, Schedule* out) {
  if (int error = barrier_schedule(gather, release, arena, out)) return error;
  for (uint32_t s = 0; s < out->begin[out->n]; ++s) {
    Step& step = out->steps[s];
    if (step.kind == StepKind::kSignal) step.shared_line = step.count >= 2;
  }
  return 0;
}

int move_participants(const Schedule& schedule, const uint16_t* place, Arena& arena, Schedule* out) {
  const uint32_t steps = schedule.begin[schedule.n];
  uint32_t peers = 0;
  for (uint32_t s = 0; s < steps; ++s) peers += schedule.steps[s].count;
  char* const start = arena.mark();
  Writer writer;
  const uint16_t root = schedule.root == kNobody ? kNobody : place[schedule.root];
  if (int error = writer.make(schedule.n, schedule.op, root, steps, peers, arena)) return error;
  char* const scratch = arena.mark();
  auto* was = arena.make<uint16_t>(schedule.n);
  if (!was) {
    arena.rewind(start);
    return -ENOMEM;
  }
  for (uint16_t i = 0; i < schedule.n; ++i) was[place[i]] = i;
  for (uint16_t i = 0; i < schedule.n; ++i) {
    writer.schedule.begin[i] = writer.steps;
    for (uint32_t s = schedule.begin[was[i]]; s < schedule.begin[was[i] + 1]; ++s) {
      const Step& step = schedule.steps[s];
      Step moved = step;
      moved.first = writer.peers;
      for (uint32_t k = 0; k < step.count; ++k)
        writer.schedule.peers[writer.peers++] = place[schedule.peers[step.first + k]];
      writer.schedule.steps[writer.steps++] = moved;
    }
  }
  writer.schedule.begin[schedule.n] = writer.steps;
  arena.rewind(scratch);
  *out = writer.schedule;
  return 0;
}

int barrier_schedule(const Exchange& exchange, Arena& arena, Schedule* out, const Costs* costs) {
  if (!is_well_formed(exchange) || (costs && costs->n != exchange.n)) return -EINVAL;
  char* const start = arena.mark();
  // Nobody has more steps than messages, nor, with a line a round, more than two a round.
  const uint64_t by_round = uint64_t{2} * exchange.rounds * exchange.n, by_message = uint64_t{2} * exchange.count;
  const auto max_steps = static_cast<uint32_t>(by_round < by_message && !costs ? by_round : by_message);
  Writer writer;
  if (int error = writer.make(exchange.n, Operation::kBarrier, kNobody, max_steps + 1, 2 * exchange.count, arena)) {
    return error;
  }
  char* const scratch = arena.mark();
  ByParticipant sent, received;
  Lined lined;
  if (!sent.make(exchange, &RoundMessage::from, arena) || !received.make(exchange, &RoundMessage::to, arena) ||
      !lined.make(exchange, arena)) {
    arena.rewind(start);
    return -ENOMEM;
  }
  if (costs) {
    for (uint32_t i = 0; i < exchange.n; ++i)
      for_each_round(exchange, sent, i,
                     [&](uint32_t* list, uint32_t count) { lined.split(exchange, *costs, list, count); });
    for (uint32_t i = 0; i < exchange.n; ++i)
      for_each_round(exchange, received, i,
                     [&](uint32_t* list, uint32_t count) { lined.sort(exchange, *costs, list, count); });
  }
  for (uint32_t i = 0; i < exchange.n; ++i) {
    writer.schedule.begin[i] = writer.steps;
    uint32_t s = sent.begin[i], r = received.begin[i];
    const auto round_of = [&exchange](const ByParticipant& by, uint32_t at, uint32_t participant) {
      return at < by.begin[participant + 1] ? exchange.messages[by.list[at]].round : exchange.rounds;
    };
    for (;;) {  // the next round in which this participant has anything to do
      const uint32_t next_sent = round_of(sent, s, i), next_received = round_of(received, r, i);
      const uint32_t round = next_sent < next_received ? next_sent : next_received;
      if (round == exchange.rounds) break;
      while (round_of(sent, s, i) == round) {
        const uint16_t line = lined.line[sent.list[s]];
        writer.open(StepKind::kSignal);
        while (round_of(sent, s, i) == round && lined.line[sent.list[s]] == line)
          writer.add(exchange.messages[sent.list[s++]].to);
        writer.close_line();
      }
      writer.open(StepKind::kWait);
      while (round_of(received, r, i) == round) writer.add(exchange.messages[received.list[r++]].from);
      writer.close();
    }
  }
  writer.schedule.begin[exchange.n] = writer.steps;
  arena.rewind(scratch);
  *out = writer.schedule;
  return 0;
}

}  // namespace smelt
