// libgomp's state of the calling thread, as bytes.
//
// libgomp keeps a thread's team, number, level, work share and task in one thread-local structure, whose layout changed
// over the years and is nobody's business. But where it is can be found: it lies in libgomp's block of thread-local
// storage, whose address and size dl_iterate_phdr tells. And a comparison of the block before and after shows the words
// that a parallel region changes in it: from the first to the last changed word is the state of the team, `range` here.
// Writing that range back makes the thread again what it was: a thread in the serial part, or the master inside a
// region. states.h says when that is done, and what may then be relied on. Here is how.
//
// The words outside the range (thread pool, place, OpenACC's pointer) are never written. A change there between two
// regions is noticed (same_as) and taken as "something has happened that we do not know".
//
// Two more things of libgomp's are found by looking, with the layout unknown:
//   - its thread-specific key, whose destructor frees the thread's pool, and for that waits until all workers are back
//     in it: the key whose value points into the block. While workers are parked elsewhere, the value is taken away
//     (hold_destructor).
//   - the pointer to the pool: the one word that a thread's first region leaves changed (PoolWord). In the child of a
//     fork the pool's threads are gone, and libgomp, stock, waits for them for ever; without the word it makes a new
//     pool.
#pragma once

#include <atomic>

#include <cstddef>
#include <cstdint>

namespace smelt::gomp {

inline constexpr size_t kStateWords = 32;  // GCC 12 needs 17; a libgomp with more is not swapped

// A copy of the block, or of a part of it. It is compared and copied 16 bytes at a time, which takes a nanosecond more
// where they cross a cache line.
struct alignas(16) StateImage {
  uint64_t word[kStateWords];
};

class ThreadState {
 public:
  // The calling thread's block in the object that holds `address`. False: no thread-local storage there, or too much.
  bool find(const void* address);
  bool find_mine();  // in libgomp

  uint32_t words() const { return words_; }

  void save(StateImage* image) const {
    for (uint32_t i = 0; i < words_; ++i) image->word[i] = block_[i];
  }
  bool same_as(const StateImage& image) const {
    uint64_t different = 0;
    for (uint32_t i = 0; i < words_; ++i) different |= block_[i] ^ image.word[i];
    return different == 0;
  }

  // The only word in which two images differ; words(): there is none, or more than one.
  uint32_t only_difference(const StateImage& a, const StateImage& b) const {
    uint32_t found = words_, count = 0;
    for (uint32_t i = 0; i < words_; ++i) {
      if (a.word[i] == b.word[i]) continue;
      found = i;
      ++count;
    }
    return count == 1 ? found : words_;
  }
  const void* address(uint32_t index) const { return block_ + index; }

  // The same of the words outside the range.
  bool same_outside_range(const StateImage& image) const {
    const Word* const block = block_;
    uint64_t different = 0;
    for (uint32_t i = 0, end = begin_; i < end; ++i) different |= block[i] ^ image.word[i];
    for (uint32_t i = end_, end = words_; i < end; ++i) different |= block[i] ^ image.word[i];
    return different == 0;
  }

  // The value of libgomp's key for the calling thread; nullptr: libgomp keeps no pool for it, has not yet or, while the
  // thread ends, no more.
  void* destructor() const;

  // Takes the value of libgomp's key from the calling thread, so that its destructor is not run; and gives it back, to
  // be run by the next round of destructors if the thread is ending. False: there is no such key, or it has no value.
  bool hold_destructor();
  void release_destructor();

  // Sets the range to what differs from `before` now. False: nothing does, or the pointer to the pool is among it.
  bool learn_range(const StateImage& before);

 private:
  friend class KeptState;  // states.h: nobody else changes a state

  // The bounds in registers: for all that the compiler knows, libgomp's words might be these members.
  void save_range(StateImage* image) const {
    const Word* const block = block_;
    for (uint32_t i = begin_, end = end_; i < end; ++i) image->word[i] = block[i];
  }
  void restore_range(const StateImage& image) const {
    Word* const block = block_;
    for (uint32_t i = begin_, end = end_; i < end; ++i) block[i] = image.word[i];
  }

  // Both in one.
  void change_range(StateImage* from, const StateImage& to) const {
    Word* const block = block_;
    for (uint32_t i = begin_, end = end_; i < end; ++i) {
      from->word[i] = block[i];
      block[i] = to.word[i];
    }
  }

  // Does something with the range as it is in that image, and has it as it is now again.
  template <typename What>
  void while_in(const StateImage& image, What what) const {
    StateImage now;
    save_range(&now);
    restore_range(image);
    what();
    restore_range(now);
  }

  // Other types' memory: libgomp's, written in calls that the compiler cannot see through.
  using Word [[gnu::may_alias]] = uint64_t;
  Word* block_ = nullptr;         // libgomp's thread-local storage; nullptr: not found
  uint32_t words_ = 0;            // of the block
  uint32_t begin_ = 0, end_ = 0;  // `range`, in words
  void* held_ = nullptr;          // of libgomp's key
};

// Where libgomp keeps the pointer to a thread's pool: in every thread at the same distance from the thread pointer
// (shell.h). Learnt around a call in which the calling thread may run its first region.
class PoolWord {
 public:
  explicit PoolWord(bool may_be_first);
  ~PoolWord();
  PoolWord(const PoolWord&) = delete;
  PoolWord& operator=(const PoolWord&) = delete;

  // In the child of a fork, in its serial part: libgomp forgets the thread's pool. Nothing happens where the word is
  // not known.
  static void forget_pool();

  // Is it among these words of the block? False where it is not known.
  static bool is_in(uint32_t begin, uint32_t end);

 private:
  ThreadState state_;
};

}  // namespace smelt::gomp
