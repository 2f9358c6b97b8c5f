// A runtime's thread-local storage of the calling thread, as bytes: where it is, and how much.
#pragma once

#include <cstddef>

namespace smelt::openmp {

struct ThreadBlock {
  void* block;  // nullptr: none
  size_t bytes;
};

// The block of the object that holds `address`. The main program has none: in its block lie the program's own
// variables.
ThreadBlock thread_block(const void* address);

}  // namespace smelt::openmp
