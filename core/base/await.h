// Functions that can stop wherever they would have to wait (the protothreads of Dunkels et al., SenSys 2006; Duff's
// device underneath).
//
//   struct Resumable { int at = 0; ...;
//     bool step(...) { switch (at) { case 0: ...; SMELT_AWAIT(what); ... } return true; } };
//
// The body is one switch over `at`. SMELT_AWAIT(what) marks a place where it may have to stop: step() returns false,
// and goes on there when it is called again. `what` is an expression that is true when the state machine may go on; it
// is evaluated again and again, and must bear that. Values that have to outlive such a place are members; no variable
// may be begun before one and used after it, unless step() begins it anew each time. `How` is a type that step() knows:
// where its kStops is false nobody calls again, and the place is not noted.
#pragma once

// Nothing to do with a lambda: `at` must be the state machine's own, and `return` leave step().
#define SMELT_AWAIT(...)                          \
  if constexpr (How::kStops) this->at = __LINE__; \
  [[fallthrough]];                                \
  case __LINE__:                                  \
    if (!(__VA_ARGS__)) return false
