// A seat: one participant's state for a context's collectives, and its questions to its neighbours.
//
// Every edge of the context's tree is a queue (library/queue, "ump"), which goes both ways. So the tree hangs from any
// participant, not only from its root: seen from here, one edge leads towards the root of an operation ("up"), and all
// others lead away from it.
//
//        0            edges of 1: to 0, to 3, to 4       a broadcast of 3 comes to 1 by the edge to 3, and goes on to
//       / \           edges of 3: to 1                   0 and 4
//      1   2
//     / \             the tree's own parent comes first, then the children in send order
//    3   4
//
// An operation is a machine that can stop wherever it would have to wait (base/await.h), over sends and receives that
// answer "not yet". Blocking, the seat waits for the one queue at which the machine stopped (seats.cc); started, the
// machine goes on when it is tested. All participants begin the same operations in the same order, and each machine
// sends and receives in one order that goes through the tree without a circle: so the participant furthest behind can
// go on, however little room the queues have.
//
//   SharedContext | parents | order | taken | SeatNotice 0, 1 ... | queue of one edge | queue of the next ...
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <smelt/context.h>

#include "base/await.h"
#include "generate/tree.h"
#include "library/queue/queue.h"

namespace smelt::context {

// The longest message: longer data go in pieces, and a queue has room for three of them, as many as the pipeline of an
// allreduce needs (reduce.cc). Large contexts have shorter ones: memory counts there.
inline constexpr uint32_t kPieceSlots = 128, kSmallPieceSlots = 32, kLargeContext = 128;
inline constexpr uint32_t kPiecesInQueue = 3;  // see above
static_assert(kSmallPieceSlots * queue::kPayload >= SMELT_SEAT_ELEMENT);

// The bytes of another's operand that are read at a time where they lie: all that is combined stays in a first-level
// cache.
inline constexpr size_t kDirectPiece = 4096;

// Where a participant's data are, for the others of its process, and how far it has got: an epoch when it has said so,
// and one more when it has done with everybody's (meet.cc). Both come in one line.
struct alignas(kLineBytes) SeatNotice {
  Epoch epoch;
  // Plain: written before the odd epoch is, read before the reader's own even one, and not written again before all of
  // these are there.
  const char* in;
  char* out;
  size_t bytes;  // of an operand or a block
  alignas(64) Bell bell;

  operator Flag() { return {epoch, bell}; }
};
inline constexpr uint64_t kGone = uint64_t{1} << 63;  // in an epoch: its seat is freed, and this was the last

struct SharedContext : place::Head {
  uint32_t n = 0;
  uint32_t root = 0;
  // Seats that are not freed yet; of memory that is made for threads, the last unmaps it.
  std::atomic<uint32_t> users{0};
};

struct Edge {
  smelt_queue* queue;
  uint32_t peer;
};
inline constexpr uint32_t kNoEdge = UINT32_MAX;  // the way up from where an operation's root is

// An edge of the tree as an operand on its way: `child`, complete, is combined into `parent`.
struct Fold {
  uint16_t child, parent;
  uint16_t depth;      // of the parent: where its partial result is kept
  bool child_is_leaf;  // its operand is its caller's
  bool parent_is_new;  // nothing has been combined into it yet
};

inline constexpr uint32_t kNoRoot = UINT32_MAX;  // the result is everybody's

// The caller's arguments.
struct Call {
  const char* in = nullptr;
  char* out = nullptr;
  size_t bytes = 0;     // of a message, an operand or a block
  size_t elements = 0;  // of a reduction
  smelt_fold fold{};
  uint32_t root = 0;
  unsigned sync = 0;
};

struct Seat : Object {
  using How = Seat;  // SMELT_AWAIT
  static constexpr bool kStops = true;

  uint32_t n = 0, me = 0, root = 0;
  place::SharedObject object;  // of threads: notices mean something
  bool crowded = false;
  int64_t timeout_ns = -1;
  WaitPolicy policy;
  uint64_t epoch = 0;  // of our notice
  uint32_t edge_count = 0;
  Edge* edges = nullptr;       // the tree's parent first, then the children in send order
  uint16_t* toward = nullptr;  // [n] which edge leads there
  Fold* folds = nullptr;       // [n - 1] in the order of combining
  SharedContext* shared = nullptr;
  SeatNotice* notices = nullptr;

  size_t piece_bytes = 0;
  char* room = nullptr;      // [piece_bytes] for a message
  char* partial = nullptr;   // [piece_bytes] for the combined piece
  char* partials = nullptr;  // [kDirectPiece] for each depth of the tree

  // The operation under way; nullptr: none.
  bool (*step)(Seat& seat) = nullptr;
  // Where it stopped: at this edge, for so many slots or, 0, for a message; or at a participant's notice.
  bool awaits_notice = false;
  uint32_t awaited = 0;
  uint64_t awaited_slots = 0;
  uint32_t in_vain = 0;  // tests in a row
  int error = 0;         // for good
  alignas(16) char machine[288];

  // The edge towards a participant.
  uint32_t way_to(uint32_t whose) const { return whose == me ? kNoEdge : toward[whose]; }

  // Returns true when it is done, and false if it is not yet, or never will be (`error`).
  bool send(uint32_t edge, const void* data, size_t bytes) {
    smelt_queue& queue = *edges[edge].queue;
    const int result = queue.kind->try_send(queue, data, bytes);
    awaits_notice = false;
    return result == 0 || stop(result, edge, queue::slots_of(bytes));
  }
  bool receive(uint32_t edge, void* data, size_t bytes) {
    smelt_queue& queue = *edges[edge].queue;
    size_t length = 0;
    const int result = queue.kind->try_receive(queue, data, bytes, &length);
    awaits_notice = false;
    return result == 0 && length == bytes ? true : stop(result == 0 ? -EMSGSIZE : result, edge, 0);
  }

