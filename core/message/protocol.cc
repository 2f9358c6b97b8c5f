// Sending, receiving and waiting: inline, eager, rendezvous.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/os/os.h"
#include "base/os/process.h"
#include "base/os/shared_memory.h"
#include "message/endpoint.h"
#include "message/endpoint_internal.h"
#include "message/lock_bit.h"

namespace smelt::message {

// A word of ours for a rendezvous; kWords: all are taken.
uint32_t Endpoint::take_word() {
  // relaxed: the exchange decides
  uint64_t free = free_words_.load(std::memory_order_relaxed);
  while (free)
    // acquire: its last user has done with it
    if (free_words_.compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire,
                                          std::memory_order_relaxed))
      return static_cast<uint32_t>(__builtin_ctzll(free));
  return kWords;
}

void Endpoint::free_word(uint32_t word) {
  // release: it is another's from now on
  if (word != kWords) free_words_.fetch_or(uint64_t{1} << word, std::memory_order_release);
}

std::atomic<uint32_t>& Endpoint::answer_of(Request& request) {
  return request.word == kWords ? request.answer : area(me_).words[request.word];
}

// Into the receiver's inbox with it. False: no room somewhere. When it is true the request may be complete, and gone.
bool Endpoint::announce(Request* request) {
  const Area own = area(me_);
  Header header{match_key(request->context, me_, request->tag), request->length, Kind::kInline, 0, 0, 0};
  if (request->length > kInlineBytes) {
    header.which = request->length <= shape_.packet_bytes ? pool_.take() : kNoPacket;
    header.kind = header.which != kNoPacket ? Kind::kEager : Kind::kRendezvous;
    if (header.which == kNoPacket && !single_copy_) return false;
  }
  const bool answered = header.kind == Kind::kRendezvous || request->synchronous;
  const uint32_t word = answered ? take_word() : kWords;
  if (header.kind == Kind::kRendezvous) {
    header.which = word;
    header.answer = reinterpret_cast<uintptr_t>(&request->answer);
    header.address = reinterpret_cast<uintptr_t>(request->data);
  } else if (answered) {
    header.answer = word + 1;
  }
  uint64_t position;
  const Inbox inbox = area(request->peer).inbox;
  const bool told = header.kind == Kind::kRendezvous || !answered || word != kWords;
  InboxCell* cell = told ? inbox.claim(me_, &position) : nullptr;
  if (!cell) {
    if (header.kind == Kind::kEager) pool_.give_back(header.which);
    free_word(word);
    return false;
  }
  std::memcpy(cell->payload, &header, sizeof header);
  if (request->length != 0 && header.kind == Kind::kInline)
    std::memcpy(cell->payload + sizeof header, request->data, request->length);
  if (header.kind == Kind::kEager)
    std::memcpy(own.packets + uint64_t{header.which} * shape_.packet_bytes, request->data, request->length);
  if (answered) {
    request->word = word;
    // relaxed: the cell carries it to the receiver
    answer_of(*request).store(0, std::memory_order_relaxed);
  }
  inbox.publish(cell, position, me_);
  // release: the word, for the thread that asks
  request->state.store(answered ? State::kAnnounced : State::kComplete, std::memory_order_release);
  return true;
}

