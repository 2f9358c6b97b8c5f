// What libgomp knows of the calling thread, as bytes.
//
// libgomp keeps a thread's team, number, level, work share and task in one thread-local structure, whose layout changed over
// the years and is nobody's business. But where it is can be found: it lies in libgomp's block of thread-local storage,
// whose address and size dl_iterate_phdr tells. And what a parallel region changes in it shows by comparing the block before and
// after: from the first to the last changed word is the state of the team, `range` here. Writing that range back makes the thread
// again what it was: a thread in the serial part, or the master inside a region. The hot team (hot_team.h) lives from it.
//
// What lies outside the range (thread pool, place, OpenACC's pointer) is never written; a change there between two regions is
// noticed (same_as) and taken as "something has happened that we do not know".
#pragma once

#include <cstddef>
#include <cstdint>

namespace smelt::gomp {

inline constexpr size_t kStateWords = 32;  // GCC 12 needs 17; a libgomp with more is not swapped

// A copy of the block, or of a part of it.
struct StateImage {
  uint64_t word[kStateWords];
};

class ThreadState {
 public:
  // The calling thread's block in the object that holds `address`. False: no thread-local storage there, or too much.
  bool find(const void* address);

  uint32_t words() const { return words_; }

  void save(StateImage* image) const {
    for (uint32_t i = 0; i < words_; ++i) image->word[i] = block_[i];
  }
  bool same_as(const StateImage& image) const {
    uint64_t different = 0;
    for (uint32_t i = 0; i < words_; ++i) different |= block_[i] ^ image.word[i];
    return different == 0;
  }

  // Sets the range to what differs from `before` now. False: nothing does.
  bool learn_range(const StateImage& before);
  void save_range(StateImage* image) const {
    for (uint32_t i = begin_; i < end_; ++i) image->word[i] = block_[i];
  }
  void restore_range(const StateImage& image) {
    for (uint32_t i = begin_; i < end_; ++i) block_[i] = image.word[i];
  }

 private:
  // Other types' memory: libgomp's, written in calls that the compiler cannot see through.
  using Word [[gnu::may_alias]] = uint64_t;
  Word* block_ = nullptr;
  uint32_t words_ = 0;
  uint32_t begin_ = 0, end_ = 0;
};

}  // namespace smelt::gomp
