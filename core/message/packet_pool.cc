#include "message/packet_pool.h"

#include "message/lock_bit.h"

namespace smelt {

namespace {

std::atomic<uint32_t> threads{0};
thread_local uint32_t own_number = 0;  // 0: not known yet

// Threads are numbered as they come: neighbours do not share a list.
uint32_t own_list() {
  // relaxed: any number will do
  if (own_number == 0) own_number = 1 + threads.fetch_add(1, std::memory_order_relaxed);
  return own_number % PacketPool::kLists;
}

}  // namespace

void PacketReturns::give_back(uint32_t packet) const {
  // relaxed: the exchange finds out
  uint32_t top = stack->top.load(std::memory_order_relaxed);
  do next[packet] = top;
  while (!stack->top.compare_exchange_weak(top, packet + 1, std::memory_order_release, std::memory_order_relaxed));
  // release: we have read the packet, and its link. Those below keep theirs: an exchange continues their releases.
}

void PacketPool::write_full(const PacketReturns& returns, uint32_t packets) {
  returns_ = returns;
  for (uint32_t i = 0; i < packets; ++i) returns_.next[i] = i + 1 < packets ? i + 2 : 0;
  // relaxed: whoever looks has been told of the pool
  returns_.stack->top.store(packets ? 1 : 0, std::memory_order_relaxed);
}

bool PacketPool::pop(PacketList* list, uint32_t* packet) {
  uintptr_t rest;
  if (!try_lock(list->lock, &rest)) return false;
  const uint32_t first = list->first;
  if (first) list->first = returns_.next[first - 1];
  unlock(list->lock, 0);
  *packet = first - 1;
  return first != 0;
}

// A chain from packet `first` to packet `last`.
bool PacketPool::push(PacketList* list, uint32_t first, uint32_t last) {
  uintptr_t rest;
  if (!try_lock(list->lock, &rest)) return false;
  returns_.next[last] = list->first;
  list->first = first + 1;
  unlock(list->lock, 0);
  return true;
}

uint32_t PacketPool::take() {
  const uint32_t own = own_list();
  uint32_t packet;
  if (pop(&lists_[own], &packet)) return packet;
  // relaxed: a hint. acquire: whoever returned them has read them, and their links.
  if (returns_.stack->top.load(std::memory_order_relaxed)) {
    const uint32_t top = returns_.stack->top.exchange(0, std::memory_order_acquire);
    if (top) {
      uint32_t rest = returns_.next[top - 1];
      if (rest) {
        uint32_t last = rest - 1;
        while (returns_.next[last]) last = returns_.next[last] - 1;
        // A thief has our list: what is left goes to another, or back one by one.
        bool kept = false;
        for (uint32_t i = 0; i < kLists && !kept; ++i) kept = push(&lists_[(own + i) % kLists], rest - 1, last);
        while (!kept && rest) {
          const uint32_t one = rest - 1;
          rest = returns_.next[one];
          returns_.give_back(one);
        }
      }
      return top - 1;
    }
  }
  for (uint32_t i = 1; i < kLists; ++i)
    if (pop(&lists_[(own + i) % kLists], &packet)) return packet;
  return kNoPacket;
}

void PacketPool::give_back(uint32_t packet) {
  if (!push(&lists_[own_list()], packet, packet)) returns_.give_back(packet);
}

}  // namespace smelt
