// The rings of a group's memory (desk.h), as one participant sees them: putting into our own slots, getting from
// others', and the flow control that says when a slot is free again.
//
// A question that cannot be served at once is put with a `how` (group/wait.h), which is the only thing that waits:
// how.until(i, ready) is true when ready() holds, which participant i will bring about. If that is false, the answer is
// "not yet" (false, nullptr), and the caller asks again, with the same arguments, and for nothing else in between. The
// progress of such a question is kept (`behind`), so asking again costs a look at one line.
//
// tests/model_check/ring.pml has the inline slots and their flow control.
#pragma once

#include <cstring>

#include "transport/desk.h"

namespace smelt {

// Cheaper than a call of memcpy for the usual small sizes.
inline void copy_inline(void* to, const void* from, size_t bytes) {
  if (bytes == 8)
    std::memcpy(to, from, 8);
  else if (bytes == 4)
    std::memcpy(to, from, 4);
  else
    std::memcpy(to, from, bytes);
}

// For an answer: the message is here, but is not of the length that was asked for.
inline constexpr char kOther = 0;
inline constexpr const void* kOtherLength = &kOther;

// Polls of a line between two looks elsewhere. Every turn of waiting has one (policy/thresholds.def, crowd_turn).
inline constexpr uint32_t kPollsHere = 8;

inline constexpr uint32_t kLengthBits = 48;  // of a broadcast's length: 256 TiB

inline constexpr uint64_t kFinishStride = 4;  // episodes between two stores to the own counter, which others read
static_assert(kFinishStride < kRing);

struct Rings {
  uint32_t n = 0, me = 0;
  Front* front = nullptr;
  Desk* desks = nullptr;     // [n]
  char* shelves = nullptr;   // [n * kShelfBytes]; nullptr: none
  uint32_t piece_bytes = 0;  // a slot of a shelf

  // All participants count alike.
  uint64_t episode = 0;  // collective calls so far
  uint64_t settled = 0;  // every participant has finished all episodes up to this one, as far as we know
  uint64_t pieces = 0;   // pieces of long messages so far
  uint64_t drained = 0;  // every participant has done with so many pieces, as far as we know

  // The collective under way: how long the operands are, where all must have the same; else 0.
  uint64_t operand_bytes = 0;
  bool lengths_differ = false;  // somebody's operands of this episode are of another length than ours

  // These belong to the question that was last answered "not yet".
  uint32_t behind = 0;  // participants before this one are no obstacle

  // How often the group has been woken from rest. Votes of an earlier life do not count.
  uint32_t life = 0;

  // The group is woken: everybody has done with all that was. Pieces begin with the first slot, as a new shelf has
  // been used nowhere yet, and the others' pages need not be touched.
  void begin_life() {
    ++life;
    settled = episode;
    pieces = drained = (pieces + kPieceRing - 1) / kPieceRing * kPieceRing;
  }

  Desk& desk() { return desks[me]; }
  char* up_piece(uint32_t i, uint64_t piece) { return shelves + i * kShelfBytes + piece % kPieceRing * piece_bytes; }
  char* down_piece(uint32_t i, uint64_t piece) { return up_piece(i, piece) + kChannelBytes; }

  // --- inline messages

  // The first line of this episode's slot.
  const InlineLine* slot(const InlineSlot* channel) const { return channel[episode % kRing].line; }

  uint64_t flag_of(uint64_t what) const { return what << kEpisodeBits | episode; }

  // Are our slots of this episode free? They are when everybody has finished the episode that had them last.
  template <typename How>
  bool slots_free(How how) {
    const uint64_t upto = episode - kRing;
    return episode <= kRing || settled >= upto || all_finished(how, upto);
  }

  // The message of this episode to the readers of our channel; `what`: its length or kind.
  template <typename How>
  bool put(How how, InlineSlot* channel, const void* from, size_t bytes) {
    return put(how, channel, from, bytes, bytes);
  }
  template <typename How>
  bool put(How how, InlineSlot* channel, const void* from, size_t bytes, uint64_t what) {
    if (!slots_free(how)) return false;
    write(channel, from, bytes, what);
    return true;
  }
  // ... when the slots are free.
  void write(InlineSlot* channel, const void* from, size_t bytes, uint64_t what) {
    const uint64_t flag = flag_of(what);
    const char* at = static_cast<const char*>(from);
    for (InlineLine* line = channel[episode % kRing].line;; ++line) {
      const size_t length = bytes < kLinePayload ? bytes : kLinePayload;
      copy_inline(line->payload, at, length);
      line->flag.store(flag, std::memory_order_release);
      if (bytes <= kLinePayload) return;
      at += length, bytes -= length;
    }
  }

