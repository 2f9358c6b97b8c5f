// A tree under change: every edit re-values only what it touches, and can be taken back.
//
// The siblings of a list stand by falling tail, so their order is the best one at all times (problem.h), and value(v)
// follows from one walk over v's children. After an edit the values of the changed places and of their ancestors are
// computed anew, upwards, and only until one comes out as it was: a change away from the critical path seldom gets far.
//
// Taking back costs as much as the edit and computes nothing: every link, unlink and new value is written to a log, and
// undo() plays it backwards (Knuth's dancing links: an element that is taken out still knows its neighbours). So values
// never drift: a tree has the same value, to the bit, no matter which edits were tried in between, and it is that of
// sort_and_value().
#pragma once

#include "generate/problem.h"

namespace smelt {

class TreeEditor {
 public:
  // Room for the problem, and to take back so many edits at once; load() comes next. 0 or -ENOMEM.
  int make(const TreeProblem& problem, Arena& arena, uint32_t edits = 1);
  void load(const Tree& tree);   // participants that the root does not reach are no members, and take no part in what
                                 // follows
  void store(Tree& tree) const;  // a made tree of the same n

  double value() const { return nodes_[root_].value; }
  double value(uint16_t v) const { return nodes_[v].value; }
  uint16_t root() const { return root_; }
  uint16_t parent(uint16_t v) const { return nodes_[v].parent; }
  uint16_t first(uint16_t v) const { return nodes_[v].first; }
  uint16_t next(uint16_t v) const { return nodes_[v].next; }
  uint16_t last(uint16_t v) const { return nodes_[v].last; }
  bool below(uint16_t top, uint16_t v) const;  // v in the subtree of top
  // The participants that have a part in value(), into `out` (room for n): on the path that takes the longest, every
  // participant that one of the path serves before its next or as its next, from the top down. Returns how many; the
  // root is not among them.
  uint32_t critical(uint16_t* out) const;

  // Edits. Their conditions are the caller's duty.
  void relocate(uint16_t v, uint16_t parent);  // v is not the root, parent is not below v
  void swap_labels(uint16_t a, uint16_t b);    // a != b: they change places, roots among them
  void swap_subtrees(uint16_t a, uint16_t b);  // neither below the other
  void remove(uint16_t v);                     // v is not the root: its children go to its parent, and it is no member
  void insert(uint16_t v, uint16_t parent);    // v is no member
  void move_alone(uint16_t v, uint16_t parent);  // v is not the root, parent != v: v is removed and inserted as a leaf

  void keep() { log_count_ = 0; }  // the edits since the last keep() or load() stand
  void undo();                     // ... is taken back

 private:
  struct Node {
    double value;  // of its subtree
    double tail;   // edge - busy + value: the time after its parent was busy with it
    float busy;    // of its parent with it
    uint16_t parent, first, last, next, previous;
  };
  struct Entry {
    enum Kind : uint16_t { kLinked, kUnlinked, kTailed, kValued, kRooted } kind;
    uint16_t node, parent, previous;
    float busy;
    double number;  // the tail or value before
  };

  void record(Entry entry) { log_[log_count_++] = entry; }
  void attach(uint16_t v, uint16_t parent, uint16_t previous);
  void detach(uint16_t v);
  void unlink(uint16_t v);
  void link(uint16_t v, uint16_t parent);
  void settle(uint16_t v);
  void set_value(uint16_t v, double value);
  void set_root(uint16_t v);
  double evaluate(uint16_t v) const;
  void refresh(uint16_t v);
  void hand_over(uint16_t from, uint16_t to);
  void swap_children(uint16_t a, uint16_t b);

  TreeProblem problem_;
  Node* nodes_ = nullptr;   // [n]
  Entry* log_ = nullptr;    // [edits * (kLogPerNode * n + kLogExtra)]
  uint32_t log_count_ = 0;  // entries to be taken back
  uint16_t root_ = 0;
};

}  // namespace smelt
