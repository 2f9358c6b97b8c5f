// The ways to copy (transport/copy.h) raced between two CPUs: DistanceCurves::copied_by of profile/measured.h.
#pragma once

#include <cstdint>
#include <string>

#include "measure/copies.h"
#include "profile/measured.h"

namespace smelt {

// ns that a message took by each way, in pieces of each length (kRacedBytes); 0: not possible here.
struct CopyTimes {
  double ns[kCopyWays][kRacedPieces];
};
// The way that is fastest with the longest pieces, from the shortest ones on at which it, and with all longer ones,
// gains 3 % on memcpy, or, of movsb, is as fast within 2 %; memcpy, if there is none at the longest.
uint32_t copy_choice_of(const CopyTimes& times);

// Two processes, one on each CPU of the pair. "", or one line that says why there is no result. The caller must have no
// other threads.
std::string race_copies(const CopyPair& pair, unsigned limit_s, uint32_t* choice);

}  // namespace smelt