  // Is it of this episode, whatever it is?
  bool is_here(uint64_t flag) const { return (flag ^ episode) << (64 - kEpisodeBits) == 0; }
  bool is_here(const std::atomic<uint64_t>& flag) const { return is_here(flag.load(std::memory_order_acquire)); }
  bool is_here(const InlineLine& line) const { return is_here(line.flag); }
  template <typename How>
  bool is_here(How how, uint32_t i, const InlineSlot* channel) {
    return how.until(i, [&] { return is_here(*slot(channel)); });
  }
  // Length or kind of this episode's message, which is here.
  uint64_t what_is_here(const InlineSlot* channel) const {
    // relaxed: the caller has acquired it.
    return channel[episode % kRing].line->flag.load(std::memory_order_relaxed) >> kEpisodeBits;
  }
  const void* payload(const InlineSlot* channel) const { return channel[episode % kRing].line->payload; }

  // Copies so many bytes from a message's lines, unless they are not all here. The last one's flag is stored after all
  // others, so it tells of them; a look at a line that the sender is about to store would take it away from there.
  bool take_lines(const InlineLine* line, size_t bytes, void* room) const {
    const InlineLine* const last = line + (bytes - 1) / kLinePayload;
    if (!is_here(*last)) return false;
    char* to = static_cast<char*>(room);
    for (; line != last; ++line, to += kLinePayload, bytes -= kLinePayload)
      std::memcpy(to, line->payload, kLinePayload);
    std::memcpy(to, line->payload, bytes);
    return true;
  }

  // A sender that runs ahead has put its next message there already: asked for now, it is here when it is wanted
  // (measured, reduce of 8 bytes in a tight loop, near: 16 ns a call instead of 21; where nobody runs ahead no
  // difference).
  void ask_for_next(const InlineSlot* channel) const { prefetch(channel[(episode + 1) % kRing].line); }

  // The message of this episode in participant i's channel, of so many bytes: where it lies, or a copy in `room` if it
  // takes several lines. nullptr: not yet. kOtherLength: a message of another kind or length. That is also the answer
  // if elsewhere() holds, because such a message may be in another place.
  template <typename How, typename Elsewhere>
  const void* get_any(How how, uint32_t i, const InlineSlot* channel, size_t bytes, void* room, Elsewhere elsewhere) {
    const InlineLine* line = slot(channel);
    uint64_t flag = 0;
    uint32_t polls = 0;
    const auto ready = [&] {
      flag = line->flag.load(std::memory_order_acquire);
      return is_here(flag) || ((How::kStops || ++polls % kPollsHere == 0) && elsewhere());
    };
    if (!how.until(i, ready)) return nullptr;
    if (flag != flag_of(bytes)) [[unlikely]]
      return kOtherLength;
    ask_for_next(channel);
    if (bytes <= kLinePayload) return line->payload;
    if constexpr (How::kStops) return how.until(i, [&] { return take_lines(line, bytes, room); }) ? room : nullptr;
    // Line after line, as they come (measured, allreduce of 64 bytes: 84 ns, 99 where each look began anew).
    for (char* to = static_cast<char*>(room);; to += kLinePayload, bytes -= kLinePayload) {
      if (bytes <= kLinePayload) {
        std::memcpy(to, line->payload, bytes);
        return room;
      }
      std::memcpy(to, line->payload, kLinePayload);
      ++line;
      if (!how.until(i, [&] { return is_here(*line); })) return nullptr;
    }
  }
  // The same of a length that all know. A message of another length is noted.
  template <typename How, typename Elsewhere>
  const void* get(How how, uint32_t i, const InlineSlot* channel, size_t bytes, void* room, Elsewhere elsewhere) {
    const void* const at = get_any(how, i, channel, bytes, room, elsewhere);
    if (at == kOtherLength) [[unlikely]]
      return get_differing(channel, bytes, room);
    return at;
  }
  template <typename How>
  const void* get(How how, uint32_t i, const InlineSlot* channel, size_t bytes, void* room) {
    return get(how, i, channel, bytes, room, [] { return false; });
  }
  // A message of another length than everybody's should be: noted (lengths_differ), and as many bytes of nothing in
  // particular.
  const void* get_differing(const InlineSlot* channel, size_t bytes, void* room);

  // The line that two participants share in this episode.
  PairLine& pair_line() { return front->pair[episode % kRing]; }

