// Seats and their memory: in the caller's, in memory for threads, or in a file without a name for processes.
//
// There are no addresses in the memory, so each process may have it elsewhere. The tree is in it, as each participant's
// parent and an order in which parents come before their children and siblings in send order: a participant that opens
// a seat grows the same tree of it, and keeps that in memory of its own.
#include <cerrno>
#include <cstring>
#include <new>

#include "library/context/context.h"
#include "library/context/seat.h"

namespace smelt::context {
namespace {

constexpr uint64_t kFormat = 0x31307461'65736d73;  // "smseat01": another layout has another number

using place::in_lines;
using place::within;

struct SeatsShape {
  uint32_t n;

  uint32_t slots() const { return n > kLargeContext ? kSmallPieceSlots : kPieceSlots; }
  size_t piece_bytes() const { return slots() * queue::kPayload; }
  uint32_t capacity() const { return kPiecesInQueue * slots(); }
  size_t queue_bytes() const { return in_lines(smelt_queue_size(nullptr, capacity(), 2)); }
  size_t parents_at() const { return in_lines(sizeof(SharedContext)); }
  size_t order_at() const { return parents_at() + n * sizeof(uint16_t); }
  size_t taken_at() const { return in_lines(order_at() + n * sizeof(uint16_t)); }
  size_t notices_at() const { return in_lines(taken_at() + n * sizeof(std::atomic<uint32_t>)); }
  size_t queues_at() const { return in_lines(notices_at() + n * sizeof(SeatNotice)); }
  size_t bytes() const { return queues_at() + (n - 1) * queue_bytes(); }
};

// The queue of the edge between `child` and its parent, which have ends 1 and 0.
void* queue_of(SharedContext* shared, const SeatsShape& shape, const Tree& tree, uint32_t child) {
  const uint32_t i = child < tree.root ? child : child - 1;
  return within<char>(shared, shape.queues_at() + i * shape.queue_bytes());
}

// In zeroed memory, but for the contents of the caller's.
int write(void* memory, const smelt_context& context) {
  const Tree& tree = context.tree;
  const SeatsShape shape{tree.n};
  std::memset(memory, 0, shape.queues_at());
  for (uint32_t i = 0; i < tree.n; ++i) new (within<SeatNotice>(memory, shape.notices_at(), i)) SeatNotice;
  auto* shared = new (memory) SharedContext;
  shared->n = tree.n;
  shared->root = tree.root;
  // relaxed: each reader hears of the seats from us, in a way that orders it.
  shared->users.store(tree.n, std::memory_order_relaxed);
  std::memcpy(within<uint16_t>(shared, shape.parents_at()), tree.parent, tree.n * sizeof(uint16_t));
  top_down_order(tree, within<uint16_t>(shared, shape.order_at()));
  for (uint32_t i = 0; i < tree.n; ++i) {
    if (i == tree.root) continue;
    const int error =
        smelt_queue_init(queue_of(shared, shape, tree, i), shape.queue_bytes(), nullptr, shape.capacity(), 2);
    if (error) return error;
  }
  shared->format = kFormat;
  return 0;
}

// The tree that somebody wrote, in our own memory. 0; -EPROTO: it is none; -ENOMEM.
int read_tree(SharedContext* shared, const SeatsShape& shape, uint32_t root, Arena& arena, Tree* tree) {
  const uint16_t* const parents = within<uint16_t>(shared, shape.parents_at());
  const uint16_t* const order = within<uint16_t>(shared, shape.order_at());
  if (root >= shape.n) return -EPROTO;
  if (const int error = make_tree(shape.n, static_cast<uint16_t>(root), arena, tree)) return error;
  // Others write this memory: each number is looked at once, and nobody gets a parent twice.
  for (uint32_t i = 1; i < shape.n; ++i) {
    const uint16_t child = order[i];
    if (child >= shape.n || child == root || tree->parent[child] != kNobody) return -EPROTO;
    const uint16_t parent = parents[child];
    if (parent >= shape.n) return -EPROTO;
    append_child(*tree, parent, child);
  }
  return is_spanning(*tree) ? 0 : -EPROTO;
}

// How far below the root a participant is.
uint32_t depth_of(const Tree& tree, uint32_t whose) {
  uint32_t depth = 0;
  while (tree.parent[whose] != kNobody) whose = tree.parent[whose], ++depth;
  return depth;
}

// Read from its end, the order of combining is the order of a walk that goes from each participant to its children in
// send order.
void find_folds(const Tree& tree, Fold* folds) {
  uint32_t depth = 0;
  uint16_t at = tree.root;
  for (uint32_t left = tree.n - 1; left > 0; ++depth) {
    if (tree.first[at] != kNobody) {
      at = tree.first[at];
    } else {
      while (tree.next[at] == kNobody) at = tree.parent[at], --depth;
      at = tree.next[at];
      --depth;
    }
    const uint16_t parent = tree.parent[at];
    folds[--left] = {at, parent, static_cast<uint16_t>(depth), tree.first[at] == kNobody, tree.last[parent] == at};
  }
}

// Which edge leads to each participant: that to the child which it is under, or else to the parent.
void find_ways(Seat& seat, const Tree& tree) {
  for (uint32_t i = 0; i < seat.n; ++i) {
    uint32_t below = i;
    while (below != tree.root && tree.parent[below] != seat.me) below = tree.parent[below];
    uint32_t edge = 0;
    if (below != tree.root)
      while (seat.edges[edge].peer != below) ++edge;
    seat.toward[i] = static_cast<uint16_t>(edge);
  }
}

// An end of its own queue, which waits as the whole context must.
int open_edge(Seat& seat, void* memory, const SeatsShape& shape, unsigned end, uint32_t peer) {
  Edge& edge = seat.edges[seat.edge_count];
  const int error = smelt_queue_open(memory, shape.queue_bytes(), end, seat.timeout_ns, &edge.queue);
  if (error) return error;
  edge.peer = peer;
  edge.queue->policy = seat.policy;
  edge.queue->object.threads = seat.object.threads;
  ++seat.edge_count;
  return 0;
}

void close_edges(Seat& seat) {
  while (seat.edge_count > 0) smelt_queue_free(seat.edges[--seat.edge_count].queue);
}

char* take(Arena& arena, size_t bytes) {
  // Arena::make would write it, and pages that are not used would be held.
  char* const from = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(arena.mark()) + 63) / 64 * 64);
  arena.rewind(from + bytes);
  return from;
}

