// Is a schedule a correct collective? Checked on the programs themselves, whatever made them.
#pragma once

#include "schedule/schedule.h"

namespace smelt {

enum class Flaw : uint8_t {
  kNone,
  kMalformed,  // steps or peers out of range, a participant that signals itself
  kDeadlock,   // somebody waits for a message that can never come
  kLeftover,   // a message that nobody waits for
  kNotHeard,   // barrier: somebody may leave before somebody else arrived; broadcast, reduce: somebody is left out
};
const char* flaw_text(Flaw flaw);

struct Validation {
  Flaw flaw = Flaw::kNone;
  uint16_t who = kNobody;   // the participant concerned
  uint16_t whom = kNobody;  // its counterpart
};

// Runs the programs to the end, carrying with every message the set of participants its sender has heard of.
// Barrier: at the end everybody has heard everybody; broadcast: everybody the root; reduce: the root everybody.
// 0 (the verdict is in *out) or -ENOMEM.
int validate(const Schedule& schedule, Arena& arena, Validation* out);

// The same for a caller that only wants to know whether it may run: 0, -EINVAL or -ENOMEM. A schedule that runs in
// somebody's program is validated there and then: a wrong one would hang or, worse, let go early.
int check_schedule(const Schedule& schedule, Arena& arena);

}  // namespace smelt
