// Another participant's memory, read and written straight (cross memory attach), where the kernel lets us. The work is
// the caller's processor's, and nobody waits for anybody.
#pragma once

#include "base/os/shared_memory.h"
#include "transport/desk.h"

namespace smelt {

// False: the kernel refused.
inline bool read_from(const Introduction& whose, void* to, uint64_t from, size_t bytes) {
  return os::read_process(whose.process, to, from, bytes) == 0;
}
inline bool write_to(const Introduction& whose, const void* from, uint64_t to, size_t bytes) {
  return os::write_process(whose.process, from, to, bytes) == 0;
}

// May we read that process's memory, and is it the one that introduced itself? `expected`: the value at its probe.
inline bool can_read(const Introduction& whose, uint64_t expected) {
  uint64_t found = 0;
  return read_from(whose, &found, whose.probe_address, sizeof found) && found == expected;
}

}  // namespace smelt
