#include "generate/tree_editor.h"

#include <algorithm>
#include <cerrno>

namespace smelt {

namespace {

// Does a stand before b in a list of siblings? It works as in sort_and_value.
bool precedes(double tail_a, uint16_t a, double tail_b, uint16_t b) {
  return tail_a != tail_b ? tail_a > tail_b : a < b;
}

// The longest edit, swap_labels: the children of two unlinked and linked (2 n), the two themselves and a root, and two
// ways up to the root with a value and a new place in the list (3 entries) each.
constexpr uint32_t kLogPerNode = 8;
constexpr uint32_t kLogExtra = 16;

}  // namespace

int TreeEditor::make(const TreeProblem& problem, Arena& arena, uint32_t edits) {
  char* const start = arena.mark();
  problem_ = problem;
  nodes_ = arena.make<Node>(problem.n);
  log_ = arena.make<Entry>(size_t{edits} * (kLogPerNode * problem.n + kLogExtra));
  if (nodes_ && log_) return 0;
  arena.rewind(start);
  return -ENOMEM;
}

// ---- lists --------------------------------------------------------------------------------------------------------

void TreeEditor::attach(uint16_t v, uint16_t parent, uint16_t previous) {
  Node& node = nodes_[v];
  Node& above = nodes_[parent];
  node.parent = parent;
  node.previous = previous;
  node.next = previous == kNobody ? above.first : nodes_[previous].next;
  (previous == kNobody ? above.first : nodes_[previous].next) = v;
  (node.next == kNobody ? above.last : nodes_[node.next].previous) = v;
}

void TreeEditor::detach(uint16_t v) {
  Node& node = nodes_[v];
  Node& above = nodes_[node.parent];
  (node.previous == kNobody ? above.first : nodes_[node.previous].next) = node.next;
  (node.next == kNobody ? above.last : nodes_[node.next].previous) = node.previous;
  node.parent = kNobody;
}

void TreeEditor::unlink(uint16_t v) {
  const Node& node = nodes_[v];
  record({Entry::kUnlinked, v, node.parent, node.previous, node.busy, node.tail});
  detach(v);
}

// Searched from the end: children that come over from another list come in about the right order, and small subtrees,
// which stand at the end, move the most.
void TreeEditor::link(uint16_t v, uint16_t parent) {
  Node& node = nodes_[v];
  node.busy = problem_.busy_of(parent, v);
  node.tail = problem_.edge_of(parent, v) - node.busy + node.value;
  uint16_t previous = nodes_[parent].last;
  while (previous != kNobody && !precedes(nodes_[previous].tail, previous, node.tail, v))
    previous = nodes_[previous].previous;
  attach(v, parent, previous);
  record({Entry::kLinked, v, 0, 0, 0, 0});
}

// Settles the new tail after a new value, and the place that goes with it. Most stay where they are or move by one.
void TreeEditor::settle(uint16_t v) {
  Node& node = nodes_[v];
  const uint16_t parent = node.parent;
  const double tail = problem_.edge_of(parent, v) - node.busy + node.value;
  uint16_t previous = node.previous, next = node.next;
  while (previous != kNobody && !precedes(nodes_[previous].tail, previous, tail, v))
    previous = nodes_[previous].previous;
  if (previous == node.previous) {
    while (next != kNobody && precedes(nodes_[next].tail, next, tail, v)) {
      previous = next;
      next = nodes_[next].next;
    }
  }
  if (previous == node.previous) {
    record({Entry::kTailed, v, 0, 0, 0, node.tail});
    node.tail = tail;
    return;
  }
  unlink(v);
  node.tail = tail;
  attach(v, parent, previous);
  record({Entry::kLinked, v, 0, 0, 0, 0});
}

void TreeEditor::set_value(uint16_t v, double value) {
  record({Entry::kValued, v, 0, 0, 0, nodes_[v].value});
  nodes_[v].value = value;
}

void TreeEditor::set_root(uint16_t v) {
  record({Entry::kRooted, root_, 0, 0, 0, 0});
  root_ = v;
  nodes_[v].parent = kNobody;
}

void TreeEditor::undo() {
  while (log_count_ > 0) {
    const Entry& entry = log_[--log_count_];
    Node& node = nodes_[entry.node];
    switch (entry.kind) {
      case Entry::kLinked: detach(entry.node); break;
      case Entry::kUnlinked:
        node.busy = entry.busy;
        node.tail = entry.number;
        attach(entry.node, entry.parent, entry.previous);
        break;
      case Entry::kTailed: node.tail = entry.number; break;
      case Entry::kValued: node.value = entry.number; break;
      case Entry::kRooted: root_ = entry.node; break;
    }
  }
}

// ---- values -------------------------------------------------------------------------------------------------------

double TreeEditor::evaluate(uint16_t v) const {
  double sent = 0, value = 0;
  for (uint16_t c = nodes_[v].first; c != kNobody; c = nodes_[c].next) {
    sent += nodes_[c].busy;
    value = std::max(value, sent + nodes_[c].tail);
  }
  return value;
}

void TreeEditor::refresh(uint16_t v) {
  while (v != kNobody) {
    const double value = evaluate(v);
    if (value == nodes_[v].value) return;
    set_value(v, value);
    const uint16_t parent = nodes_[v].parent;
    if (parent != kNobody) settle(v);
    v = parent;
  }
}

uint32_t TreeEditor::critical(uint16_t* out) const {
  uint32_t count = 0;
  for (uint16_t v = root_; nodes_[v].first != kNobody;) {
    double sent = 0;
    uint32_t until = count, at = count;
    for (uint16_t c = nodes_[v].first; c != kNobody; c = nodes_[c].next) {
      out[at++] = c;
      sent += nodes_[c].busy;
      if (until == count && sent + nodes_[c].tail == nodes_[v].value) until = at;
    }
    if (until == count) until = at;  // not reached: one of the sums is the value
    count = until;
    v = out[count - 1];
  }
  return count;
}

bool TreeEditor::below(uint16_t top, uint16_t v) const {
  while (v != kNobody && v != top) v = nodes_[v].parent;
  return v == top;
}

// ---- edits --------------------------------------------------------------------------------------------------------

void TreeEditor::relocate(uint16_t v, uint16_t parent) {
  const uint16_t before = nodes_[v].parent;
  unlink(v);
  link(v, parent);
  refresh(before);
  refresh(parent);
}

// All children, in their order.
void TreeEditor::hand_over(uint16_t from, uint16_t to) {
  while (nodes_[from].first != kNobody) {
    const uint16_t c = nodes_[from].first;
    unlink(c);
    link(c, to);
  }
}

// Both lists have to change owners at once: b's wait apart while a's come over.
void TreeEditor::swap_children(uint16_t a, uint16_t b) {
  uint16_t apart = kNobody;
  while (nodes_[b].last != kNobody) {
    const uint16_t c = nodes_[b].last;
    unlink(c);
    nodes_[c].next = apart;
    apart = c;
  }
  hand_over(a, b);
  while (apart != kNobody) {
    const uint16_t c = apart;
    apart = nodes_[c].next;
    link(c, a);
  }
}

void TreeEditor::swap_labels(uint16_t a, uint16_t b) {
  if (nodes_[a].parent == b) std::swap(a, b);  // from here on, if one is the other's child, it is b
  const uint16_t above_a = nodes_[a].parent, above_b = nodes_[b].parent;
  if (above_b != kNobody) unlink(b);
  if (above_a != kNobody) unlink(a);
  swap_children(a, b);
  const auto place = [this](uint16_t v, uint16_t parent) {
    set_value(v, evaluate(v));
    if (parent == kNobody)
      set_root(v);
    else
      link(v, parent);
  };
  place(a, above_b == a ? b : above_b);
  place(b, above_a);
  if (above_a != kNobody) refresh(above_a);
  if (above_b != kNobody && above_b != a) refresh(above_b);
}

void TreeEditor::swap_subtrees(uint16_t a, uint16_t b) {
  const uint16_t above_a = nodes_[a].parent, above_b = nodes_[b].parent;
  unlink(a);
  unlink(b);
  link(a, above_b);
  link(b, above_a);
  refresh(above_a);
  refresh(above_b);
}

void TreeEditor::remove(uint16_t v) {
  const uint16_t before = nodes_[v].parent;
  unlink(v);
  hand_over(v, before);
  refresh(before);
}

void TreeEditor::insert(uint16_t v, uint16_t parent) {
  set_value(v, 0);
  link(v, parent);
  refresh(parent);
}

void TreeEditor::move_alone(uint16_t v, uint16_t parent) {
  remove(v);
  insert(v, parent);
}

// ---- from and to trees --------------------------------------------------------------------------------------------

void TreeEditor::load(const Tree& tree) {
  log_count_ = 0;
  root_ = tree.root;
  for (uint32_t v = 0; v < problem_.n; ++v) nodes_[v] = Node{0, 0, 0, kNobody, kNobody, kNobody, kNobody, kNobody};
  // Depth first along the tree's own links, a list being built when all its future members have their values.
  for (uint16_t v = root_;;) {
    while (tree.first[v] != kNobody) v = tree.first[v];
    for (;;) {
      nodes_[v].value = evaluate(v);
      if (v == root_) return;
      link(v, tree.parent[v]);
      log_count_ = 0;
      if (tree.next[v] != kNobody) break;
      v = tree.parent[v];
    }
    v = tree.next[v];
  }
}

void TreeEditor::store(Tree& tree) const {
  tree.root = root_;
  for (uint32_t v = 0; v < problem_.n; ++v) {
    const Node& node = nodes_[v];
    tree.parent[v] = node.parent;
    tree.first[v] = node.first;
    tree.last[v] = node.last;
    tree.next[v] = node.parent == kNobody ? kNobody : node.next;
  }
}

}  // namespace smelt
