#include "base/arena.h"

#include "base/os/os.h"

namespace smelt {

MappedArena::MappedArena(size_t bytes) : MappedArena(os::map_pages(bytes), bytes) {}

MappedArena::~MappedArena() {
  if (base_) os::unmap_pages(base_, bytes_);
}

}  // namespace smelt
