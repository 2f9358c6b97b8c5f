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

// Which of the lists of parcels: of kLeastParcel bytes, of twice as many, ...
int parcel_size(uint64_t bytes) { return std::bit_width((std::max<uint64_t>(bytes, 1) - 1) / kLeastParcel); }

}  // namespace

bool Store::is_same_size(uint64_t bytes, uint64_t others) { return parcel_size(bytes) == parcel_size(others); }

// Under the lock.
void* Store::new_chunk() {
  static_assert(kMostParcel == kLeastParcel << (kParcelSizes - 1) && kMostParcel <= kChunkBytes - kChunkHead);
  auto* chunk = static_cast<Chunk*>(os::map_pages(kChunkBytes));
  if (!chunk) return nullptr;
  chunk->next = chunks_;
  chunks_ = chunk;
  return reinterpret_cast<char*>(chunk) + kChunkHead;
}

Message* Store::new_message() {
  lock(lock_, alone_);
  if (!messages_) {
    if (auto* first = static_cast<Message*>(new_chunk())) {
      for (uint64_t i = 0; i < (kChunkBytes - kChunkHead) / sizeof(Message); ++i) {
        auto* message = new (first + i) Message;
        message->behind = messages_;
        messages_ = message;
      }
    }
  }
  Message* message = messages_;
  if (message) messages_ = message->behind;
  unlock(lock_, 0);
  return message;
}

void Store::free_message(Message* message) {
  lock(lock_, alone_);
  message->behind = messages_;
  messages_ = message;
  unlock(lock_, 0);
}

void* Store::new_parcel(uint64_t bytes) {
  const int size = parcel_size(bytes);
  lock(lock_, alone_);
  Parcel*& free = parcels_[size];
  if (!free) {
    if (auto* first = static_cast<char*>(new_chunk())) {
      const uint64_t each = kLeastParcel << size;
      for (uint64_t at = 0; at + each <= kChunkBytes - kChunkHead; at += each) {
        auto* parcel = reinterpret_cast<Parcel*>(first + at);
        parcel->next = free;
        free = parcel;
      }
    }
  }
  Parcel* parcel = free;
  if (parcel) free = parcel->next;
  unlock(lock_, 0);
  return parcel;
}

void Store::free_parcel(void* memory, uint64_t bytes) {
  auto* parcel = static_cast<Parcel*>(memory);
  Parcel*& free = parcels_[parcel_size(bytes)];
  lock(lock_, alone_);
  parcel->next = free;
  free = parcel;
  unlock(lock_, 0);
}

void Store::close() {
  for (Chunk *chunk = chunks_, *next; chunk; chunk = next) {
    next = chunk->next;
    os::unmap_pages(chunk, kChunkBytes);
  }
}

}  // namespace smelt::message
