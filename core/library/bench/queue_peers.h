// The peers of the library's queues, between two ends 0 and 1. All offer
//
//   send(from, data)     a message of the length that was said at the beginning, from that end to the other
//   receive(at, data)    the next one that was sent to that end
//
// for one sender and one receiver of each direction, and wait by spinning unless the system waits for them.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#ifdef SMELT_HAVE_BOOST
#include <boost/lockfree/spsc_queue.hpp>
#endif

#include "base/arch/cpu.h"

namespace smelt::bench {

inline constexpr size_t kSlotPayload = 56;
constexpr size_t slots_for(size_t bytes) { return std::max<size_t>(1, (bytes + kSlotPayload - 1) / kSlotPayload); }
// Whole messages that fit into a queue of so many slots.
constexpr size_t messages_in(size_t capacity, size_t bytes) { return std::max<size_t>(1, capacity / slots_for(bytes)); }

// The raw ping-pong: a line for each direction, written by one and polled by the other. No payload, and no message may
// follow before the last was answered: the least cost of a round trip between these two CPUs.
class RawLines {
 public:
  void send(int from, const unsigned char*) {
    lines_[from].epoch.store(++count_[from].sent, std::memory_order_release);
  }
  void receive(int at, unsigned char*) {
    const uint64_t wanted = ++count_[at].received;
    while (lines_[1 - at].epoch.load(std::memory_order_acquire) != wanted) cpu_pause();
  }

 private:
  struct alignas(kLineBytes) Line {
    std::atomic<uint64_t> epoch{0};
  };
  struct alignas(kLineBytes) Count {
    uint64_t sent = 0, received = 0;
  };
  Line lines_[2];
  Count count_[2];
};

// A ring as one writes it by hand where the length is known: the same lines as the library's, a sequence number in each
// message's first, a line in which the receiver says every quarter of the ring how far it is. No waiting but spinning,
// no lengths, no checks, nobody who leaves.
template <size_t kBytes>
class HandRing {
 public:
  explicit HandRing(size_t capacity) {
    size_t ring = std::bit_ceil(std::max<size_t>(4, capacity));
    if (ring - ring / 4 + 1 < capacity) ring *= 2;
    for (Direction& one : directions_) one.open(ring);
  }

  void send(int from, const unsigned char* data) {
    Direction& d = directions_[from];
    const uint64_t next = d.sender.next, end = next + kSlots;
    while (end > d.sender.free) {
      d.sender.free = d.read.load(std::memory_order_acquire) + d.ring;
      if (end > d.sender.free) cpu_pause();
    }
    for (size_t i = 0; i < kSlots; ++i) copy(d.at(next + i).payload, data + i * kSlotPayload, length_of(i));
    d.at(next).number.store(next, std::memory_order_release);
    d.sender.next = end;
  }

  void receive(int at, unsigned char* data) {
    Direction& d = directions_[1 - at];
    const uint64_t next = d.receiver.next;
    while (d.at(next).number.load(std::memory_order_acquire) != next) cpu_pause();
    for (size_t i = 0; i < kSlots; ++i) copy(data + i * kSlotPayload, d.at(next + i).payload, length_of(i));
    d.receiver.next = next + kSlots;
    if (d.receiver.next - d.receiver.told < d.ring / 4) return;
    d.receiver.told = d.receiver.next;
    d.read.store(d.receiver.next, std::memory_order_release);
  }

 private:
  static constexpr size_t kSlots = slots_for(kBytes);

  struct alignas(64) Slot {
    std::atomic<uint64_t> number{0};
    unsigned char payload[kSlotPayload];
  };
  struct Direction {
    std::vector<Slot> slots;
    size_t ring = 0;
    alignas(kLineBytes) std::atomic<uint64_t> read{0};
    struct alignas(kLineBytes) {
      uint64_t next = 0, free = 0;
    } sender;
    struct alignas(kLineBytes) {
      uint64_t next = 0, told = 0;
    } receiver;

    // Positions begin at `ring`, so that the numbers of empty slots are none of them.
    void open(size_t size) {
      slots = std::vector<Slot>(size);
      ring = size;
      read = sender.next = receiver.next = receiver.told = size;
      sender.free = 2 * size;
    }
    Slot& at(uint64_t position) { return slots[position & (ring - 1)]; }
  };

