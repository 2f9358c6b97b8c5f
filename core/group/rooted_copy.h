// Single copy of gather and scatter: everybody copies its own block, at the same time. Where the root has its own in
// place, it copies the first n-th of all others instead, and says so.
#pragma once

#include "group/rows.h"

namespace smelt {

template <Towards towards>
struct CopyRooted : InOnePiece<towards == Towards::kRoot ? SMELT_COLLECTIVE_GATHER : SMELT_COLLECTIVE_SCATTER> {
  using Job = Rooted<EqualRow>;

  static Notice notice(const Group& group, const Job& job) {
    if (group.me != job.root) return {address(job.own), 0, group.operand_bytes};
    return {reinterpret_cast<uint64_t>(job.row.base), job.in_place() ? slice(job.bytes, 1, group.n) : 0,
            group.operand_bytes};
  }
  static void copy(Group& group, const Job& job, const Notice* all, int* error) {
    const size_t of_root = all[job.root].out;
    const bool to_root = towards == Towards::kRoot;
    if (group.me != job.root) {
      move(group, to_root, job.root, static_cast<char*>(job.own.base) + of_root,
           all[job.root].in + group.me * job.bytes + of_root, job.bytes - of_root, error);
      return;
    }
    job.keep_own(towards);
    for (uint32_t k = 1; k < group.n; ++k) {
      const uint32_t i = neighbour(group, k);
      move(group, !to_root, i, job.block(i), all[i].in, of_root, error);
    }
  }

 private:
  // So many bytes between our memory and somebody's.
  static void move(const Group& group, bool away, uint32_t i, char* here, uint64_t there, size_t length, int* error) {
    if (length == 0) return;
    const Introduction& whose = group.introduction(i);
    note(away ? write_to(whose, here, there, length) : read_from(whose, here, there, length), error);
  }
};

}  // namespace smelt
