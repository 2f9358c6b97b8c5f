// Memory for messages that wait in this process: messages that have come and that nobody has asked for, answers for
// which there is no room, and bytes that a carrier has in hand.
//
// It is taken from the kernel in chunks and never given back before the endpoint is closed. Free messages are in one
// list, free parcels in a list for each size, and one lock is over all. Any thread may call anything; nullptr: the
// machine has no memory.
#pragma once

#include <atomic>
#include <cstdint>

#include "message/area.h"
#include "message/match.h"
#include "message/request.h"

namespace smelt::message {

// A message that has come, for as long as nobody has received it; then what is to be said to its sender.
struct Message {
  MatchMessage node;
  Header header;
  char bytes[kInCellBytes];
  uint16_t sender;
  Request* receive;  // the receive that gets it
  Message* behind;   // in a list
};

class Store {
 public:
  static constexpr uint64_t kMostParcel = 128 * 1024;

  void set_alone(bool alone) { alone_ = alone; }  // lock_bit.h
  void close();                                   // nobody uses it, or has memory of it, any more

  Message* new_message();
  void free_message(Message* message);
  // Room for so many bytes, at most kMostParcel: of the next power of two, so that many short messages take little more
  // than they need.
  void* new_parcel(uint64_t bytes);
  void free_parcel(void* parcel, uint64_t bytes);
  // Does room for the one serve the other?
  static bool is_same_size(uint64_t bytes, uint64_t others);

 private:
  static constexpr int kParcelSizes = 9;  // from 512 bytes to kMostParcel, each twice the one before
  struct Free {
    Free* next;
  };
  struct Chunk {
    Chunk* next;
  };

  // A place of `each` bytes from a list of such, and back.
  void* take(Free*& free, uint64_t each);
  void give(Free*& free, void* place);
  // The caller holds the lock.
  static void put_back(Free*& free, void* place);
  void* new_chunk();

  bool alone_ = false;
  alignas(64) std::atomic<uintptr_t> lock_{0};  // of all that follows
  Free* messages_ = nullptr;
  Free* parcels_[kParcelSizes] = {};
  Chunk* chunks_ = nullptr;  // all that the kernel has given
};

}  // namespace smelt::message
