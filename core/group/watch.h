// The watch on what follows a group's calls: the next call, or a barrier?
//
// Methods that are as good in a row of calls differ where everybody must be done before anything else begins
// (model/curves.h, Sync), and a call does not know what will follow it. But programs are loops: if a barrier followed
// the calls so far, it will mostly follow the next one, too. So the watch keeps one bit for each of the last 32 calls
// that were no barriers, set where a barrier came directly after it:
//
//   calls      bcast barrier bcast barrier reduce bcast barrier barrier
//   bits             1             1              0     1
//
// 32 ones in a row: they are strict from here on; 32 zeros: loose again. In between all stays as it is, so a program
// that does both does not go to and fro.
//
// All participants must use the same method. They need not tell each other: all begin the group's collectives in the
// same order, started ones among them, and the bits are a function of that order alone, not of time. But the limits
// must not change under an operation that is under way, which another participant may have completed already. So a new
// regime begins in a blocking call only, which has completed all that was started before it (engine.h), and counts from
// that call on.
#pragma once

#include <cstdint>

namespace smelt {

class Watch {
 public:
  static constexpr uint32_t kCalls = 32;  // the bits of `followed_`: so many alike in a row turn the regime

  // A call, in the order in which they begin: any collective but a barrier, and a barrier.
  void call() {
    followed_ <<= open_;
    open_ = 1;
  }
  void barrier() {
    followed_ = followed_ << open_ | open_;
    open_ = 0;
  }

  // Watches from here on, as long as the regime is the one that is given.
  void begin(bool strict) { turns_at_ = strict ? kLooseAgain : kStrict; }
  // Has the other regime shown itself? Nobody watches: never.
  bool has_turned() const { return followed_ == turns_at_; }

 private:
  static constexpr uint64_t kStrict = UINT32_MAX, kLooseAgain = 0, kNever = UINT64_MAX;

  uint32_t followed_ = 0;       // the latest call that something has followed in bit 0
  uint32_t open_ = 0;           // 1: nothing has followed the last call yet
  uint64_t turns_at_ = kNever;  // the value of `followed_` that turns the regime
};

}  // namespace smelt
