// The barriers that libomp lets an interposer take.
//
//   __kmpc_barrier            explicit barriers; the end of for, sections, single, scope, workshare: compilers call it
//                             after whatever ends the construct
//   __kmpc_copyprivate        a slot of the region's own and two of our barriers
//   __kmpc_copyprivate_light  the same in newer libomps: one barrier, the compiler writes the other
//
// __kmpc_cancel_barrier calls __kmpc_barrier by its name, and so comes here. The end of a region is libomp's own. Which
// barrier serves an episode, ours or libomp's, is decided by openmp/episodes.h, for all threads alike. That a barrier
// of libomp's is left out does no harm to it: it changes the team's sets of tasks over there, for all threads of the
// team or for none, and a set in which no task was made need not be changed.
#include "hot_team.h"
#include "libomp.h"
#include "openmp/callers.h"
#include "openmp/episodes.h"
#include "real.h"
#include "region.h"

SHORTCUT(__kmpc_barrier);

namespace smelt::kmp {
namespace {

// Passes the next barrier of the region.
inline void pass(Position& at, KmpIdent* where, KmpThread gtid) {
  openmp::pass(at, [=] { return REAL(__kmpc_barrier)(where, gtid), true; });
}

[[gnu::noinline]] void pass_in_region(KmpIdent* where, KmpThread gtid) {
  Position& at = position;
  if (!served(at, __builtin_return_address(0))) [[unlikely]]
    return BY_SHORTCUT(__kmpc_barrier)(where, gtid);
  pass(at, where, gtid);
}

}  // namespace
}  // namespace smelt::kmp

using namespace smelt::kmp;

extern "C" {

void smelt_kmp_long___kmpc_barrier(KmpIdent* where, KmpThread gtid) {
  leave_for_barrier(gtid);
  STRAIGHT(__kmpc_barrier)(where, known_as(gtid));
}

// Outside it costs as little as there: both ways end in jumps, and save no register before them.
void __kmpc_barrier(KmpIdent* where, KmpThread gtid) {
  const Position& at = position;
  if (at.barrier || at.word || smelt_kmp_handed_on.last) [[likely]]
    return pass_in_region(where, gtid);
  BY_SHORTCUT(__kmpc_barrier)(where, gtid);
}

// didit: this thread ran the block, and its data are to be copied to all others.
void __kmpc_copyprivate(KmpIdent* where, KmpThread gtid, size_t bytes, void* data, void (*copy)(void*, void*),
                        int32_t didit) {
  Position& at = position;
  if (!served(at, __builtin_return_address(0)))
    return STOCK(__kmpc_copyprivate)(where, known_as(gtid), bytes, data, copy, didit);
  std::atomic<void*>& copied = at.region->copied;
  if (didit) copied.store(data, std::memory_order_relaxed);  // ordered by the barrier
  pass(at, where, gtid);
  if (!didit) copy(data, copied.load(std::memory_order_relaxed));
  pass(at, where, gtid);  // nobody leaves, and frees the data, before they were read
}

// data is null in all threads but the one that ran the block. A barrier of the program follows.
void* __kmpc_copyprivate_light(KmpIdent* where, KmpThread gtid, void* data) {
  Position& at = position;
  if (!served(at, __builtin_return_address(0))) return STOCK(__kmpc_copyprivate_light)(where, known_as(gtid), data);
  std::atomic<void*>& copied = at.region->copied;
  if (data) copied.store(data, std::memory_order_relaxed);
  pass(at, where, gtid);
  return copied.load(std::memory_order_relaxed);
}

}  // extern "C"
