// Memory for messages that wait in this process (store.h): chunks of the kernel's, cut into messages and parcels.
#include "message/store.h"

#include <algorithm>
#include <bit>
#include <new>

#include "base/os/os.h"
#include "message/lock_bit.h"

namespace smelt::message {

namespace {

constexpr uint64_t kChunkBytes = 256 * 1024, kLeastParcel = 512;
constexpr uint64_t kChunkHead = 64;  // the chunk's own word, and then what is cut from it begins a line

// The number of a list of parcels: of kLeastParcel bytes, of twice as many, ...
int parcel_size(uint64_t bytes) { return std::bit_width((std::max<uint64_t>(bytes, 1) - 1) / kLeastParcel); }

}  // namespace

bool Store::is_same_size(uint64_t bytes, uint64_t others) { return parcel_size(bytes) == parcel_size(others); }

void Store::put_back(Free*& free, void* place) { free = new (place) Free{free}; }

void* Store::new_chunk() {
  static_assert(kMostParcel == kLeastParcel << (kParcelSizes - 1) && kMostParcel <= kChunkBytes - kChunkHead);
  auto* chunk = static_cast<Chunk*>(os::map_pages(kChunkBytes));
  if (!chunk) return nullptr;
  chunk->next = chunks_;
  chunks_ = chunk;
  return reinterpret_cast<char*>(chunk) + kChunkHead;
}

void* Store::take(Free*& free, uint64_t each) {
  lock(lock_, alone_);
  if (!free) {
    if (auto* first = static_cast<char*>(new_chunk()))
      for (uint64_t at = 0; at + each <= kChunkBytes - kChunkHead; at += each) put_back(free, first + at);
  }
  Free* const place = free;
  if (place) free = place->next;
  unlock(lock_, 0);
  return place;
}

void Store::give(Free*& free, void* place) {
  lock(lock_, alone_);
  put_back(free, place);
  unlock(lock_, 0);
}

Message* Store::new_message() {
  void* const place = take(messages_, sizeof(Message));
  return place ? new (place) Message : nullptr;
}
void Store::free_message(Message* message) { give(messages_, message); }

void* Store::new_parcel(uint64_t bytes) {
  const int size = parcel_size(bytes);
  return take(parcels_[size], kLeastParcel << size);
}
void Store::free_parcel(void* parcel, uint64_t bytes) { give(parcels_[parcel_size(bytes)], parcel); }

void Store::close() {
  for (Chunk *chunk = chunks_, *next; chunk; chunk = next) {
    next = chunk->next;
    os::unmap_pages(chunk, kChunkBytes);
  }
}

}  // namespace smelt::message
