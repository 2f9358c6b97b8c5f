// A bump allocator over memory that the caller owns.
//
// The runtime half may not use operator new (it would pull libstdc++ into the host program), and generation must be
// bounded. So the caller of a generator hands over one block of memory; everything built from it lives as long as the
// block. An exhausted arena returns nullptr, and every caller passes that on as -ENOMEM. An arena is not thread-safe:
// each has one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace smelt {

class Arena {
 public:
  Arena(void* memory, size_t bytes) : next_(static_cast<char*>(memory)), end_(next_ + bytes) {}

  // `count` zeroed objects of T, or nullptr when the block is used up.
  template <typename T>
  T* make(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>, "nobody runs destructors in an arena");
    const auto address = reinterpret_cast<uintptr_t>(next_);
    const size_t padding = (alignof(T) - address % alignof(T)) % alignof(T);
    const size_t left = static_cast<size_t>(end_ - next_);
    if (padding > left || count > (left - padding) / sizeof(T)) return nullptr;
    char* start = next_ + padding;
    std::memset(start, 0, count * sizeof(T));
    next_ = start + count * sizeof(T);
    return reinterpret_cast<T*>(start);
  }

  // Everything allocated after `mark()` is given back by `rewind(mark)`.
  char* mark() const { return next_; }
  void rewind(char* mark) { next_ = mark; }
  size_t left() const { return static_cast<size_t>(end_ - next_); }

 private:
  char* next_;
  char* end_;
};

// An arena over its own anonymous mapping (zeroed, lazily backed), for callers that have no memory at hand.
// `ok()` is false when the kernel refused; the arena is then empty.
class MappedArena : public Arena {
 public:
  explicit MappedArena(size_t bytes);
  ~MappedArena();
  MappedArena(const MappedArena&) = delete;
  MappedArena& operator=(const MappedArena&) = delete;
  bool ok() const { return base_ != nullptr; }

 private:
  MappedArena(void* base, size_t bytes) : Arena(base, base ? bytes : 0), base_(base), bytes_(bytes) {}
  void* base_;
  size_t bytes_;
};

}  // namespace smelt
