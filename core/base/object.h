// An API object and everything it owns, in one mapping: created without operator new, released with one munmap.
#pragma once

#include <new>

#include "base/arena.h"
#include "base/os/os.h"

namespace smelt {

struct Object {
  Arena arena{nullptr, 0};  // the rest of the mapping
  size_t mapped_bytes = 0;
};

// A T (derived from Object) at the beginning of zeroed memory of its own, which is a mapping or whole pages of one.
template <typename T>
T* place_object(void* memory, size_t bytes) {
  T* object = new (memory) T;
  object->mapped_bytes = bytes;
  object->arena = Arena(static_cast<char*>(memory) + sizeof(T), bytes - sizeof(T));
  return object;
}

// A T (derived from Object) followed by `arena_bytes` of arena; nullptr when the kernel has no memory. The pages
// are lazily backed, so a generous arena costs only its used part.
template <typename T>
T* make_object(size_t arena_bytes) {
  const size_t bytes = sizeof(T) + alignof(T) + arena_bytes;
  void* memory = os::map_pages(bytes);
  return memory ? place_object<T>(memory, bytes) : nullptr;
}

template <typename T>
void free_object(T* object) {
  if (object) os::unmap_pages(object, object->mapped_bytes);
}

}  // namespace smelt