  // Has this participant got as far as we?
  bool has_told(uint32_t whose) {
    const int result = look_at(whose);
    if (result == 0) return true;
    awaits_notice = true;
    return stop(result, whose, 0);
  }
  int look_at(uint32_t whose) const {
    // acquire: its data, or the bytes that it has written for us.
    const uint64_t theirs = notices[whose].epoch.load(std::memory_order_acquire);
    return (theirs & ~kGone) >= epoch ? 0 : theirs & kGone ? -EPIPE : -EAGAIN;
  }

  // Never: somebody has said something else than we.
  bool fail(int with) {
    error = with;
    return false;
  }

 private:
  bool stop(int result, uint32_t edge, uint64_t slots) {
    awaited = edge;
    awaited_slots = slots;
    if (result != -EAGAIN) error = result;
    return false;
  }
};

// Everybody hears of everybody: empty messages up to the tree's root, and down again.
struct Turnstile {
  using How = Seat;
  int at = 0;
  uint32_t k = 0;

  bool step(Seat& seat) {
    const uint32_t up = seat.way_to(seat.root);
    switch (at) {
      case 0:
        for (k = seat.edge_count; k-- > 0;) {
          if (k == up) continue;
          SMELT_AWAIT(seat.receive(k, nullptr, 0));
        }
        if (up != kNoEdge) {
          SMELT_AWAIT(seat.send(up, nullptr, 0));
          SMELT_AWAIT(seat.receive(up, nullptr, 0));
        }
        for (k = 0; k < seat.edge_count; ++k) {
          if (k == up) continue;
          SMELT_AWAIT(seat.send(k, nullptr, 0));
        }
    }
    at = 0;
    return true;
  }
};

// Everybody tells everybody, by its notice: one hop, where a turnstile takes two for each level of the tree. Twice in
// an operation: where one's data are, and that one has done with all others'.
struct AllNotices {
  uint32_t k = 0;

  void tell(Seat& seat, const Call& call);
  void tell_done(Seat& seat);
  bool step(Seat& seat) {
    for (; k < seat.n; ++k)
      if (!seat.has_told(k)) return false;
    k = 0;
    return true;
  }
};

// An operation: the body between what strict ones have at either end. A body that synchronises both ends itself
// (kSynchronises) needs neither.
template <typename Body>
struct SeatOperation {
  using How = Seat;
  int at = 0;
  Call call;
  Turnstile turnstile;
  Body body;

  bool step(Seat& seat) {
    switch (at) {
      case 0:
        if (!Body::kSynchronises && call.sync & SMELT_STRICT_ENTRY) {
          SMELT_AWAIT(turnstile.step(seat));
        }
        SMELT_AWAIT(body.step(seat, call));
        if (!Body::kSynchronises && call.sync & SMELT_STRICT_EXIT) {
          SMELT_AWAIT(turnstile.step(seat));
        }
    }
    return true;
  }
};

template <typename Body>
void begin(Seat& seat, const Call& call) {
  static_assert(sizeof(SeatOperation<Body>) <= sizeof seat.machine);
  auto* operation = new (seat.machine) SeatOperation<Body>;
  operation->call = call;
  seat.step = [](Seat& at) { return reinterpret_cast<SeatOperation<Body>*>(at.machine)->step(at); };
}

// Which machine serves a call; a file each. `Nothing` serves the calls without data.
struct Nothing {
  static constexpr bool kSynchronises = false;
  static bool step(Seat&, const Call&) { return true; }
};
void begin_broadcast(Seat& seat, const Call& call);
void begin_reduce(Seat& seat, const Call& call);
void begin_reduce_direct(Seat& seat, const Call& call);
void begin_gather(Seat& seat, const Call& call);
void begin_scatter(Seat& seat, const Call& call);
void begin_exchange(Seat& seat, const Call& call);

// Waits for the notice at which the seat has stopped: 0, -EPIPE, -ETIMEDOUT.
int wait_for_notice(Seat& seat);
// No notice of this seat will come any more.
void leave(Seat& seat);

// Goes on as far as it can without waiting: is the operation complete, or lost?
bool advance(Seat& seat);
// 0, -ETIMEDOUT, or the error of the loss.
int wait(Seat& seat);

// result = left op right. `result` may be `right`; it is `left` only where fold.into_third is there.
inline void combine(const smelt_fold& fold, const void* left, const void* right, void* result, size_t elements) {
  if (fold.into_third) {
    fold.into_third(fold.context, left, right, result, elements);
    return;
  }
  if (result != right) std::memcpy(result, right, elements * fold.element_bytes);
  fold.into_right(fold.context, left, result, elements);
}

// A root's words to all others down the tree: where its data are, or its place for theirs.
struct RootBuffer {
  char* at = nullptr;
  size_t bytes = 0;  // of everybody's part
};

// Has everybody said the same length? When all have told; the same answer to all.
inline bool are_as_long(const Seat& seat, size_t bytes) {
  for (uint32_t i = 0; i < seat.n; ++i)
    if (seat.notices[i].bytes != bytes) return false;
  return true;
}

// Is this much read and written where its callers have it? Only threads can.
inline bool is_direct(const Seat& seat, size_t bytes) {
  return seat.object.threads && bytes > typical(ThresholdId::kCopyExchange);
}
// ... by all of all, which meet by their notices? More participants would have too many lines.
inline bool is_direct_of_all(const Seat& seat, size_t bytes) {
  return is_direct(seat, bytes) && seat.n <= typical(ThresholdId::kAllToAll);
}

}  // namespace smelt::context

struct smelt_seat : smelt::context::Seat {};
