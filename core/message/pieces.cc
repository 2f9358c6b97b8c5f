// Long messages in pieces, where the receiver cannot read the sender's memory, or does so more slowly, or where the
// data do not lie in one piece.
//
//     sender                                   receiver
//       | ---- it is so long ------------------> |   as any long message (outbox.cc)
//       |                                        |   it meets its receive
//       | <--- go: so much of it, for that one - |
//       | ---- piece 0 ------------------------> |
//       | ---- piece 1 ------------------------> |   copied, or unpacked, while the next one is copied, or packed
//       | ---- ... ----------------------------> |
//
// Pieces have a pool of their own (piece_pool.h). Packets may lie with messages that nobody asks for yet; a piece
// always has its receive, and the thread that empties the inbox gives it back. So a message that has met its receive
// comes to its end, no matter what else is under way. The pieces of a message come one after the other, since they are
// sent so and the inbox keeps the order; they need say no more than whose they are.
//
// A piece is a quarter of its message, within limits: a longer piece spreads its cost, and of a short message the first
// piece must be there soon, since nothing is copied out before. Measured, one way between two processes, us, in pieces
// of 4 KiB / these / a ring by hand: 64 KiB near 3.5 / 1.6 / 1.25, far 10 / 4.1 / 3.1; 1 MiB near 58 / 23 / 21, far 130
// / 39 / 38. (A sender that fills its first piece while it waits for the go gains nothing: 64 KiB near 1.6, far 4.5.)
#include <algorithm>
#include <cstring>

#include "base/ticks.h"
#include "message/data.h"
#include "message/inflow.h"
#include "message/lock_bit.h"
#include "message/outbox.h"

namespace smelt::message {

namespace {

constexpr uint64_t kLeastPiece = 8 * 1024, kPieceStep = 4096;

}  // namespace

// --- the receiver asks ---

// The data do not come by themselves: the sender is told where they belong.
void Inflow::ask_for_pieces(Request* receive, Message* message, uint64_t bytes) {
  add(in_pieces_, 1, alone_);
  add(awaited_, 1, alone_);
  receive->moved = 0;
  receive->wanted = bytes;
  receive->work = 0;
  Header& header = message->header;
  header.kind = HeaderKind::kGo;
  header.which = receive->goes_both_ways;
  header.length = bytes;
  header.address = reinterpret_cast<uintptr_t>(receive);
  // release: its waiter may take it back from now on, should the sender have died (abandon)
  receive->stage.store(Request::kInPieces, std::memory_order_release);
  outbox_->reply(message);
}

// --- the sender answers ---

uint64_t Outbox::part_of(uint64_t length) const {
  const uint64_t quarter = length / 4 / kPieceStep * kPieceStep;
  return std::min<uint64_t>(std::max(quarter, kLeastPiece), areas_.shape.piece_bytes);
}

void Outbox::grant(const Header& answer, uint16_t to) {
  auto* send = reinterpret_cast<Request*>(answer.answer);
  send->moved = 0;
  send->wanted = answer.length;
  send->other = answer.address;
  send->goes_both_ways = answer.which != 0;
  send->work = 0;
  Queue& queue = queues_[to];
  lock(queue.lock, alone_);
  // relaxed: under the lock
  send->stage.store(Request::kInPieces, std::memory_order_relaxed);
  push_back(&queue.first_granted, &queue.last_granted, send);
  note(&queue);
  unlock(queue.lock, 0);
}

// Some pieces; others want to get on, too. The caller holds the queue's lock.
bool Outbox::launch_pieces(Queue* queue, uint16_t to, Request** completed, Request** last) {
  constexpr int kAtATime = 4;
  const uint16_t me = areas_.me;
  const Inbox& inbox = queue->inbox;
  bool any = false;
  for (int i = 0; i < kAtATime && queue->first_granted; ++i) {
    Request* send = queue->first_granted;
    const uint64_t bytes = std::min(send->wanted - send->moved, part_of(send->length));
    if (send->packet == kNoPacket) {
      send->packet = pieces_.take();
      if (send->packet == kNoPacket) break;
      const uint64_t began = send->goes_both_ways ? unfenced_ticks() : 0;
      fetch(send, send->moved, areas_.piece(me, send->packet), bytes);
      send->work = send->goes_both_ways ? unfenced_ticks() - began : 0;
    }
    uint64_t position = 0;
    InboxCell* cell = inbox.claim(me, &position);
    if (!cell) break;
    pieces_.hand_to(send->packet, to);
    const Header header{0, bytes, HeaderKind::kPiece, send->packet, send->other, send->work};
    std::memcpy(cell->payload, &header, sizeof header);
    inbox.publish(cell, position, me);
    send->packet = kNoPacket;
    send->moved += bytes;
    any = true;
    if (send->moved < send->wanted) continue;
    finished(*send, true);
    queue->first_granted = send->behind;
    // relaxed: under the lock
    send->stage.store(Request::kEnded, std::memory_order_relaxed);
    push_back(completed, last, send);
  }
  return any;
}

// --- a piece comes ---

void Inflow::take_piece(const Header& header, uint16_t sender) {
  auto* receive = reinterpret_cast<Request*>(header.address);
  const uint64_t began = receive->goes_both_ways ? unfenced_ticks() : 0;
  place(receive, receive->moved, areas_.piece(sender, header.which), header.length);
  if (receive->goes_both_ways) receive->work += header.answer + (unfenced_ticks() - began);
  areas_.of(sender).piece_returns->give_back(header.which);
  receive->moved += header.length;
  if (receive->moved != receive->wanted) return;
  add(awaited_, ~0u, alone_);
  if (receive->began != 0) {
    const uint64_t now = unfenced_ticks();
    const uint64_t time = now - std::max(receive->began, pieces_ended_);
    trials_.note({sender, receive->goes_both_ways, receive->wanted}, WayTrials::Way::kPieces, now,
                 receive->goes_both_ways ? receive->work : time, outbox_->sends_in_pieces());
    pieces_ended_ = now;
  }
  finish(receive, alone_);
}

}  // namespace smelt::message
