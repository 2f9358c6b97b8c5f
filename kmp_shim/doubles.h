// The doubles of inner_teams.h: a team of libomp's that is like the one around, and sleeps. Each of them makes an inner
// team for its thread, and ends it.
#pragma once

#include "identity.h"
#include "openmp/hot_team.h"
#include "region.h"

namespace smelt::kmp {

inline constexpr int32_t kInnerLevel = 2;  // omp_get_level() in inner regions

// What a double is to do next; it says that it has done so by kNothing.
enum Order : uint32_t { kNothing, kStart, kEnd, kLeave };

// A thread of the team around, its double and the inner team that this makes for it.
struct alignas(kLineBytes) InnerTeam : HotRecord {
  Region* region;  // of the thread; its own regions, inside the one around

  // Of the double: written by it before it has done what it was told to.
  KmpThread gtid;
  OwnBlock::Image image;  // inside its inner region
  bool started;
  // Of the thread, in the region around: written by it before an order.
  Icvs icvs;
  int32_t place;
  uint32_t renewal;
  std::atomic<uint32_t> order;

  alignas(kLineBytes) void* kept[kArguments];
};

// The process's doubles.
struct Doubles {
  // Of the master of the team that they are like. Relaxed: threads of that team have been told with `state`, and it is
  // another's to all others.
  std::atomic<const RegionRecord*> around;
  uint32_t size;
  int32_t place;  // of that master; -1: none
  Icvs icvs;      // of the thread that wanted them
  InnerTeam* teams;
  int32_t process;
  std::atomic<uint32_t> ready;  // 1: they sleep; 2: it has not worked
};
extern Doubles doubles;

// Where the calling thread is bound, as libomp numbers places; -1: nowhere.
inline int32_t place_now() { return smelt_real_omp_get_place_num ? REAL(omp_get_place_num)() : -1; }

// A thread's: the double does as it is told, and has done so.
void tell(InnerTeam& team, Order what);

// A worker of an inner team has come to its dock, and leaves it.
void set_inside_of(InnerTeam* team);

// Thread 0 of the team around, of `size` threads. False: there are none, and will not be.
bool make_doubles(const Position& around, uint32_t size);
// All inner teams have ended: the doubles go.
void unmake_doubles();

}  // namespace smelt::kmp
