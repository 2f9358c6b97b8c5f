// The members of a changing set, and how low the value of a tree of them can be. See member_bound.cc.
#pragma once

#include "generate/levels.h"
#include "generate/problem.h"

namespace smelt {

// Over a problem of all participants that may ever be members; at first none is. Nothing is allocated after make(). One
// thread uses it at a time.
class MemberBound {
 public:
  // 0 or -ENOMEM, then nothing is left in the arena. Takes about 200 n bytes.
  int make(const TreeProblem& problem, Arena& arena);

  uint32_t count() const { return count_; }
  uint16_t member(uint32_t i) const { return member_[i]; }  // i < count(); in any order
  bool has(uint16_t v) const { return place_[v] != kNobody; }

  void clear();
  void enter(uint16_t v);   // no member. O(n)
  void forget(uint16_t v);  // a member. O(n) as a rule: more when v is whom many would be told by

  // Proven: no tree of the members with this root (-1: with any) has a lower value. O(n log n) for each level of
  // groups, about 12 microseconds for 256. bench/lab/bounds/bound.h proves a tenth or two more and takes some ten
  // thousand times as long.
  double bound(int root) const;

 private:
  void notice(uint16_t v, uint16_t c);
  void look_around(uint16_t c);
  double bound_of(uint32_t level, int root) const;

  struct Nearest {  // the cheapest that comes from a member of another group, and that member
    float edge;
    uint16_t from;
  };
  struct Unit {
    float need;
    uint32_t members;
    uint16_t anyone;
  };
  struct Part {  // of a coarser level
    float entry;
    Unit* dearest;
  };

  TreeProblem problem_;
  uint32_t count_ = 0;                          // members
  uint16_t* member_ = nullptr;                  // [n]
  uint16_t* place_ = nullptr;                   // [n] in member_, or kNobody
  uint32_t levels_ = 0;                         // in use
  bool nested_[kMostLevels][kMostLevels] = {};  // [fine][coarse]
  uint16_t* group_ = nullptr;                   // [level][n]
  Nearest* way_ = nullptr;                      // [level][n] of members
  float* shortest_ = nullptr;                   // [level][n] the least time that anybody of another group keeps it busy
  float* numbers_ = nullptr;                    // [n] scratch of bound(), as what follows
  Unit* units_ = nullptr;                       // [n]
  Part* parts_ = nullptr;                       // [n]
  double* starts_ = nullptr;                    // [n]
};

}  // namespace smelt