  static constexpr size_t length_of(size_t slot) { return std::min(kSlotPayload, kBytes - slot * kSlotPayload); }
  // By words, as one writes it: words that were just stored come out of the store buffer so.
  static void copy(unsigned char* to, const unsigned char* from, size_t bytes) {
    if constexpr (kBytes <= kSlotPayload) {
      static_assert(kBytes % 8 == 0);
      for (size_t i = 0; i < kBytes; i += 8) {
        uint64_t word;
        std::memcpy(&word, from + i, 8);
        std::memcpy(to + i, &word, 8);
      }
    } else {
      std::memcpy(to, from, bytes);
    }
  }

  Direction directions_[2];
};

#ifdef SMELT_HAVE_BOOST
// boost::lockfree::spsc_queue, of as many bytes.
template <size_t kBytes>
class BoostQueues {
 public:
  explicit BoostQueues(size_t capacity)
      : queues_{Queue(messages_in(capacity, kBytes)), Queue(messages_in(capacity, kBytes))} {}

  void send(int from, const unsigned char* data) {
    while (!queues_[from].push(*reinterpret_cast<const Message*>(data))) cpu_pause();
  }
  void receive(int at, unsigned char* data) {
    while (!queues_[1 - at].pop(*reinterpret_cast<Message*>(data))) cpu_pause();
  }

 private:
  struct Message {
    unsigned char bytes[std::max<size_t>(1, kBytes)];
  };
  using Queue = boost::lockfree::spsc_queue<Message>;
  Queue queues_[2];
};
#endif

// Two pipes. A pipe has no messages without bytes: they are sent as one.
class Pipes {
 public:
  explicit Pipes(size_t bytes) : bytes_(std::max<size_t>(1, bytes)) {
    for (auto& ends : ends_) opened_ = opened_ && pipe(ends) == 0;
  }
  ~Pipes() {
    for (const auto& ends : ends_)
      for (const int end : ends)
        if (end >= 0) close(end);
  }
  Pipes(const Pipes&) = delete;
  Pipes& operator=(const Pipes&) = delete;

  bool opened() const { return opened_; }
  void send(int from, const unsigned char* data) {
    for (size_t done = 0; done < bytes_;) {
      const ssize_t wrote = write(ends_[from][1], data + done, bytes_ - done);
      if (wrote > 0) done += static_cast<size_t>(wrote);
    }
  }
  void receive(int at, unsigned char* data) {
    for (size_t done = 0; done < bytes_;) {
      const ssize_t got = read(ends_[1 - at][0], data + done, bytes_ - done);
      if (got > 0) done += static_cast<size_t>(got);
    }
  }

 private:
  const size_t bytes_;
  int ends_[2][2] = {{-1, -1}, {-1, -1}};
  bool opened_ = true;
};

// Two rings, each guarded by a mutex, with condition variables for "not empty" and "not full".
class GuardedQueues {
 public:
  GuardedQueues(size_t capacity, size_t bytes) : bytes_(bytes), most_(messages_in(capacity, bytes)) {
    for (Direction& one : directions_) one.memory.resize(most_ * bytes_);
  }

  void send(int from, const unsigned char* data) {
    Direction& d = directions_[from];
    {
      std::unique_lock lock(d.mutex);
      d.not_full.wait(lock, [&] { return d.sent - d.received < most_; });
      if (bytes_ != 0) std::memcpy(d.memory.data() + d.sent % most_ * bytes_, data, bytes_);
      ++d.sent;
    }
    d.not_empty.notify_one();
  }
  void receive(int at, unsigned char* data) {
    Direction& d = directions_[1 - at];
    {
      std::unique_lock lock(d.mutex);
      d.not_empty.wait(lock, [&] { return d.sent != d.received; });
      if (bytes_ != 0) std::memcpy(data, d.memory.data() + d.received % most_ * bytes_, bytes_);
      ++d.received;
    }
    d.not_full.notify_one();
  }

 private:
  struct alignas(kLineBytes) Direction {
    std::mutex mutex;
    std::condition_variable not_empty, not_full;
    uint64_t sent = 0, received = 0;
    std::vector<unsigned char> memory;
  };
  const size_t bytes_, most_;
  Direction directions_[2];
};

}  // namespace smelt::bench
