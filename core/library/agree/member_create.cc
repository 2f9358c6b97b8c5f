// Making memberships, in the caller's memory, in memory for threads, or in a file without a name for processes; joining
// and leaving. members.h has the whole, member_log.cc gives the order of the steps of a join.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/os/os.h"
#include "base/os/process.h"
#include "library/agree/members.h"

namespace smelt::members {

uint32_t MembershipShape::ring() const { return std::max(16u, std::bit_ceil(messages)); }
uint32_t MembershipShape::outbox() const { return ring() / 4; }

namespace {

constexpr uint64_t kFormat = 0x31307265'626d656d;  // "member01": another layout has another number
static_assert(kLineBytes <= SMELT_MEMBER_ALIGNMENT);
static_assert(sizeof(SharedMembers) % kLineBytes == 0 && sizeof(Place) % kLineBytes == 0);
// The limits of the words' fields: Entry, Latest.
static_assert(SMELT_MEMBER_PLACES <= 1024 && SMELT_MEMBER_MESSAGES / 4 <= 1 << 21 && kViewBuffers <= 16);

int shape_of(const smelt_member_terms* terms, MembershipShape* shape) {
  if (!terms || terms->places < 1 || terms->places > SMELT_MEMBER_PLACES || terms->messages < 1 ||
      terms->messages > SMELT_MEMBER_MESSAGES || terms->bytes > SMELT_MEMBER_BYTES)
    return -EINVAL;
  *shape = {terms->places, terms->messages, terms->bytes};
  return 0;
}

Place* places_of(SharedMembers* shared) { return reinterpret_cast<Place*>(shared + 1); }
Word* words_at(SharedMembers* shared, size_t at) {
  return reinterpret_cast<Word*>(reinterpret_cast<char*>(shared) + at);
}

SharedMembers* write_empty(void* memory, const MembershipShape& shape, int64_t patience_ns) {
  auto* shared = new (memory) SharedMembers;
  shared->places = shape.places;
  shared->messages = shape.messages;
  shared->bytes = shape.bytes;
  shared->patience_ns = patience_ns;
  // relaxed, all of it: each reader hears of the membership from us, in a way that orders it.
  shared->tail.store(shape.ring(), std::memory_order_relaxed);  // where positions begin, so that no word is of lap 0
  for (uint32_t i = 0; i < shape.places; ++i) new (places_of(shared) + i) Place;
  std::memset(static_cast<void*>(words_at(shared, shape.log_at())), 0, shape.total() - shape.log_at());
  shared->format = kFormat;
  return shared;
}

// Is that a membership, and does it lie within so many bytes? Looked at once: others write this memory too.
bool read_shape(const SharedMembers* shared, size_t bytes, MembershipShape* shape) {
  if (bytes < sizeof(SharedMembers) || shared->format != kFormat) return false;
  const smelt_member_terms terms{shared->places, shared->messages, shared->bytes, 0};
  return shape_of(&terms, shape) == 0 && shape->total() <= bytes;
}

int make_membership(SharedMembers* shared, const MembershipShape& shape, smelt_membership** out) {
  auto* made = make_object<smelt_membership>(0);
  if (!made) return -ENOMEM;
  Refusal why;
  if (const int error = load_profile(&made->profile, &why)) {
    free_object(made);
    return error;
  }
  made->shared = shared;
  made->shape = shape;
  made->patience_ns = shared->patience_ns;
  *out = made;
  return 0;
}

// --- places

// Ends the use of a place. `started` first: the next owner of the place writes its own afterwards.
bool set_free(Place& place, PlaceState state) {
  place.started.store(0, std::memory_order_relaxed);
  // release: all that was done with the place and its buffers comes before they are somebody else's.
  return place.state.compare_exchange_strong(state.word, state.as(kFree).word, std::memory_order_acq_rel,
                                             std::memory_order_relaxed);
}

// Takes the place if it is free, or its process gone.
bool take(Place& place, PlaceState* mine) {
  PlaceState state{place.state.load(std::memory_order_acquire)};
  if (!state.is(kFree)) {
    if (!place::is_gone(state.process(), place.started.load(std::memory_order_relaxed))) return false;
    if (state.is(kTaken) && !place.state.compare_exchange_strong(state.word, state.as(kOut).word,
                                                                 std::memory_order_acq_rel, std::memory_order_relaxed))
      return false;
    if (!set_free(place, state.as(kOut))) return false;
    state = state.as(kFree);
  }
  *mine = PlaceState::of(state.generation() + 1, os::process_id(), kTaken);
  // acquire: all that was done with it before. A failure means that somebody else has it.
  return place.state.compare_exchange_strong(state.word, mine->word, std::memory_order_acq_rel,
                                             std::memory_order_relaxed);
}

void give_up_place(Member& member) {
  Place& place = member.places[member.me];
  if (!set_free(place, member.state)) set_free(place, member.state.as(kOut));
  // For the members that wait for us to receive, or may now look at the view.
  wake_sleepers(member.shared->logged);
  wake_sleepers(member.shared->received);
}

// Comes into the view, as a member that has nothing to receive: when there is room.
struct Entering : place::WaiterDefaults {
  Member& member;
  explicit Entering(Member& member) : member(member) {}

