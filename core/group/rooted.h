// The part that gather and scatter share: a row of blocks on the root, one for each participant, and the block that
// each has of its own.
#pragma once

#include "group/engine.h"
#include "group/fold.h"
#include "group/single_copy.h"

namespace smelt {

enum class Towards : uint8_t { kRoot, kOthers };  // gather, scatter

// A gather or scatter, as its caller put it.
struct Rooted {
  const smelt_data& own;  // our block
  char* row;              // the root's: all blocks, by participant
  size_t bytes;           // of each
  uint32_t root;

  size_t longest() const { return bytes; }
  char* block(uint32_t i) const { return row + i * bytes; }
  // The k-th that the root serves: it begins with its neighbour, so that roots that change do not all begin with the
  // same.
  static uint32_t neighbour(const Group& group, uint32_t k) { return (group.me + k) % group.n; }
  // The root's own block, which in place is where it belongs.
  bool in_place() const { return own.base == block(root); }
  void keep_own(Towards towards) const {
    if (in_place()) return;
    if (towards == Towards::kRoot)
      pack(own, 0, bytes, block(root));
    else
      unpack(own, 0, bytes, block(root));
  }
};

// Everybody copies its own block, at the same time. Where the root has it in place, it copies the first n-th of all
// others instead, and says so. `served`: false means "take the shelves". error: the kernel refused after all.
template <Towards towards>
struct RootedSingle : Machine {
  const Rooted job;
  bool served = false;
  ExchangeNotices notices;

  explicit RootedSingle(const Rooted& job) : job(job) {}

  template <typename How>
  bool step(How how) {
    Group& group = how.group;
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        if (group.me == job.root)
          notices.all[group.me] = {reinterpret_cast<uint64_t>(job.row),
                                   job.in_place() ? slice(job.bytes, 1, group.n) : 0, group.operand_bytes};
        else
          notices.all[group.me] = {address(job.own), 0, group.operand_bytes};
        SMELT_AWAIT(notices.step(how));
        served = true;
        if (!notices.are_as_long(group)) return true;
        for (uint32_t i = 0; i < group.n; ++i) served &= notices.all[i].in != 0;
        if (!served) return true;
        copy(group);
        // Nobody may go on before all have read and written what they had to.
        group.finish_now();
        SMELT_AWAIT(how.all_finished(group, group.episode));
    }
    return true;
  }

 private:
  // So many bytes between our memory and somebody's.
  void move(const Group& group, bool away, uint32_t i, char* here, uint64_t there, size_t length) {
    if (length == 0) return;
    const Introduction& whose = group.introduction(i);
    note(away ? write_to(whose, here, there, length) : read_from(whose, here, there, length), &error);
  }
  void copy(const Group& group) {
    const size_t of_root = notices.all[job.root].out;
    const bool to_root = towards == Towards::kRoot;
    if (group.me != job.root) {
      move(group, to_root, job.root, static_cast<char*>(job.own.base) + of_root,
           notices.all[job.root].in + group.me * job.bytes + of_root, job.bytes - of_root);
      return;
    }
    job.keep_own(towards);
    for (uint32_t k = 1; k < group.n; ++k) {
      const uint32_t i = Rooted::neighbour(group, k);
      move(group, !to_root, i, job.block(i), notices.all[i].in, of_root);
    }
  }
};

}  // namespace smelt
