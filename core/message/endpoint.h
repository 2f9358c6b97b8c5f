// Messages between the participants of one machine: one endpoint each, over memory that all share.
//
// A message is asked for by context, source and tag (match.h), and travels in one of three ways:
//
//   inline      up to kInlineBytes: in the receiver's inbox (inbox.h)
//   eager       up to a packet: copied into a packet of the sender (packet_pool.h), which the receiver reads and
//               returns. The send is complete at once.
//   rendezvous  longer, or when no packet is free: the inbox has only the address; the receiver reads the sender's
//               memory when it knows where to (single copy: direct_copy.h's way), then says so in a word of the
//               sender's shared memory; when all words are taken, in the request itself, by the kernel
//
// All three announce themselves in the inbox, so they match in the order in which they were sent. (Dang, Snir and
// Gropp, EuroMPI 2016, section 2.3, let the receiver announce itself instead, which needs equal lengths and no
// wildcards.)
//
// Nothing waits but wait(). A send for which the receiver's inbox has no room is put in a queue per receiver, and what
// follows it goes behind it; progress() sends it later. Receiving never needs room anywhere else: so two that send to
// each other, and do not receive yet, cannot block each other. A message that nobody has asked for is taken out of the
// inbox into memory of the receiver; its packet stays with it. So one that is asked for comes through, however many lie
// before it that are not.
//
// Any thread may call anything at any time, but a request belongs to one thread at a time: it lives, and its buffer,
// until it is complete. Whoever calls progress() does everybody's work; one thread empties the inbox, the others
// return.
// Where processes may not read each other's memory (ptrace_scope, seccomp), messages end at a packet: -EMSGSIZE;
// there is no rendezvous then, and the receiver returns every packet at once, with a copy of its own.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/object.h"
#include "message/inbox.h"
#include "message/match.h"
#include "message/packet_pool.h"

namespace smelt::message {

inline constexpr uint32_t kHeaderBytes = 40;
inline constexpr uint32_t kInlineBytes = kCellPayload - kHeaderBytes;
inline constexpr uint32_t kWords = 64;  // rendezvous under way per sender that are answered without a system call

struct Shape {
  uint16_t members;
  uint32_t cells = 256;  // of an inbox; a power of two
  uint32_t packets = 64;
  uint32_t packet_bytes = 8192;  // a multiple of 64

  uint64_t area_bytes() const;  // of one member, whole pages
  uint64_t bytes() const;
};

// In the shared memory, one per member, written by it.
struct alignas(kLineBytes) Member {
  int32_t process;
  uint64_t started;
};

enum class State : uint32_t {
  kPending,
  kComplete,
  kAnnounced,  // a rendezvous whose word the receiver will write
};

struct Message;

struct Request {
  MatchNode node;  // of a receive. The first member
  std::atomic<State> state{State::kComplete};
  // Valid when it is complete. 0; -EMSGSIZE: the message was longer than the buffer, whose end it does not have;
  // -EPIPE: the other has died.
  int error = 0;
  uint16_t peer = 0;    // receiver; of a receive, the message's sender
  int32_t tag = 0;      // the message's
  uint64_t length = 0;  // the message's

  // Set before it begins, nullptr: nothing.
  // A receive has been completed otherwise than in receive(), by whoever makes progress; the last that is done to it.
  void (*completed)(Request* receive) = nullptr;
  // A receive's data, in place of being copied to the buffer: consecutive pieces.
  void (*unpack)(Request* receive, uint64_t at, const void* data, uint64_t bytes) = nullptr;
  // A receive that only takes its message out of the others' way; receive_held() gets it.
  bool holds = false;

  // The endpoint's
  bool is_send = false;
  bool synchronous = false;
  uint16_t context = 0;
  uint32_t word = 0;  // kWords: `answer`
  std::atomic<uint32_t> answer{0};
  const void* data = nullptr;
  void* buffer = nullptr;
  uint64_t capacity = 0;
  Request* behind = nullptr;  // in the queue of its receiver
  Message* held = nullptr;
};

struct Header;

// What probe() tells of a message.
struct Seen {
  uint16_t sender;
  int32_t tag;
  uint64_t length;
};

class Endpoint : public Object {
 public:
  // `memory`: shape.bytes() that all members have mapped, zeroed; each calls this, and none sends before all have
  // (the caller's barrier). `single_copy`: may all read all others' memory? 0, -ENOMEM, -EINVAL.
  static int open(void* memory, const Shape& shape, uint16_t me, bool single_copy, Endpoint** endpoint);
  // Nobody uses it any more, no request is pending. What was sent and not received is lost.
  static void close(Endpoint* endpoint);

  // 0, or -EMSGSIZE, -EINVAL, and then the request is not begun. Complete or not: test(). `synchronous`: it is not before
  // the message has met its receive.
  int send(Request* request, uint16_t to, uint16_t context, int32_t tag, const void* data, uint64_t bytes,
           bool synchronous = false);
  // source < 0: of anybody. any_tag: of any tag of 0 and more; `tag` is then 0. `met`: it was completed in here, by
  // this thread, and `completed` is not called.
  int receive(Request* request, int32_t source, uint16_t context, int32_t tag, bool any_tag, void* buffer,
              uint64_t capacity, bool* met = nullptr);

  // The message that `holder` has taken, which begins anew.
  void receive_held(Request* request, Request* holder, void* buffer, uint64_t capacity);
  // Takes back a receive that has not met its message: then it is complete, with -ECANCELED. False: it has met it.
  bool cancel(Request* receive);
  // The message that such a receive would get now, if there is one.
  bool probe(int32_t source, uint16_t context, int32_t tag, bool any_tag, Seen* seen);

  // Is it complete? Makes no progress.
  bool test(Request* request);
  // Empties the inbox, sends what waited. True: something was done.
  bool progress();
  // Makes progress until it is complete; its error. Notices when the other has died, or, where the message may come
  // from anybody, all others.
  int wait(Request* request);

  const MatchTable& table() const { return table_; }
  uint64_t deferred() const;  // sends that have had to wait for room

 private:
  struct Queue {  // sends to one receiver that wait for room
    alignas(64) std::atomic<uintptr_t> lock;
    std::atomic<uint32_t> waiting;
    Request *first, *last;
  };
  struct Area;
  friend struct Shape;

  Area area(uint16_t member) const;
  bool announce(Request* request);
  void begin(Request* receive, void* buffer, uint64_t capacity);
  bool drain(bool patiently);
  bool launch();
  void deliver(Request* receive, Message* message);
  Message* new_message();
  void free_message(Message* message);
  bool is_gone(uint16_t member);
  bool abandon(Request* request);
  uint32_t take_word();
  void free_word(uint32_t word);
  std::atomic<uint32_t>& answer_of(Request& request);
  bool keep(Message* message, uint16_t sender);

  char* memory_ = nullptr;
  Shape shape_{};
  uint16_t me_ = 0;
  bool single_copy_ = false;
  int32_t process_ = 0;
  MatchTable table_;
  PacketPool pool_;
  Queue* queues_ = nullptr;               // [members]
  std::atomic<uint8_t>* gone_ = nullptr;  // [members]
  alignas(64) std::atomic<uintptr_t> draining_{0};
  InboxReader reader_;
  uint64_t arrivals_ = 0;
  alignas(64) std::atomic<uint64_t> free_words_{~uint64_t{0}};
  alignas(64) std::atomic<uintptr_t> messages_lock_{0};
  Message* messages_ = nullptr;  // free
  struct Chunk* chunks_ = nullptr;
  alignas(64) std::atomic<uint64_t> deferred_{0};
};

}  // namespace smelt::message
