// Messages over slots: the common part of all kinds. A kind K brings
//
//   mark(position)              the upper half of the word of a message that begins at this position; never 0 in a slot
//                               that is free
//   has_room(sender, end)       are the slots from sender.next up to `end` (not included) free?
//   occupy(slot)                a slot that continues a message
//   give_back(receiver, slots)  the message at receiver.next has been read: moves next on and tells the sender
#pragma once

#include <cerrno>
#include <cstring>

#include "library/queue/queue.h"

namespace smelt::queue {

template <size_t kPart>
void copy_part(void* to, const void* from, size_t at) {
  std::memcpy(static_cast<unsigned char*>(to) + at, static_cast<const unsigned char*>(from) + at, kPart);
}

// 0 .. 8 bytes: one copy or two that overlap.
inline void copy_short(void* to, const void* from, size_t bytes) {
  if (bytes == 8) return copy_part<8>(to, from, 0);
  if (bytes >= 4) return copy_part<4>(to, from, 0), copy_part<4>(to, from, bytes - 4);
  if (bytes >= 2) return copy_part<2>(to, from, 0), copy_part<2>(to, from, bytes - 2);
  if (bytes == 1) copy_part<1>(to, from, 0);
}

// Into a slot, 0 .. kPayload bytes, a word at a time: words that the caller has just written come out of the store
// buffer so. A wider load would wait until these stores are done, behind those into the slots before.
inline void fill_slot(void* to, const void* from, size_t bytes) {
  if (bytes <= 8) return copy_short(to, from, bytes);
  switch ((bytes - 1) / 8) {
    case 6: copy_part<8>(to, from, 40); [[fallthrough]];
    case 5: copy_part<8>(to, from, 32); [[fallthrough]];
    case 4: copy_part<8>(to, from, 24); [[fallthrough]];
    case 3: copy_part<8>(to, from, 16); [[fallthrough]];
    case 2: copy_part<8>(to, from, 8); [[fallthrough]];
    default: copy_part<8>(to, from, 0);
  }
  copy_part<8>(to, from, bytes - 8);
}

// Out of a slot: parts as wide as registers, the last of which overlaps.
inline void empty_slot(void* to, const void* from, size_t bytes) {
  if (bytes <= 8) return copy_short(to, from, bytes);
  if (bytes < 16) return copy_part<8>(to, from, 0), copy_part<8>(to, from, bytes - 8);
  copy_part<16>(to, from, 0);
  if (bytes > 32) {
    copy_part<16>(to, from, 16);
    copy_part<16>(to, from, bytes - 32);
  }
  copy_part<16>(to, from, bytes - 16);
}
static_assert(kPayload == 56);

template <typename K>
struct Messages {
  // The first polls of a wait, which suffice where the other side is at it.
  template <typename Look>
  static bool comes_soon(int32_t polls, Look look) {
    for (; polls > 0; --polls) {
      cpu_pause();
      if (look()) return true;
    }
    return false;
  }

  // --- sending

  static int can_send(End& end, uint64_t slots) {
    if (K::has_room(end.sender, end.sender.next + slots)) return 0;
    // acquire: nothing is read on the strength of it, but a caller that acts on the error may look at memory that the
    // readers left.
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
    fill_slot(sender.at(sender.next).payload, data, bytes);
    publish(sender, bytes, 1);
    return 0;
  }

  static int send(End& end, const void* data, size_t bytes) {
    int result;
    while ((result = try_send(end, data, bytes)) == -EAGAIN) {
      const uint64_t slots = slots_of(bytes);
      if (comes_soon(end.sender.burst, [&end, slots] { return K::has_room(end.sender, end.sender.next + slots); }))
        continue;
      if (const int error = wait_to_send(end, slots)) return error;
    }
    return result;
  }

  [[gnu::noinline]] static int try_send_long(End& end, const unsigned char* data, size_t bytes) {
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
      // acquire: the second look sees all that was sent before the sender closed.
      if (end.receiver.channel->senders.load(std::memory_order_acquire) != 0) return -EAGAIN;
      if (!is_here(end.receiver, &word)) return -EPIPE;
    }
    *bytes = static_cast<uint32_t>(word);
    // Others write this memory: a length that no end of ours sends must not lead out of it.
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
    if (length <= kPayload) [[likely]] {
      empty_slot(data, receiver.at(receiver.next).payload, length);
      K::give_back(receiver, 1);
    } else {
      take_long(receiver, static_cast<unsigned char*>(data), length);
    }
    return 0;
  }

  [[gnu::noinline]] static void take_long(Receiver& receiver, unsigned char* to, size_t bytes) {
    const uint64_t slots = slots_of(bytes);
    for (uint64_t i = 0; i + 1 < slots; ++i, to += kPayload, bytes -= kPayload)
      std::memcpy(to, receiver.at(receiver.next + i).payload, kPayload);
    empty_slot(to, receiver.at(receiver.next + slots - 1).payload, bytes);
    K::give_back(receiver, slots);
  }

  static int receive(End& end, void* data, size_t room, size_t* bytes) {
    int result;
    while ((result = try_receive(end, data, room, bytes)) == -EAGAIN) {
      uint64_t word;
      if (comes_soon(end.receiver.burst, [&] { return is_here(end.receiver, &word); })) continue;
      if (const int error = wait_to_receive(end)) return error;
    }
    return result;
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

  static constexpr QueueKind kind{try_send, try_receive, send,    receive,  reserve,
                                  commit,   peek,        consume, can_send, can_receive};
};

}  // namespace smelt::queue
