// Real processes that form groups (smelt/group.h): forked, each on a CPU of its own, with a host whose two slow
// collectives go over a page that they share.
//
// Nothing may outlive a measurement or hang it: a child dies with its parent, ends after `limit_s` whatever it waits
// for, and is killed when another has failed, because the rest would wait for it for ever.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure/meeting.h"

namespace smelt {

// A child's place among the processes.
struct Rank : MeetingRank {
  // Lent to smelt_group_create; `this` must outlive the group.
  smelt_host host();
  // Can every process read every other's memory (cross memory attach)? Collective; the same answer for all.
  bool can_read_others();
};

// Runs `body` in one forked process per CPU of the list (kernel numbers), all at the same time; it returns 0, a
// negative errno, or anything else for failure. "" when all succeeded, otherwise one line that says what went wrong.
// The children leave their results in shared memory that the caller mapped before. The caller must have no other
// threads.
std::string run_processes(const std::vector<uint32_t>& cpus, const std::function<int(Rank&)>& body, unsigned limit_s);

}  // namespace smelt