int furnish(Seat& seat, const SeatsShape& shape, const Tree& tree) {
  Arena& arena = seat.arena;
  seat.root = tree.root;
  seat.notices = within<SeatNotice>(seat.shared, shape.notices_at());
  seat.edges = arena.make<Edge>(seat.n);
  seat.toward = arena.make<uint16_t>(seat.n);
  seat.folds = arena.make<Fold>(seat.n);
  seat.piece_bytes = shape.piece_bytes();
  seat.room = take(arena, seat.piece_bytes);
  seat.partial = take(arena, seat.piece_bytes);
  seat.partials = take(arena, 0);  // to the end
  find_folds(tree, seat.folds);
  if (seat.me != tree.root) {
    void* const memory = queue_of(seat.shared, shape, tree, seat.me);
    if (const int error = open_edge(seat, memory, shape, 1, tree.parent[seat.me])) return error;
  }
  for (uint16_t c = tree.first[seat.me]; c != kNobody; c = tree.next[c])
    if (const int error = open_edge(seat, queue_of(seat.shared, shape, tree, c), shape, 0, c)) return error;
  find_ways(seat, tree);
  return 0;
}

// -EINVAL, -EPROTO, -EBUSY, -ENOMEM
int make_seat(SharedContext* shared, size_t bytes, uint32_t me, int64_t timeout_ns, const place::SharedObject& object,
              smelt_seat** out) {
  // Looked at once: others write this memory too.
  if (bytes < sizeof(SharedContext) || shared->format != kFormat) return -EPROTO;
  const SeatsShape shape{shared->n};
  if (shape.n < 1 || shape.n > kMaxParticipants || shape.bytes() > bytes) return -EPROTO;
  if (me >= shape.n) return -EINVAL;
  MappedArena scratch(size_t{shape.n} * 4 * sizeof(uint16_t) + 64);
  if (!scratch.ok()) return -ENOMEM;
  Tree tree;
  if (const int error = read_tree(shared, shape, shared->root, scratch, &tree)) return error;
  uint32_t deepest = 0;
  for (uint32_t i = 0; i < shape.n; ++i) deepest = std::max(deepest, depth_of(tree, i));
  auto* seat = make_object<smelt_seat>(shape.n * (sizeof(Edge) + sizeof(uint16_t) + sizeof(Fold)) + 1024 +
                                       2 * shape.piece_bytes() + (deepest + 1) * kDirectPiece);
  if (!seat) return -ENOMEM;
  if (!place::take_seat(*within<std::atomic<uint32_t>>(shared, shape.taken_at(), me))) {
    free_object(seat);
    return -EBUSY;
  }
  seat->n = shape.n;
  seat->me = me;
  seat->object = object;
  seat->crowded = shape.n > usable_cpus();
  seat->timeout_ns = timeout_ns;
  seat->policy = wait_policy(seat->crowded, shape.n);
  seat->shared = shared;
  if (const int error = furnish(*seat, shape, tree)) {
    close_edges(*seat);
    free_object(seat);
    return error;
  }
  *out = seat;
  return 0;
}

