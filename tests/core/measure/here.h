// The machine that the tests run on.
#pragma once

#include "discover/machine.h"
#include "profile/text/image.h"

namespace smelt::test {

// The guess for the CPUs that this process may use.
inline ProfileImage guess_here() {
  Machine machine = discover_machine();
  std::erase_if(machine.pus, [](const Pu& pu) { return !pu.allowed; });
  return guess_image(machine);
}

}  // namespace smelt::test
