// A tree that follows its participants: one leaves, one joins, and the tree is mended where it was hurt. See mend.cc.
#pragma once

#include "generate/random.h"
#include "generate/tree_editor.h"
#include "library/patterns/member_bound.h"

namespace smelt {

// Over a problem of all participants that may ever take part. Everything is allocated by make(); a change allocates
// nothing and takes microseconds, no clock is read, and the same calls in the same order give the same trees. One
// thread at a time.
class Mender {
 public:
  // `edge` and the rest of the problem stay the caller's and must outlive this. `free_root`: moves may make anybody the
  // root; else it stays as long as it takes part. `moves`: that are tried after each change; more bring the tree nearer
  // to the optimum. 0 or -ENOMEM, then nothing is left in the arena. Takes about 650 n bytes. load() comes next.
  int make(const TreeProblem& problem, bool free_root, Arena& arena, uint32_t moves = kDefaultMovesPerChange);
  static constexpr uint32_t kDefaultMovesPerChange = 128;  // with so many a change takes microseconds

  // Begins with this tree, in which members[i] is the tree's i; tree.n is at most that of the problem. O(n^2).
  void load(const Tree& tree, const uint16_t* members);
  // The other way: the members in ascending order, and the tree among their places in that list, as a schedule wants
  // it. `tree` is a made tree of count(), `members` has room for as many.
  void store(Tree& tree, uint16_t* members) const;

  uint32_t count() const { return members_.count(); }
  bool is_member(uint16_t v) const { return members_.has(v); }
  double value() const { return editor_.value(); }
  uint16_t root() const { return editor_.root(); }

  // The new value. Nothing happens when v does not take part, is the last that does, or takes part already.
  double leave(uint16_t v);
  double join(uint16_t v);

  // Proven: no tree of these members has a lower value (with this root, if it is not free). Microseconds:
  // member_bound.h.
  double bound() const;
  // How far the value is above bound(), as a share of it: 0.25 is a quarter. 0 where the bound says nothing.
  double gap() const;

 private:
  void find_ways();
  uint16_t cheapest_parent(uint16_t v) const;
  bool move();
  void improve();

  TreeProblem problem_;
  TreeEditor editor_;
  MemberBound members_;
  SplitMix64 random_{0};          // which moves are tried
  bool free_root_ = false;        // as given to make(), like the next
  uint32_t moves_ = 0;            // tried after each change
  uint16_t* critical_ = nullptr;  // [n] scratch: as TreeEditor::critical() has it
  uint32_t critical_count_ = 0;   // 0: to be found anew, and ready_ with it
  double* ready_ = nullptr;       // [n] scratch: when a member has told all its children
  uint16_t* walk_ = nullptr;      // [n] scratch
  Tree tree_;                     // scratch of load()
};

}  // namespace smelt
