// A send or a receive under way: the request that its owner keeps until it is complete, and how it is completed.
//
// `state` is the word that owner, waiter and completer share. It says pending, or names the waiter (waiters.h), until
// the completer writes there that the request is complete. From then on the request, and its buffer, are the owner's
// again: the completer touches them no more, but for calling `completed`.
#pragma once

#include <atomic>
#include <cstdint>

#include "message/match.h"
#include "message/packet_pool.h"

namespace smelt::message {

struct Message;
struct Waiter;

struct Request {
  MatchNode node;  // of a receive. The first member
  static constexpr uintptr_t kPending = 0, kComplete = 1;
  std::atomic<uintptr_t> state{kComplete};  // or the Waiter that waits for it
  // Valid when it is complete. 0; -EMSGSIZE: the message was longer than the buffer, whose end it does not have;
  // -EPIPE: the other has died, -EIO: its memory could not be read to the end; -ECANCELED: by cancel().
  int error = 0;
  uint16_t peer = 0;    // receiver; of a receive, the message's sender
  int32_t tag = 0;      // the message's
  uint64_t length = 0;  // the message's

  // Set before it begins, each nullptr or a function. They stay.
  // It has been completed otherwise than within send(), receive(), receive_held() or cancel(): by a thread that makes
  // progress, the last that is done to it. It may send and receive, and must not wait. (test() may have said so
  // before.)
  void (*completed)(Request* request) = nullptr;
  // A receive's data, in place of being copied to the buffer; a send's that begins without `data`: bytes
  // [at, at + bytes) of the message. Consecutive, one call at a time, from any thread; they must not call the endpoint.
  void (*unpack)(Request* receive, uint64_t at, const void* data, uint64_t bytes) = nullptr;
  void (*pack)(Request* send, uint64_t at, void* data, uint64_t bytes) = nullptr;
  // A receive that only takes its message out of the others' way; receive_held() must follow.
  bool holds = false;

  // The endpoint's
  enum Stage : uint8_t { kBegun, kAnnounced, kInPieces, kEnded };
  std::atomic<Stage> stage{kBegun};
  bool is_send = false;
  bool synchronous = false;
  uint16_t context = 0;
  uint32_t packet = kNoPacket;  // that is filled, and not yet under way
  const void* data = nullptr;
  void* buffer = nullptr;
  uint64_t capacity = 0;
  uint64_t moved = 0, wanted = 0;  // bytes: that have gone, or come, in pieces; that will
  uint64_t other = 0;              // the receive's address, in its process; elsewhere: its name there
  uint64_t slot = 0, arrived = 0;  // to or from elsewhere: our name for it; bytes of those that have moved
  uint64_t began = 0;              // ticks: a receive has met its message; 0: its time does not count (way_trials.h)
  bool goes_both_ways = false;  // ... and it is the work that counts. Of a send: the receiver asks what its pieces take
  uint64_t work = 0;            // ticks of both sides, spent on pieces; of a send, on the next one
  uint32_t part = 0;            // bytes at a time
  Request* behind = nullptr;    // in the queue of its receiver
  Message* held = nullptr;

  bool is_complete() const {
    // acquire: all that the completer did
    return state.load(std::memory_order_acquire) == kComplete;
  }
};

// Tells a waiter that one of its requests is complete (waiters.cc).
void signal(Waiter* waiter);

// It is used within the call of its owner, whom nobody knows to wait for it.
inline void end(Request* request) {
  // release: for the thread to which it may be handed over
  request->state.store(Request::kComplete, std::memory_order_release);
}

// Nobody else has it any more but its waiter. `alone` (lock_bit.h): so nobody waits by name. `by_owner`: the owner
// itself ends it, and need not be told.
inline void finish(Request* request, bool alone, bool by_owner = false) {
  void (*const completed)(Request*) = by_owner ? nullptr : request->completed;
  if (alone) {
    end(request);
    if (completed) completed(request);
    return;
  }
  // acq_rel: the buffer and the request's words; the waiter
  const uintptr_t waiter = request->state.exchange(Request::kComplete, std::memory_order_acq_rel);
  if (completed) completed(request);
  if (waiter != Request::kPending) [[unlikely]]
    signal(reinterpret_cast<Waiter*>(waiter));
}

// Lists with both ends, through `behind`.
template <typename T>
inline void push_back(T** first, T** last, T* one) {
  one->behind = nullptr;
  (*first ? (*last)->behind : *first) = one;
  *last = one;
}
template <typename T>
inline bool remove_from(T** first, T** last, T* one) {
  T *before = nullptr, *at = *first;
  for (; at && at != one; at = at->behind) before = at;
  if (!at) return false;
  (before ? before->behind : *first) = at->behind;
  if (*last == at) *last = before;
  return true;
}

}  // namespace smelt::message
