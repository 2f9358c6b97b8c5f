// Messages over slots: what all kinds have in common. A kind K brings
//
//   mark(position)              the upper half of the word of a message that begins at this position; never 0 in a slot
//                               that is free
//   has_room(sender, end)       are the slots from sender.next up to `end` (not included) free?
//   occupy(slot)                a slot that continues a message
//   give_back(receiver, slots)  the message at receiver.next has been read: moves next on and tells the sender
#pragma once

#include <cerrno>
#include <cstring>

#include "queue/queue.h"

namespace smelt::queue {

template <typename K>
struct Messages {
  // --- sending

  static int can_send(End& end, uint64_t slots) {
    if (K::has_room(end.sender, end.sender.next + slots)) return 0;
    // acquire: nothing is read on the strength of it, but who acts on the error may look at what the readers left.
    return end.sender.channel->receivers.load(std::memory_order_acquire) == 0 ? -EPIPE : -EAGAIN;
  }

  static void publish(Sender& sender, size_t bytes, uint64_t slots) {
    // release: the payload, here and in the slots that follow, comes before the word.
    sender.at(sender.next).word.store(K::mark(sender.next) << 32 | bytes, std::memory_order_release);
    sender.next += slots;
    ring(sender.channel->sent, sender.channel->sent.cpu);
  }

  static int try_send(End& end, const void* data, size_t bytes) {
    Sender& sender = end.sender;
    if (bytes > kPayload) return try_send_long(end, static_cast<const unsigned char*>(data), bytes);
    if (const int error = can_send(end, 1)) return error;
    if (bytes != 0) std::memcpy(sender.at(sender.next).payload, data, bytes);
    publish(sender, bytes, 1);
    return 0;
  }

  static int try_send_long(End& end, const unsigned char* data, size_t bytes) {
    if (bytes > end.limit) return -EMSGSIZE;
    Sender& sender = end.sender;
    const uint64_t slots = slots_of(bytes);
    if (const int error = can_send(end, slots)) return error;
    std::memcpy(sender.at(sender.next).payload, data, kPayload);
    for (uint64_t i = 1; i < slots; ++i) {
      const size_t done = i * kPayload, left = bytes - done;
      Slot& slot = sender.at(sender.next + i);
      K::occupy(slot);
      std::memcpy(slot.payload, data + done, left < kPayload ? left : kPayload);
    }
    publish(sender, bytes, slots);
    return 0;
  }

  static int reserve(End& end, void** payload) {
    if (const int error = can_send(end, 1)) return error;
    end.sender.reserved = end.sender.next;
    *payload = end.sender.at(end.sender.next).payload;
    return 0;
  }

  static int commit(End& end, size_t bytes) {
    if (end.sender.reserved != end.sender.next || bytes > kPayload) return -EINVAL;
    publish(end.sender, bytes, 1);
    return 0;
  }

  // --- receiving

  // The word of the message at `next`.
  static bool is_here(const Receiver& receiver, uint64_t* word) {
    // acquire: the message, which was written before the word, is read after it.
    *word = receiver.at(receiver.next).word.load(std::memory_order_acquire);
    return *word >> 32 == K::mark(receiver.next);
  }

  static int find(End& end, size_t* bytes) {
    uint64_t word;
    if (!is_here(end.receiver, &word)) {
      // acquire: what was sent before the sender closed is seen by the second look.
      if (end.receiver.channel->senders.load(std::memory_order_acquire) != 0) return -EAGAIN;
      if (!is_here(end.receiver, &word)) return -EPIPE;
    }
    *bytes = static_cast<uint32_t>(word);
    // Others write this memory: what no end of ours sends must not lead out of it.
    return *bytes <= end.limit ? 0 : -EPROTO;
  }

  static int can_receive(End& end) {
    size_t bytes;
    return find(end, &bytes);
  }

  static int try_receive(End& end, void* data, size_t room, size_t* bytes) {
    Receiver& receiver = end.receiver;
    size_t length;
    if (const int error = find(end, &length)) return error;
    *bytes = length;
    if (length > room) return -EMSGSIZE;
    auto* to = static_cast<unsigned char*>(data);
    const uint64_t slots = slots_of(length);
    for (uint64_t i = 0; i < slots; ++i, to += kPayload, length -= kPayload) {
      if (length <= kPayload) {
        if (length != 0) std::memcpy(to, receiver.at(receiver.next + i).payload, length);
        break;
      }
      std::memcpy(to, receiver.at(receiver.next + i).payload, kPayload);
    }
    K::give_back(receiver, slots);
    return 0;
  }

  static int peek(End& end, const void** payload, size_t* bytes) {
    size_t length;
    if (const int error = find(end, &length)) return error;
    *bytes = length;
    if (length > kPayload) return -EMSGSIZE;
    *payload = end.receiver.at(end.receiver.next).payload;
    return 0;
  }

  static int consume(End& end) {
    size_t length;
    if (const int error = find(end, &length)) return error;
    K::give_back(end.receiver, slots_of(length));
    return 0;
  }

  static constexpr Kind kind{try_send, try_receive, reserve, commit, peek, consume, can_send, can_receive};
};

// The upper half of a word: the position's lower 32 bits. They differ from what was in the slot before, which is the
// number of one lap earlier or, at first, 0.
inline uint64_t sequence_number(uint64_t position) { return static_cast<uint32_t>(position); }

// Tells the sender, every quarter of the ring only: every store into that line may cost both a miss. So less than a
// quarter is read and not given back yet, which create.cc adds to the ring.
inline void acknowledge(Receiver& receiver) {
  if (receiver.next - receiver.acknowledged < receiver.ring / 4) return;
  receiver.acknowledged = receiver.next;
  // release: the slots have been read before they may be overwritten.
  receiver.own->read.store(receiver.next, std::memory_order_release);
  ring(receiver.channel->read, receiver.own->cpu);
}

}  // namespace smelt::queue
