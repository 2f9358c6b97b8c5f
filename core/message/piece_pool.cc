// Pieces (piece_pool.h): taken, handed out, come back, reclaimed from the dead.
#include "message/piece_pool.h"

#include <bit>

#include "message/lock_bit.h"

namespace smelt {

void PiecePool::write_full(PieceReturns* returns, uint32_t pieces, std::atomic<uint16_t>* holders) {
  returns_ = returns;
  pieces_ = pieces;
  holders_ = holders;
  free_ = 0;
  for (uint32_t i = 0; i < pieces; ++i) set_free(i);
}

// The caller holds the lock. Its receiver has read it or is dead, so nobody else knows of it.
void PiecePool::set_free(uint32_t piece) {
  // relaxed, both: whoever is handed the piece next is told after them
  returns_->is_back[piece].store(0, std::memory_order_relaxed);
  holders_[piece].store(0, std::memory_order_relaxed);
  free_ |= 1u << piece;
}

// The caller holds the lock.
void PiecePool::collect() {
  for (uint32_t i = 0; i < pieces_; ++i) {
    // relaxed: one that is being handed over just now has not come back
    if (holders_[i].load(std::memory_order_relaxed) == 0) continue;
    // acquire: the receiver has read it
    if (returns_->is_back[i].load(std::memory_order_acquire)) set_free(i);
  }
}

uint32_t PiecePool::take() {
  uintptr_t rest;
  if (!try_lock(lock_, &rest, alone_)) return kNoPacket;
  if (free_ == 0) collect();
  const uint32_t piece = free_ ? static_cast<uint32_t>(std::countr_zero(free_)) : kNoPacket;
  free_ &= free_ - 1;
  unlock(lock_, 0);
  return piece;
}

void PiecePool::give_back(uint32_t piece) {
  lock(lock_, alone_);
  free_ |= 1u << piece;
  unlock(lock_, 0);
}

void PiecePool::hand_to(uint32_t piece, uint16_t member) {
  // release: we have written it. Once that member has died, another of our threads may take it back and write it.
  holders_[piece].store(static_cast<uint16_t>(member + 1), std::memory_order_release);
}

uint32_t PiecePool::reclaim(uint16_t member) {
  uint32_t reclaimed = 0;
  lock(lock_);
  for (uint32_t i = 0; i < pieces_; ++i) {
    // acquire: the thread that handed it over has written it. It did so before that member was known to be dead, or it
    // is found next time. Whether the dead has given it back does not matter.
    if (holders_[i].load(std::memory_order_acquire) != member + 1) continue;
    set_free(i);
    ++reclaimed;
  }
  unlock(lock_, 0);
  return reclaimed;
}

}  // namespace smelt