bool is_aligned(const void* memory) { return reinterpret_cast<uintptr_t>(memory) % SMELT_QUEUE_ALIGNMENT == 0; }

}  // namespace

bool advance(Seat& seat) {
  if (!seat.step) return true;
  if (!seat.error && !seat.step(seat) && !seat.error) return false;
  seat.step = nullptr;
  seat.in_vain = 0;
  return true;
}

int wait(Seat& seat) {
  while (!advance(seat)) {
    int result;
    if (seat.awaits_notice) {
      result = wait_for_notice(seat);
    } else {
      smelt_queue& queue = *seat.edges[seat.awaited].queue;
      result = seat.awaited_slots != 0 ? queue::wait_to_send(queue, seat.awaited_slots) : queue::wait_to_receive(queue);
    }
    if (result == -ETIMEDOUT) return result;
    if (result != 0) seat.error = result;
  }
  return seat.error;
}

}  // namespace smelt::context

using namespace smelt;
using namespace smelt::context;

size_t smelt_seats_size(const smelt_context* context) { return context ? SeatsShape{context->tree.n}.bytes() : 0; }

int smelt_seats_init(void* memory, size_t bytes, const smelt_context* context) {
  if (!context || !memory || !is_aligned(memory) || bytes < smelt_seats_size(context)) return -EINVAL;
  return write(memory, *context);
}

int smelt_seat_open(void* memory, size_t bytes, unsigned participant, int64_t timeout_ns, smelt_seat** seat) {
  if (!memory || !is_aligned(memory) || !seat) return -EINVAL;
  return make_seat(static_cast<SharedContext*>(memory), bytes, participant, timeout_ns, {}, seat);
}

int smelt_seats_create(const smelt_context* context, int64_t timeout_ns, smelt_seat** seats) {
  if (!context || !seats) return -EINVAL;
  const uint32_t n = context->tree.n;
  place::SharedObject object;
  if (const int failed = object.make_for_threads(smelt_seats_size(context))) return failed;
  smelt_seat* made[kMaxParticipants];
  uint32_t count = 0;
  auto* shared = reinterpret_cast<SharedContext*>(object.memory);
  int error = write(shared, *context);
  while (!error && count < n) {
    error = make_seat(shared, object.mapped, count, timeout_ns, object, &made[count]);
    if (!error) ++count;
  }
  if (error) {
    while (count-- > 0) {
      close_edges(*made[count]);
      free_object(made[count]);
    }
    object.discard();
    return error;
  }
  std::copy(made, made + n, seats);
  return 0;
}

int smelt_seats_create_shared(const smelt_context* context, int64_t timeout_ns, smelt_seat_ticket* ticket,
                              smelt_seat** seat) {
  if (!context || !ticket || !seat) return -EINVAL;
  place::SharedObject object;
  place::ObjectTicket told;
  if (const int failed = object.make_for_processes("smelt-seats", smelt_seats_size(context), &told)) return failed;
  auto* shared = reinterpret_cast<SharedContext*>(object.memory);
  int error = write(shared, *context);
  if (!error) error = make_seat(shared, object.mapped, 0, timeout_ns, object, seat);
  if (error) {
    object.discard();
    return error;
  }
  object.issue(told, ticket);
  return 0;
}

int smelt_seat_attach(const smelt_seat_ticket* ticket, unsigned participant, int64_t timeout_ns, smelt_seat** seat) {
  if (!ticket || !seat || participant == 0) return -EINVAL;
  place::SharedObject object;
  if (const int failed = object.attach(place::ticket_of(*ticket), sizeof(SharedContext))) return failed;
  const int error =
      make_seat(reinterpret_cast<SharedContext*>(object.memory), object.mapped, participant, timeout_ns, object, seat);
  if (error) object.discard();
  return error == -EPROTO ? -ENOTSUP : error;
}

void smelt_seat_free(smelt_seat* seat) {
  if (!seat) return;
  close_edges(*seat);
  if (seat->object.threads) leave(*seat);
  seat->object.leave(seat->shared->users);
  free_object(seat);
}