  int look() {
    uint64_t at = 0;
    const int result = make_view(member, Change::kJoin, &at);
    // As of the position that we have come to, or of that before our own view.
    member.view = member.head;
    member.next = result == 0 ? at : member.scanned;
    return (result == 0 || result == -EAGAIN) && is_out(member) ? -ESTALE : result;
  }
  void watch(int64_t now) { look_after_holder(member, now); }
};

int enter(Member& member, int64_t timeout_ns) {
  // Each look is a new view: no spinning.
  constexpr WaitPolicy kAsleep{0, 0};
  return place::wait({kAsleep, timeout_ns, false}, member.shared->received, Entering(member));
}

// Mending takes less than 64 n^2 + 4096 n bytes and a megabyte, of which only the used part costs anything.
size_t member_bytes(const MembershipShape& shape) {
  const size_t n = shape.places;
  return (size_t{1} << 20) + n * n * 64 + n * 4096 + shape.outbox() * sizeof(uint64_t);
}

}  // namespace
}  // namespace smelt::members

using namespace smelt;
using namespace smelt::members;

size_t smelt_membership_size(const smelt_member_terms* terms) {
  MembershipShape shape;
  return shape_of(terms, &shape) == 0 ? shape.total() : 0;
}

int smelt_membership_init(void* memory, size_t bytes, const smelt_member_terms* terms) {
  MembershipShape shape;
  if (const int error = shape_of(terms, &shape)) return error;
  if (!memory || reinterpret_cast<uintptr_t>(memory) % SMELT_MEMBER_ALIGNMENT != 0 || bytes < shape.total())
    return -EINVAL;
  write_empty(memory, shape, terms->patience_ns);
  return 0;
}

int smelt_membership_open(void* memory, size_t bytes, smelt_membership** membership) {
  if (!memory || reinterpret_cast<uintptr_t>(memory) % SMELT_MEMBER_ALIGNMENT != 0 || !membership) return -EINVAL;
  MembershipShape shape;
  auto* shared = static_cast<SharedMembers*>(memory);
  return read_shape(shared, bytes, &shape) ? make_membership(shared, shape, membership) : -EPROTO;
}

int smelt_membership_create(const smelt_member_terms* terms, smelt_membership** membership) {
  MembershipShape shape;
  if (const int error = membership ? shape_of(terms, &shape) : -EINVAL) return error;
  place::SharedObject object;
  if (const int error = object.make_for_threads(shape.total())) return error;
  SharedMembers* shared = write_empty(object.memory, shape, terms->patience_ns);
  if (const int error = make_membership(shared, shape, membership)) {
    object.discard();
    return error;
  }
  (*membership)->object = object;
  return 0;
}

