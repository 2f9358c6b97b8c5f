// A runtime's thread-local storage of the calling thread, as bytes: where it is, and how much.
#pragma once

#include <cstddef>

namespace smelt::openmp {

struct ThreadBlock {
  void* block;  // nullptr: none
  size_t bytes;
};

// Of the object that holds `address`. Of the main program none: in its block lie the program's own variables.
ThreadBlock thread_block(const void* address);

}  // namespace smelt::openmp