int Endpoint::send(Request* request, uint16_t to, uint16_t context, int32_t tag, const void* data, uint64_t bytes,
                   bool synchronous) {
  if (to >= shape_.members) return -EINVAL;
  if (!single_copy_ && bytes > shape_.packet_bytes) return -EMSGSIZE;
  request->is_send = true;
  request->synchronous = synchronous;
  request->error = 0;
  request->peer = to;
  request->context = context;
  request->tag = tag;
  request->data = data;
  request->length = bytes;
  request->behind = nullptr;
  // relaxed: nobody else knows of it
  request->state.store(State::kPending, std::memory_order_relaxed);
  Queue& queue = queues_[to];
  // relaxed: what this thread has queued, or heard of, it sees
  if (queue.waiting.load(std::memory_order_relaxed) == 0 && announce(request)) return 0;
  lock(queue.lock);
  (queue.first ? queue.last->behind : queue.first) = request;
  queue.last = request;
  queue.waiting.store(1, std::memory_order_relaxed);
  unlock(queue.lock, 0);
  deferred_.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

void Endpoint::begin(Request* receive, void* buffer, uint64_t capacity) {
  receive->is_send = false;
  receive->error = 0;
  receive->buffer = buffer;
  receive->capacity = capacity;
  // relaxed: the table's locks carry it to whoever finds it
  receive->state.store(State::kPending, std::memory_order_relaxed);
}

int Endpoint::receive(Request* request, int32_t source, uint16_t context, int32_t tag, bool any_tag, void* buffer,
                      uint64_t capacity, bool* is_met) {
  if (source >= shape_.members) return -EINVAL;
  begin(request, buffer, capacity);
  request->node.mask = (source < 0 ? kAnySource : kExact) & (any_tag ? kAnyTag : kExact);
  request->node.key = match_key(context, source < 0 ? 0 : static_cast<uint16_t>(source), any_tag ? 0 : tag);
  MatchNode* met = table_.post(&request->node);
  if (is_met) *is_met = met != nullptr;
  if (met) deliver(request, reinterpret_cast<Message*>(met));
  return 0;
}

void Endpoint::receive_held(Request* request, Request* holder, void* buffer, uint64_t capacity) {
  begin(request, buffer, capacity);
  deliver(request, holder->held);
}

bool Endpoint::cancel(Request* receive) {
  if (!table_.cancel(&receive->node)) return false;
  receive->error = -ECANCELED;
  // release: the error, for the thread that asks
  receive->state.store(State::kComplete, std::memory_order_release);
  return true;
}

bool Endpoint::probe(int32_t source, uint16_t context, int32_t tag, bool any_tag, Seen* seen) {
  if (source >= shape_.members) return false;
  const auto look = [](const MatchNode* node, void* into) {
    const Message& message = *reinterpret_cast<const Message*>(node);
    *static_cast<Seen*>(into) = {message.sender, tag_of(message.header), message.header.length};
  };
  return table_.probe(match_key(context, source < 0 ? 0 : static_cast<uint16_t>(source), any_tag ? 0 : tag),
                      (source < 0 ? kAnySource : kExact) & (any_tag ? kAnyTag : kExact), look, seen);
}

namespace {

void put(Request* receive, uint64_t at, const void* data, uint64_t bytes) {
  if (bytes == 0) return;
  if (receive->unpack)
    receive->unpack(receive, at, data, bytes);
  else
    std::memcpy(static_cast<char*>(receive->buffer) + at, data, bytes);
}

// What another process has at `from`. 0, or why not.
int put_theirs(Request* receive, int32_t process, uint64_t from, uint64_t bytes) {
  if (!receive->unpack) return bytes == 0 ? 0 : os::read_process(process, receive->buffer, from, bytes);
  char piece[16 * 1024];
  for (uint64_t at = 0; at < bytes; at += sizeof piece) {
    const uint64_t length = std::min<uint64_t>(bytes - at, sizeof piece);
    const int refused = os::read_process(process, piece, from + at, length);
    if (refused) return refused;
    receive->unpack(receive, at, piece, length);
  }
  return 0;
}

}  // namespace

// They have met: nobody else knows of either any more.
void Endpoint::deliver(Request* receive, Message* message) {
  const Header& header = message->header;
  const uint64_t bytes = std::min(header.length, receive->capacity);
  receive->error = header.length > receive->capacity && !receive->holds ? -EMSGSIZE : 0;
  receive->peer = message->sender;
  receive->tag = tag_of(header);
  receive->length = header.length;
  if (receive->holds) {
    receive->held = message;
    // release: what is said of it
    receive->state.store(State::kComplete, std::memory_order_release);
    return;
  }
  const Area theirs = area(message->sender);
  if (header.kind == Kind::kInline) {
    put(receive, 0, message->bytes, bytes);
  } else if (header.kind == Kind::kEager) {
    put(receive, 0, theirs.packets + uint64_t{header.which} * shape_.packet_bytes, bytes);
    theirs.returns.give_back(header.which);
  } else if (header.kind == Kind::kKept) {
    put(receive, 0, reinterpret_cast<const void*>(header.address), bytes);
    os::unmap_pages(reinterpret_cast<void*>(header.address), shape_.packet_bytes);
  } else {
    const int32_t process = theirs.member->process;
    int refused = 0;
    if (process == process_)
      put(receive, 0, reinterpret_cast<const void*>(header.address), bytes);
    else
      refused = put_theirs(receive, process, header.address, bytes);
    if (refused) receive->error = -EPIPE;
    const uint32_t answer = refused ? kNotRead : kRead;
    // release, both: we have read it. The kernel's store is one of the whole word; should it fail, its process has
    // died.
    if (header.which != kWords)
      theirs.words[header.which].store(answer, std::memory_order_release);
    else if (process == process_)
      reinterpret_cast<std::atomic<uint32_t>*>(header.answer)->store(answer, std::memory_order_release);
    else
      os::write_process(process, &answer, header.answer, sizeof answer);
  }
  // release: it has met us
  if (header.kind != Kind::kRendezvous && header.answer != 0)
    theirs.words[header.answer - 1].store(kRead, std::memory_order_release);
  free_message(message);
  // release: the buffer, and what is said of it
  receive->state.store(State::kComplete, std::memory_order_release);
}

bool Endpoint::test(Request* request) {
  // acquire: whoever completed it, or gave it a word
  const State state = request->state.load(std::memory_order_acquire);
  if (state == State::kComplete) return true;
  if (state == State::kPending) return false;
  // acquire: the receiver has read our memory
  const uint32_t answer = answer_of(*request).load(std::memory_order_acquire);
  if (answer == 0) return false;
  request->error = answer == kRead ? 0 : -EPIPE;
  free_word(request->word);
  request->state.store(State::kComplete, std::memory_order_relaxed);
  return true;
}

bool Endpoint::is_gone(uint16_t member) {
  // relaxed, both: it is said once and for all; what it wrote while it lived, the kernel has seen to
  if (gone_[member].load(std::memory_order_relaxed)) return true;
  const Member& other = *area(member).member;
  if (other.process == process_ || !os::process_gone(other.process, other.started)) return false;
  gone_[member].store(1, std::memory_order_relaxed);
  return true;
}

// Whom it waits for has died: then it is over. False: not so, or it is complete after all.
bool Endpoint::abandon(Request* request) {
  if (!request->is_send) {
    bool somebody = false;
    if (request->node.mask & ~kAnySource) {  // it says from whom
      somebody = !is_gone(static_cast<uint16_t>(request->node.key >> 32));
    } else {
      for (uint16_t i = 0; i < shape_.members; ++i) somebody |= i != me_ && !is_gone(i);
    }
    if (somebody) return false;
    drain(true);  // all that it had sent
    if (!table_.cancel(&request->node)) return false;
  } else if (!is_gone(request->peer)) {
    return false;
  } else {
    Queue& queue = queues_[request->peer];
    lock(queue.lock);
    Request *before = nullptr, *at = queue.first;
    for (; at && at != request; at = at->behind) before = at;
    if (at) {
      (before ? before->behind : queue.first) = at->behind;
      if (queue.last == at) queue.last = before;
      if (!queue.first) queue.waiting.store(0, std::memory_order_relaxed);
    }
    unlock(queue.lock, 0);
    if (test(request)) return false;
    // It was announced to somebody who will not read it any more.
    if (!at) free_word(request->word);
  }
  request->error = -EPIPE;
  request->state.store(State::kComplete, std::memory_order_relaxed);
  return true;
}

int Endpoint::wait(Request* request) {
  constexpr uint32_t kPolls = 100;           // rounds in vain before others get our CPU
  constexpr uint32_t kLook = 1024;           // rounds between two looks at the clock
  constexpr int64_t kPatience = 10'000'000;  // ns, until somebody is asked whether it lives
  uint32_t idle = 0;
  int64_t asked = 0;
  for (uint32_t round = 1; !test(request); ++round) {
    idle = progress() ? 0 : idle + 1;
    if (idle >= kPolls)
      os::yield_cpu();
    else
      cpu_pause();
    // Others' messages may keep us busy for as long as they like: the dead are asked for all the same.
    if (idle < kPolls && round % kLook != 0) continue;
    const int64_t now = os::now_ns();
    if (asked == 0) asked = now;
    if (now - asked <= kPatience) continue;
    asked = now;
    if (abandon(request)) break;
    // Whoever has claimed the cell that comes next holds everybody up; has it died?
    for (uint16_t i = 0; i < shape_.members; ++i) is_gone(i);
  }
  return request->error;
}

}  // namespace smelt::message
