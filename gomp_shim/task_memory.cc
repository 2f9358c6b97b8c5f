#include "task_memory.h"

#include <cstdlib>
#include <new>

#include "base/os/os.h"
#include "own_tasks.h"

namespace smelt::gomp {

constexpr size_t kChunkBytes = 1 << 16;  // of a mapping: some 200 tasks

bool map_blocks(Worker& worker, uint32_t me) {
  void* memory = os::map_pages(kChunkBytes);
  if (!memory) return false;
  auto* chunk = new (memory) TaskChunk{worker.chunks};
  worker.chunks = chunk;
  auto* const blocks = static_cast<Task*>(memory);
  for (size_t i = 1; i < kChunkBytes / sizeof(Task); ++i) {  // the first is the TaskChunk's
    blocks[i].home = me;
    blocks[i].next = worker.free;
    worker.free = &blocks[i];
  }
  return true;
}

TaskTeam* make_team(Position& position) {
  auto& word = position_region(position).tasks;
  if (TaskTeam* const team = word.load(std::memory_order_acquire)) return team;
  auto* const team = static_cast<TaskTeam*>(os::map_pages(sizeof(TaskTeam)));
  TaskTeam* first = nullptr;
  if (!team || word.compare_exchange_strong(first, team, std::memory_order_acq_rel, std::memory_order_acquire))
    return team;
  os::unmap_pages(team, sizeof(TaskTeam));
  return first;
}

void free_tasks(Region& region) {
  TaskTeam* const team = region.tasks.load(std::memory_order_relaxed);  // its threads are gone
  if (!team) return;
  for (Worker& worker : team->workers) {
    if (worker.implicit.children) std::free(worker.implicit.children->entries);  // all else is in the chunks
    for (TaskChunk* chunk = worker.chunks; chunk;) {
      TaskChunk* const next = chunk->next;
      os::unmap_pages(chunk, kChunkBytes);
      chunk = next;
    }
  }
  os::unmap_pages(team, sizeof(TaskTeam));
  forget_tasks(region);
}

void forget_tasks(Region& region) {
  region.marked_by.store(nullptr, std::memory_order_relaxed);
  region.tasks.store(nullptr, std::memory_order_relaxed);
}

}  // namespace smelt::gomp