  // The end of a collective in which not everybody has heard of everybody. Told every few episodes only: a sender that
  // runs ahead polls the line, and every store into it would cost a message. The ring is long enough for that: a
  // participant that waits for a slot has itself sent all that the others need to get to within kFinishStride of it.
  void finish() {
    if (episode % kFinishStride == 0) finish_now();
  }
  void finish_now() { desk().status.finished.store(episode, std::memory_order_release); }
  // ... and of one in which everybody has: nobody can be here before all have left the episode before.
  void finish_together() { settled = episode - 1; }
  // A participant that hears the other one of two knows that it has finished everything before.
  void finish_pair() {
    if (n == 2) finish_together();
  }

  bool has_finished(uint32_t i, uint64_t upto) const {
    return desks[i].status.finished.load(std::memory_order_acquire) >= upto;
  }
  // Has everybody? Apart, as all_consumed(), so that the usual call pays for no register that only these need.
  template <typename How>
  [[gnu::noinline]] bool all_finished(How how, uint64_t upto) {
    if (!everybody(how, [&](uint32_t i) { return has_finished(i, upto); })) return false;
    note_finished();
    return true;
  }

  // --- pieces of long messages

  // Is our slot for this piece free? It is when everybody has consumed the piece that had it last.
  template <typename How>
  bool piece_free(How how, uint64_t piece) {
    const uint64_t upto = piece - kPieceRing + 1;
    return piece < kPieceRing || drained >= upto || all_consumed(how, upto);
  }
  bool has_consumed(uint32_t i, uint64_t upto) const {
    return desks[i].consumed.value.load(std::memory_order_acquire) >= upto;
  }
  template <typename How>
  [[gnu::noinline]] bool all_consumed(How how, uint64_t upto) {
    if (!everybody(how, [&](uint32_t i) { return has_consumed(i, upto); })) return false;
    note_consumed();
    return true;
  }
  // Everybody is known to have done with so many pieces.
  void note_drained(uint64_t upto) {
    if (upto > drained) drained = upto;
  }
  bool filled(uint32_t i, Filled Desk::*channel, uint64_t piece) const {
    return (desks[i].*channel).value.load(std::memory_order_acquire) > piece;
  }
  // Is it, and of a message as long as ours, if all must have the same?
  template <typename How>
  bool filled(How how, uint32_t i, Filled Desk::*channel, uint64_t piece) {
    if (!how.until(i, [&] { return filled(i, channel, piece); })) return false;
    return operand_bytes == 0 || message_of(i, channel, piece) == operand_bytes || how.group.give_up();
  }
  // The message of the piece, which is there. relaxed: the caller has acquired it with the piece.
  uint64_t message_of(uint32_t i, Filled Desk::*channel, uint64_t piece) const {
    return (desks[i].*channel).message[piece % kPieceRing].load(std::memory_order_relaxed);
  }
  void fill(Filled Desk::*channel, uint64_t piece) { fill(channel, piece, operand_bytes); }
  void fill(Filled Desk::*channel, uint64_t piece, uint64_t message) {
    Filled& mine = desk().*channel;
    mine.message[piece % kPieceRing].store(message, std::memory_order_relaxed);  // released with the piece
    mine.value.store(piece + 1, std::memory_order_release);
  }

  // A broadcast of this episode: so many bytes, and as much of the episode as tells it from those that a sender may be
  // ahead.
  uint64_t broadcast_of(uint64_t bytes) const { return episode << kLengthBits | bytes; }
  // Does somebody's next piece belong to a broadcast of this episode? Its length; 0: no, or not yet.
  uint64_t broadcast_in_pieces(uint32_t i) const {
    if (!filled(i, &Desk::filled_down, pieces)) return 0;
    const uint64_t message = message_of(i, &Desk::filled_down, pieces);
    return (message ^ episode << kLengthBits) >> kLengthBits == 0 ? message & ((uint64_t{1} << kLengthBits) - 1) : 0;
  }
  void consume(uint64_t piece) { desk().consumed.value.store(piece + 1, std::memory_order_release); }

  // --- questions put to all

  uint32_t vote_for(bool yes) const { return life << 2 | (yes ? 1 : 2); }
  void cast(Question question, bool yes) {
    desk().status.vote[question].store(vote_for(yes), std::memory_order_release);
  }
  // Have all cast their vote? If so, *all says whether all said yes.
  bool all_cast(Question question, bool* all);

 private:
  // One after the other: a waiter polls one line.
  template <typename How, typename Has>
  bool everybody(How how, Has has) {
    for (; behind < n; ++behind)
      if (behind != me && !how.until(behind, [&] { return has(behind); })) return false;
    behind = 0;
    return true;
  }
  // Everybody has been found to have: how far in all?
  void note_finished();
  void note_consumed();
};

}  // namespace smelt
