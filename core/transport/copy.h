// Long copies on their way from one CPU to another: into memory that another CPU has read last, and out of memory that
// another CPU has written last.
//
// The C library's memcpy is made for memory of one's own. An ordinary store needs its whole line first. Where a reader
// has the line, the CPU asks for it and for its content, of which the copy overwrites every byte, and few such requests
// are under way at a time. There are other ways:
//
//   libc    memcpy. What that is depends on the C library's version and the CPU: up to glibc 2.39 it is `rep movsb`
//           for long copies on many CPUs, in 2.41 no longer on AMD's.
//   movsb   `rep movsb` (x86). The CPU knows the length beforehand and takes whole lines over without their content.
//   ahead   memcpy by parts; the lines of the next part are asked for, to be written, while this one is copied.
//
// Which of them is taken, and from which length on, calibration finds out by a race over the real exchange
// (measure/copy_race.cc); policy/long_copy.h has the choice without that. Stores that go round the caches (movnt) are
// no way here: a slot of a ring is to stay in a cache, and their data go to memory and come back from there. Measured,
// two processes, a ring of four slots of 16 KiB, 64 KiB / 4 MiB in us, hops of 50 and 270 ns: movsb 1.3 / 85 and
// 4.3 / 163, memcpy without `rep movsb` 2.4 / 187 and 11.4 / 671, movnt 4.0 / 222 and 4.4 / 215; only the reader's own
// memory by movnt 1.7 / 88 and 4.2 / 174.
//
// What `rep movsb` has written is not to be read again by the writer, whose caches it may have left: a participant that
// wants its own data reads them where they were.
//
// The memory model: `rep movsb` is an ordinary string of stores to write-back memory. Its stores may become visible in
// any order among themselves, but all before a later store (Intel's manual, volume 3, "Fast-String Operation and
// Out-of-Order Stores"; AMD's volume 2, 7.1). So a release store behind it publishes them, without a fence. The asm
// says "memory", so the compiler keeps the order, too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/copy_way.h"

namespace smelt {

// Does this build have it for this CPU?
bool can_copy_by(CopyWay way);
// Is it safe to take it unmeasured? The CPU says so, and a trial within the own cache does not say otherwise: 10 us.
bool is_fast(CopyWay way);

// One copy; the areas do not overlap. The way must be one that can be taken here.
void copy_by(CopyWay way, void* to, const void* from, size_t bytes);

// The choice for this process.
void use_long_copy(LongCopy choice);

namespace detail {
// relaxed, both: every way gives the same bytes, so it does not matter which of two choices a thread has seen.
inline std::atomic<uint64_t> long_from{UINT64_MAX};
inline std::atomic<CopyWay> long_way{CopyWay::kLibc};
}  // namespace detail

// A piece of a long message.
inline void copy_piece(void* to, const void* from, size_t bytes) {
  if (bytes < detail::long_from.load(std::memory_order_relaxed))
    std::memcpy(to, from, bytes);
  else
    copy_by(detail::long_way.load(std::memory_order_relaxed), to, from, bytes);
}

}  // namespace smelt
