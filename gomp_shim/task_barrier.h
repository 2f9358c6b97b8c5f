// Barriers before which tasks were made: own_tasks.h.
#pragma once

#include "task_memory.h"

namespace smelt::gomp {

// The maker's next barrier is to be drained, by all.
void mark_drained_anew(Position& position, Worker& worker, const Task* task);
inline void mark_drained(Position& position, Worker& worker, const Task* task) {
  if (position.marked != position.epoch + 1) mark_drained_anew(position, worker, task);
}

}  // namespace smelt::gomp
