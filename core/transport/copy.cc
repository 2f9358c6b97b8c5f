#include "transport/copy.h"

#include <algorithm>

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
constexpr size_t kPart = 1024;  // lines asked for ahead: as many as a CPU has requests under way, or somewhat more

#if SMELT_MOVSB
void copy_movsb(void* to, const void* from, size_t bytes) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}
#endif

// To be written. GCC's __builtin_prefetch would ask for reading unless it is told that the CPU has the instruction; one
// that has it not takes it for no operation.
void ask_for(char* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*line));
#else
  __builtin_prefetch(line, 1);
#endif
}

void ask_for(char* from, size_t bytes) {
  for (size_t i = 0; i < bytes; i += kCacheLine) ask_for(from + i);
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

bool is_said_to_be_fast(CopyWay way) {
#if SMELT_MOVSB
  // ERMS: long ones are fast; FSRM: short ones, too, and so the start of each is cheap.
  unsigned eax, ebx, ecx, edx;
  return way == CopyWay::kMovsb && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx >> 9 & 1) && (edx >> 4 & 1);
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
