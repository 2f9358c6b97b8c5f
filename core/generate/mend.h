// A tree that follows its participants: one leaves, one joins, and the tree is mended where it was hurt. See mend.cc.
#pragma once

#include "generate/levels.h"
#include "generate/random.h"
#include "generate/tree_editor.h"

namespace smelt {

// Over a problem of all who may ever take part. Everything is allocated by make(); a change allocates nothing and takes
// microseconds, no clock is read, and the same calls in the same order give the same trees. One thread at a time.
class Mender {
 public:
  // `edge` and the rest of the problem stay the caller's and must outlive this. `free_root`: moves may make anybody the root; else
  // it stays as long as it takes part. `moves`: that are tried after each change; more bring the tree nearer to the optimum. 0 or
  // -ENOMEM, then nothing is left in the arena. Takes about 650 n bytes. load() comes next.
  int make(const TreeProblem& problem, bool free_root, Arena& arena, uint32_t moves = kDefaultMovesPerChange);
  static constexpr uint32_t kDefaultMovesPerChange = 128;

  // Begins with this tree, in which members[i] is what the tree calls i; tree.n is at most that of the problem. O(n^2).
  void load(const Tree& tree, const uint16_t* members);
  // The other way: the members in ascending order, and the tree among their places in that list, as a schedule wants it. `tree` is a
  // made tree of count(), `members` has room for as many.
  void store(Tree& tree, uint16_t* members) const;

  uint32_t count() const { return count_; }
  bool is_member(uint16_t v) const { return place_[v] != kNobody; }
  double value() const { return editor_.value(); }
  uint16_t root() const { return editor_.root(); }

  // The new value. Nothing happens when v does not take part, is the last who does, or takes part already.
  double leave(uint16_t v);
  double join(uint16_t v);

  // Proven: no tree of these members has a lower value (with this root, if it is not free). O(n log n) for each level of groups,
  // about 12 microseconds for 256; generate/bound.h proves a tenth or two more and takes some ten thousand times as long.
  double bound() const;
  // How far the value is above bound(), as a share of it: 0.25 is a quarter. 0 where the bound says nothing.
  double gap() const;

 private:
  void enter(uint16_t v);
  void forget(uint16_t v);
  void notice(uint16_t v, uint16_t c);
  void look_around(uint16_t c);
  void find_ways();
  uint16_t cheapest_parent(uint16_t v) const;
  bool move();
  void improve();

  double bound_of(uint32_t level) const;

  struct Way {  // the cheapest that comes from a member of another group, and who that is
    float edge;
    uint16_t from;
  };
  struct Unit {  // see mend.cc
    float need;
    uint32_t members;
    uint16_t anyone;
  };
  struct Part {  // of a coarser level
    float entry;
    Unit* dearest;
  };

  TreeProblem problem_;
  TreeEditor editor_;
  SplitMix64 random_{0};
  bool free_root_ = false;
  uint32_t moves_ = 0;
  uint32_t count_ = 0;
  uint16_t* member_ = nullptr;    // [n] who takes part, in any order
  uint16_t* place_ = nullptr;     // [n] in member_, or kNobody
  uint32_t levels_ = 0;
  bool nested_[kMostLevels][kMostLevels] = {};  // [fine][coarse]
  uint16_t* group_ = nullptr;     // [level][n]
  Way* way_ = nullptr;            // [level][n] of members
  float* shortest_ = nullptr;     // [level][n] the least time that anybody of another group keeps it busy
  uint16_t* critical_ = nullptr;  // [n] scratch: as TreeEditor::critical() has it
  uint32_t critical_count_ = 0;   // 0: to be found anew, and ready_ with it
  double* ready_ = nullptr;       // [n] scratch: when a member has told all its children
  uint16_t* walk_ = nullptr;      // [n] scratch
  float* numbers_ = nullptr;      // [n] scratch of bound()
  Unit* units_ = nullptr;         // [n] scratch of bound()
  Part* parts_ = nullptr;         // [n] scratch of bound()
  double* starts_ = nullptr;      // [n] scratch of bound()
  Tree tree_;                     // scratch of load()
};

}  // namespace smelt
