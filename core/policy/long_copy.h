// Which way the pieces of long messages are copied, and from which length on: a threshold (long_copy) with a way to it.
#pragma once

#include "policy/thresholds.h"
#include "transport/copy.h"

namespace smelt {

// How a process on the profile's machine copies the pieces of long messages, and where that comes from: the setting;
// what won calibration's race at every distance, since a copy does not know how far the other end is (figure); else
// what the CPU says, after a trial of some microseconds (typical). If that machine is not `here`, neither this CPU nor
// this build is asked: then the CPU is taken to say that rep movsb is fast.
LongCopy find_long_copy(const Profile* profile, bool here, ThresholdOrigin* origin);
// Copies so from the first call on, which is to come before the first piece.
void prepare_long_copies(const Profile* profile);

}  // namespace smelt
