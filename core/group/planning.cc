#include "group/planning.h"

#include <pthread.h>
#include <cerrno>

#include "base/os/os.h"
#include "generate/registry.h"
#include "profile/profile.h"

namespace smelt {
namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
char* room = nullptr;  // guarded by the mutex
size_t room_bytes = 0;

// So many bytes of pages are kept from one use to the next: as much as the patterns of a few ranks take.
constexpr size_t kKept = 128 << 10;

}  // namespace

int reserve_planning(uint32_t n) {
  const size_t bytes = generation_bytes(n);
  int error = 0;
  pthread_mutex_lock(&mutex);
  if (bytes > room_bytes) {
    void* const made = os::map_pages(bytes);
    if (made) {
      if (room) os::unmap_pages(room, room_bytes);
      room = static_cast<char*>(made);
      room_bytes = bytes;
    } else {
      error = -ENOMEM;
    }
  }
  pthread_mutex_unlock(&mutex);
  return error;
}

void release_planning() {
  pthread_mutex_lock(&mutex);
  if (room) os::unmap_pages(room, room_bytes);
  room = nullptr;
  room_bytes = 0;
  pthread_mutex_unlock(&mutex);
}

PlanningRoom::PlanningRoom() { pthread_mutex_lock(&mutex); }
PlanningRoom::~PlanningRoom() {
  if (room_bytes > kKept) os::discard_pages(room + kKept, room_bytes - kKept);
  pthread_mutex_unlock(&mutex);
}
Arena PlanningRoom::arena() const { return Arena(room, room_bytes); }

}  // namespace smelt
