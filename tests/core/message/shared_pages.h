// Memory that this process shares with those that it forks, for as long as the object lives.
#pragma once

#include <cstddef>
#include <cstdlib>

#include <sys/mman.h>

namespace smelt::test {

class SharedPages {
 public:
  explicit SharedPages(size_t bytes)
      : bytes_(bytes), address_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (address_ == MAP_FAILED) std::abort();
  }
  ~SharedPages() { ::munmap(address_, bytes_); }
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;
  void* get() const { return address_; }

 private:
  const size_t bytes_;
  void* const address_;
};

}  // namespace smelt::test