int smelt_membership_create_shared(const smelt_member_terms* terms, smelt_member_ticket* ticket,
                                   smelt_membership** membership) {
  MembershipShape shape;
  if (const int error = ticket && membership ? shape_of(terms, &shape) : -EINVAL) return error;
  place::SharedObject object;
  place::ObjectTicket told;
  if (const int error = object.make_for_processes("smelt-members", shape.total(), &told)) return error;
  SharedMembers* shared = write_empty(object.memory, shape, terms->patience_ns);
  if (make_membership(shared, shape, membership) != 0) {
    object.discard();
    return -ENOMEM;
  }
  (*membership)->object = object;
  object.issue(told, ticket);
  return 0;
}

int smelt_membership_attach(const smelt_member_ticket* ticket, smelt_membership** membership) {
  if (!ticket || !membership) return -EINVAL;
  place::SharedObject object;
  if (const int error = object.attach(place::ticket_of(*ticket), sizeof(SharedMembers))) return error;
  auto* shared = reinterpret_cast<SharedMembers*>(object.memory);
  MembershipShape shape;
  const int error = read_shape(shared, object.mapped, &shape) ? make_membership(shared, shape, membership) : -ENOTSUP;
  if (error)
    object.discard();
  else
    (*membership)->object = object;
  return error;
}

void smelt_membership_free(smelt_membership* membership) {
  if (!membership) return;
  membership->object.discard();
  unload_profile(&membership->profile);
  free_object(membership);
}

int smelt_member_join(smelt_membership* membership, int place, int cpu, int64_t timeout_ns, smelt_member** member) {
  if (!membership || !member || place < SMELT_MEMBER_ANY || cpu < SMELT_MEMBER_ANY) return -EINVAL;
  const MembershipShape& shape = membership->shape;
  if (place >= static_cast<int>(shape.places)) return -EINVAL;
  auto* made = make_object<smelt_member>(member_bytes(shape));
  if (!made) return -ENOMEM;
  SharedMembers* shared = membership->shared;
  made->of = membership;
  made->shared = shared;
  made->places = places_of(shared);
  made->log = words_at(shared, shape.log_at());
  made->outboxes = words_at(shared, shape.outboxes_at());
  made->views = words_at(shared, shape.views_at());
  made->shape = shape;
  made->ring = shape.ring();
  made->laps = static_cast<uint32_t>(std::countr_zero(made->ring));
  made->timeout_ns = timeout_ns;
  made->policy = wait_policy(shape.places > usable_cpus(), shape.places);
  made->used_at = made->arena.make<uint64_t>(shape.outbox());

  bool taken = false;
  for (uint32_t p = 0; p < shape.places && !taken; ++p) {
    if (place != SMELT_MEMBER_ANY && static_cast<int>(p) != place) continue;
    made->me = p;
    taken = take(made->places[p], &made->state);
  }
  if (!taken) {
    free_object(made);
    return -EBUSY;
  }
  Place& mine = made->places[made->me];
  // relaxed: hints, which say nothing about anything else.
  mine.started.store(os::process_start(os::process_id()), std::memory_order_relaxed);
  mine.cpu.store(cpu == SMELT_MEMBER_ANY ? os::current_cpu() : static_cast<uint32_t>(cpu), std::memory_order_relaxed);
  // From here on nothing is overwritten that comes after the tail which we read behind the fence.
  made->received = shared->tail.load(std::memory_order_acquire);
  mine.received.store(made->received, std::memory_order_release);
  mine.known.store(made->received, std::memory_order_relaxed);
  full_fence();  // the place is taken, before the tail is read
  const uint64_t from = shared->tail.load(std::memory_order_acquire);
  find_used_buffers(*made);
  int error = read_latest(*made, from);
  if (error == 0) error = enter(*made, timeout_ns);
  if (error != 0) {
    give_up_place(*made);
    free_object(made);
    return error == -EAGAIN ? -ETIMEDOUT : error;
  }
  *member = made;
  return 0;
}

void smelt_member_leave(smelt_member* member) {
  if (!member) return;
  if (!is_out(*member)) {
    member->head = member->view;
    member->scanned = member->next;
    uint64_t at;
    make_view(*member, Change::kLeave, &at);
  }
  give_up_place(*member);
  free_object(member);
}
