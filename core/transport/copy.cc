#include "transport/copy.h"

#include <algorithm>

#include "base/arch/cpu.h"
#include "base/ticks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

// AddressSanitizer and ThreadSanitizer see what memcpy touches, and not what an instruction of ours does.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SMELT_MOVSB 1
#else
#define SMELT_MOVSB 0
#endif

namespace smelt {
namespace {

constexpr size_t kCacheLine = 64;
// `ahead` asks for so much at a time. Measured, 256 KiB near: parts of 1 KiB 7.15 us, of 2 KiB 6.05, memcpy 8.3.
constexpr size_t kPart = 2048;

#if SMELT_MOVSB
void copy_movsb(void* to, const void* from, size_t bytes) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

// ERMS: long ones are fast; FSRM: short ones, too, and so the start of each is cheap.
bool says_that_movsb_is_fast() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx >> 9 & 1) && (edx >> 4 & 1);
}

uint64_t least_ticks(CopyWay way, void* to, const void* from, size_t bytes) {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 4; ++i) {  // an interrupt spoils one; the first one warms up
    const uint64_t start = ticks();
    copy_by(way, to, from, bytes);
    least = std::min(least, ticks() - start);
  }
  return least;
}

// There are CPUs that say so and copy 20 times as slowly to where no line begins, or where the two ends lie a few bytes
// apart within a page (others measured 4.4 GB/s in place of 84 on AMD's Zen 3), which the buffers of malloc and a slot
// do. Tried in the own cache: 2 us. Where all is well, it takes up to 3 times as long there as memcpy, which has the
// lines already. The length is one that no memcpy copies by `rep movsb` itself.
bool is_movsb_fast_wherever_it_goes() {
  constexpr ptrdiff_t kPageBytes = 4096, kTried = 2048;
  constexpr uint64_t kSlow = 8;  // between 3 and 20
  alignas(kCacheLine) char room[kPageBytes + kTried + kCacheLine] = {};
  for (const ptrdiff_t ahead : {-16, 0, 1, 16, 48}) {
    char* const to = room + kPageBytes + ahead;
    if (least_ticks(CopyWay::kMovsb, to, room, kTried) > kSlow * least_ticks(CopyWay::kLibc, to, room, kTried))
      return false;
  }
  return true;
}
#endif

// Asks for lines that are to be written.
void ask_for(const char* from, size_t bytes) {
  for (size_t i = 0; i < bytes; i += kCacheLine) prefetch_to_write(from + i);
}

void copy_ahead(void* to, const void* from, size_t bytes) {
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  size_t part = std::min(bytes, kPart);
  ask_for(out, part);
  while (bytes > 0) {
    const size_t next = std::min(bytes - part, kPart);
    ask_for(out + part, next);
    std::memcpy(out, in, part);
    out += part, in += part, bytes -= part;
    part = next;
  }
}

}  // namespace

bool can_copy_by(CopyWay way) { return way != CopyWay::kMovsb || SMELT_MOVSB; }

bool is_fast(CopyWay way) {
#if SMELT_MOVSB
  return way == CopyWay::kMovsb && says_that_movsb_is_fast() && is_movsb_fast_wherever_it_goes();
#else
  static_cast<void>(way);
  return false;
#endif
}

void copy_by(CopyWay way, void* to, const void* from, size_t bytes) {
  switch (way) {
#if SMELT_MOVSB
    case CopyWay::kMovsb: return copy_movsb(to, from, bytes);
#endif
    case CopyWay::kAhead: return copy_ahead(to, from, bytes);
    default: std::memcpy(to, from, bytes);
  }
}

void use_long_copy(LongCopy choice) {
  detail::long_way.store(choice.way, std::memory_order_relaxed);
  detail::long_from.store(choice.from, std::memory_order_relaxed);
}

}  // namespace smelt
