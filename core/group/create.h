// The steps of a group's creation. They are taken in two ways: the participants tell each other by their host's
// collectives (create.cc), or by their pool's letters (pool.cc).
#pragma once

#include "group/group.h"

namespace smelt {

// All that a participant has to itself, with memory reserved for planning; nullptr without memory.
smelt_group* make_group(uint32_t n);
void free_memory(smelt_group* group);

// The leader's: a block for a group of n. 0 or -ENOMEM.
int offer(uint32_t n, Block* block, BlockTicket* ticket);
// Each member that has been told the ticket calls it: the block is mapped, and our desk and introduction are in it.
int take_seat(Group& group, const BlockTicket& ticket);
// It is called when all have; `error` is what all have agreed on. Leaves nothing of the group where it returns an
// error.
int complete_group(smelt_group* group, int error);

// How this participant has been told that the group is used, and the conclusion of all. It only says which method
// serves a size, so a group that disagrees is no failure.
smelt_sync asked_sync(const smelt_host& host);
void settle_sync(Group& group, smelt_sync asked, bool agreed);

}  // namespace smelt
