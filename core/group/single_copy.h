// Single copy: long messages go straight from process to process (cross memory attach), where the kernel lets every
// participant do so and the profile says it is faster than two copies through the shelves.
//
// The kernel's copy is one processor's work, so the work is divided over all: what others need of us we write to them,
// and what we need of others we read, at the same time.
//
//   broadcast   the root writes the first n-th to everybody, everybody reads the rest
//   reduce      everybody reads one slice of all operands, combines it and writes the result to the root; of two, one
//               writes and one reads half of the operands, and the root combines
//   allreduce   the same, and writes it to everybody
//
// Everybody must know the addresses, and everybody must know when its memory has been read and written. Whether a
// participant's data are in one piece nobody else knows, so that is told with the address; if they are not, the shelves
// serve the call.
#pragma once

#include "group/fold.h"
#include "group/group.h"

namespace smelt {

// True, or false for "take the shelves"; *error is set when the kernel refused to read after all (-EIO).
bool broadcast_single_copy(Group& group, const smelt_data& data, size_t bytes, uint32_t root, int* error);
// root may be kEverybody.
bool reduce_single_copy(Group& group, const smelt_data& in, const smelt_data& out, size_t elements,
                        const smelt_fold& fold, uint32_t root, int* error);

// More participants than these would spend more on telling addresses than on copying; and their order of combination
// has a second level.
static_assert(kDirectCopyParticipants <= kBlockSize);

}  // namespace smelt
