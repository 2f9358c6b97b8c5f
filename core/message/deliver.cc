// Delivery (inflow.h): a message and a receive have met, and nobody else knows of either any more. The data come from
// where the message's kind says: from its cell, its packet, our own memory, or, if it was only announced, from the
// sender's memory by single copy, in pieces, or over the carrier.
#include <algorithm>
#include <cerrno>

#include "base/os/shared_memory.h"
#include "base/ticks.h"
#include "message/carrier.h"
#include "message/data.h"
#include "message/inflow.h"
#include "message/outbox.h"

namespace smelt::message {

// True: the message is gone with an answer to its sender; else it is the caller's.
bool Inflow::deliver(Request* receive, Message* message) {
  const Header& header = message->header;
  const uint64_t bytes = std::min(header.length, receive->capacity);
  describe(receive, message->header, message->sender);
  if (header.kind == HeaderKind::kInline) {
    place(receive, 0, message->bytes, bytes);
  } else if (header.kind == HeaderKind::kEager) {
    place(receive, 0, areas_.packet(message->sender, header.which), bytes);
    areas_.of(message->sender).returns.give_back(header.which);
    // relaxed: see take_in()
    add(held_[message->sender], ~0u, alone_);
  } else {
    void* kept = reinterpret_cast<void*>(header.address);
    place(receive, 0, kept, bytes);
    store_->free_parcel(kept, header.length);
  }
  if (header.answer == 0) return false;
  message->header.kind = HeaderKind::kFinish;
  outbox_->reply(message);
  return true;
}

// The same of one whose data are with the sender. The message is ours. True: the receive has them; false: they come.
bool Inflow::deliver_long(Request* receive, Message* message) {
  if (message->sender >= areas_.shape.members) return far_->receive(receive, message);
  Header& header = message->header;
  const uint64_t bytes = std::min(header.length, receive->capacity);
  describe(receive, message->header, message->sender);
  const bool tries = is_tried(*receive, *message);
  const uint64_t began = tries ? unfenced_ticks() : 0;
  receive->began = began;
  receive->goes_both_ways = tries && outbox_->long_under_way() != 0;
  const int refused = may_read(*receive, *message, bytes, tries) ? read_whole(receive, *message, bytes) : -ENOTSUP;
  if (refused && refused != -ESRCH) {
    ask_for_pieces(receive, message, bytes);
    return false;
  }
  if (refused) receive->error = -EPIPE;
  if (tries) {
    const uint64_t now = unfenced_ticks();
    trials_.note({message->sender, receive->goes_both_ways, bytes}, WayTrials::Way::kSingleCopy, now, now - began,
                 !outbox_->sends_in_pieces());
  }
  add(single_copies_, 1, alone_);
  header.kind = HeaderKind::kFinish;
  outbox_->reply(message);
  return true;
}

// Does what take_in() has left for after the lock.
void Inflow::deliver_list(Message* first) {
  while (Message* const message = first) {
    first = message->behind;
    Request* const receive = message->receive;
    if (deliver_long(receive, message)) finish(receive, alone_);
  }
}

// Could such a message come either way, and is it one whose times say something of others?
bool Inflow::is_tried(const Request& receive, const Message& message) const {
  // relaxed: it may as well be refused again
  return trials_.is_on() && single_copy_.load(std::memory_order_relaxed) && message.header.address != 0 &&
         !receive.unpack && receive.capacity != 0 && areas_.line_of(message.sender).process != process_;
}

// Is the message to be read from its sender's memory?
bool Inflow::may_read(const Request& receive, const Message& message, uint64_t bytes, bool tries) {
  if (bytes == 0) return true;
  if (message.header.address == 0) return false;
  // relaxed: it may as well be refused again
  const bool usual = single_copy_.load(std::memory_order_relaxed) && message.header.length >= single_copy_bytes_;
  using Way = WayTrials::Way;
  const WayTrials::Traffic traffic{message.sender, receive.goes_both_ways, bytes};
  const Way expected = usual ? Way::kSingleCopy : Way::kPieces;
  if (tries) return trials_.next(traffic, expected, awaited_in_pieces() == 0) == Way::kSingleCopy;
  return usual || message.sender == areas_.me;
}

// Single copy. 0; -ESRCH: the sender has died; another: it cannot be done so.
int Inflow::read_whole(Request* receive, const Message& message, uint64_t bytes) {
  if (bytes == 0) return 0;
  const Header& header = message.header;
  const int32_t process = areas_.line_of(message.sender).process;
  if (process == process_) {
    place(receive, 0, reinterpret_cast<const void*>(header.address), bytes);
    return 0;
  }
  if (!receive->unpack) {
    const int refused = os::read_process(process, receive->buffer, header.address, bytes);
    // One refusal disables single copy for good: a program may forbid the call to itself at any time, and a filter
    // never goes away.
    if (refused == -EPERM || refused == -ENOSYS) set_single_copy(false);
    return refused;
  }
  constexpr uint64_t kAtATime = 16 * 1024;
  void* parcel = store_->new_parcel(kAtATime);
  if (!parcel) return -ENOMEM;
  int refused = 0;
  uint64_t at = 0;
  for (uint64_t part; at < bytes && refused == 0; at += part) {
    part = std::min(bytes - at, kAtATime);
    refused = os::read_process(process, parcel, header.address + at, part);
    if (refused) break;
    place(receive, at, parcel, part);
  }
  store_->free_parcel(parcel, kAtATime);
  if (refused && at != 0) receive->error = -EIO, refused = 0;  // nobody can take back unpacked bytes
  return refused;
}

}  // namespace smelt::message
