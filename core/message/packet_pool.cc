// Packets (packet_pool.h): taken from a list, given back to one or onto the stack, reclaimed from the dead.
#include "message/packet_pool.h"

#include "message/lock_bit.h"

namespace smelt {

namespace {

std::atomic<uint32_t> threads{0};
thread_local uint32_t own_number = 0;  // 0: not known yet

}  // namespace

// Threads are numbered as they come: neighbours do not share a list.
uint32_t PacketPool::own_list() const {
  if (alone_) return 0;
  // relaxed: any number will do
  if (own_number == 0) own_number = 1 + threads.fetch_add(1, std::memory_order_relaxed);
  return own_number % kLists;
}

void PacketReturns::give_back(uint32_t packet) const {
  // relaxed: the exchange finds out
  uint32_t top = stack->top.load(std::memory_order_relaxed);
  do next[packet] = top;
  while (!stack->top.compare_exchange_weak(top, packet + 1, std::memory_order_release, std::memory_order_relaxed));
  // release: we have read the packet, and its link. Those below keep theirs: an exchange continues their releases.
}

void PacketPool::write_full(const PacketReturns& returns, uint32_t packets, std::atomic<uint16_t>* holders) {
  returns_ = returns;
  packets_ = packets;
  holders_ = holders;
  for (uint32_t i = 0; i < packets; ++i) {
    returns_.next[i] = i + 1 < packets ? i + 2 : 0;
    holders_[i].store(0, std::memory_order_relaxed);
  }
  // relaxed: every looker has been told of the pool
  returns_.stack->top.store(packets ? 1 : 0, std::memory_order_relaxed);
}

bool PacketPool::pop(PacketList* list, uint32_t* packet) {
  uintptr_t rest;
  if (!try_lock(list->lock, &rest, alone_)) return false;
  uint32_t first = list->first;
  // relaxed: a hint
  if (!first && returns_.stack->top.load(std::memory_order_relaxed)) {
    // acquire: the receivers that returned them have read them; and their links
    first = returns_.stack->top.exchange(0, std::memory_order_acquire);
  }
  if (first) {
    list->first = returns_.next[first - 1];
    // relaxed: under the lock
    holders_[first - 1].store(0, std::memory_order_relaxed);
  }
  unlock(list->lock, 0);
  *packet = first - 1;
  return first != 0;
}

uint32_t PacketPool::take() {
  const uint32_t own = own_list();
  uint32_t packet;
  for (uint32_t i = 0; i < kLists; ++i)
    if (pop(&lists_[(own + i) % kLists], &packet)) return packet;
  return kNoPacket;
}

void PacketPool::give_back(uint32_t packet) {
  PacketList& list = lists_[own_list()];
  uintptr_t rest;
  if (!try_lock(list.lock, &rest, alone_)) return returns_.give_back(packet);
  returns_.next[packet] = list.first;
  list.first = packet + 1;
  unlock(list.lock, 0);
}

void PacketPool::hand_to(uint32_t packet, uint16_t member) {
  // release: we have written it. Once that member has died, another of our threads may take it back and write it.
  holders_[packet].store(static_cast<uint16_t>(member + 1), std::memory_order_release);
}

// Every packet is in a list, on the stack, with one of our threads (which has no holder then), or with its holder. With
// all lists locked none moves but onto the stack, and the dead puts none there.
uint32_t PacketPool::reclaim(uint16_t member) {
  for (PacketList& list : lists_) lock(list.lock);
  PacketList& last = lists_[kLists - 1];
  const auto free_all = [&](uint32_t first) {
    for (; first; first = returns_.next[first - 1]) holders_[first - 1].store(0, std::memory_order_relaxed);
  };
  for (PacketList& list : lists_) free_all(list.first);
  // acquire: as in pop()
  uint32_t first = returns_.stack->top.exchange(0, std::memory_order_acquire);
  free_all(first);
  while (first) {
    const uint32_t next = returns_.next[first - 1];
    returns_.next[first - 1] = last.first;
    last.first = first;
    first = next;
  }
  uint32_t reclaimed = 0;
  for (uint32_t i = 0; i < packets_; ++i) {
    // acquire: the thread that handed it over has written it. It did so before that member was known to be dead, or it
    // is found next time.
    if (holders_[i].load(std::memory_order_acquire) != member + 1) continue;
    holders_[i].store(0, std::memory_order_relaxed);
    returns_.next[i] = last.first;
    last.first = i + 1;
    ++reclaimed;
  }
  for (PacketList& list : lists_) unlock(list.lock, 0);
  return reclaimed;
}

}  // namespace smelt
