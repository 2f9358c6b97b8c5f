// Making queues, in the caller's memory, in memory for threads, or in a file without a name for processes; and the
// ends.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/options.h"
#include "library/queue/queue.h"

namespace smelt::queue {

constinit const KindRow kKinds[] = {
#define QUEUE_KIND(identifier, name, pair, help) {&(identifier), name, pair, help},
#include "library/queue/kinds.def"
#undef QUEUE_KIND
};
uint32_t kinds() { return sizeof kKinds / sizeof kKinds[0]; }

namespace {

constexpr uint64_t kFormat = 0x32307565'7565716d;  // "mqueue02": another layout has another number
static_assert(kLineBytes <= SMELT_QUEUE_ALIGNMENT);

struct QueueShape {
  uint32_t kind, capacity, members;

  bool pair() const { return kKinds[kind].pair; }
  // Less than a quarter of the ring may be read and not given back yet (messages.h), and is not there for messages.
  uint32_t ring() const {
    uint32_t ring = std::max(4u, std::bit_ceil(capacity));
    if (ring - ring / 4 + 1 < capacity) ring *= 2;
    return ring;
  }
  size_t channel_bytes() const { return sizeof(Channel) + ring() * sizeof(Slot); }
  size_t channels_at() const { return kLineBytes + members * sizeof(EndLine); }
  size_t bytes() const { return channels_at() + (pair() ? 2 : 1) * channel_bytes(); }
};
static_assert(sizeof(SharedQueue) <= kLineBytes && sizeof(Channel) % kLineBytes == 0 && sizeof(EndLine) == kLineBytes);

int shape_of(const char* kind, unsigned capacity, unsigned ends, QueueShape* shape) {
  if (capacity < 1 || capacity > SMELT_QUEUE_MAX_CAPACITY || ends < 2 || ends > SMELT_MAX_PARTICIPANTS) return -EINVAL;
  for (uint32_t i = 0; i < kinds(); ++i) {
    if (std::strcmp(kKinds[i].name, kind ? kind : "ump") != 0) continue;
    *shape = {i, capacity, ends};
    return shape->pair() && ends != 2 ? -EINVAL : 0;
  }
  return -ENOENT;
}

EndLine* members_of(SharedQueue* shared) { return place::within<EndLine>(shared, kLineBytes); }
Channel* channel_of(SharedQueue* shared, const QueueShape& shape, uint32_t i) {
  return place::within<Channel>(shared, shape.channels_at() + i * shape.channel_bytes());
}
Slot* slots_behind(Channel* channel) { return reinterpret_cast<Slot*>(channel + 1); }

// The channel over which this member sends, or receives; nullptr: none.
Channel* outgoing(SharedQueue* shared, const QueueShape& shape, uint32_t member) {
  return shape.pair() || member == 0 ? channel_of(shared, shape, member) : nullptr;
}
Channel* incoming(SharedQueue* shared, const QueueShape& shape, uint32_t member) {
  return shape.pair() ? channel_of(shared, shape, 1 - member) : member != 0 ? channel_of(shared, shape, 0) : nullptr;
}

SharedQueue* write_empty(void* memory, const QueueShape& shape) {
  auto* shared = new (memory) SharedQueue;
  shared->kind = shape.kind;
  shared->members = shape.members;
  shared->capacity = shape.capacity;
  shared->ring = shape.ring();
  // relaxed: each reader hears of the queue from us, in a way that orders it.
  shared->users.store(shape.members, std::memory_order_relaxed);
  for (uint32_t i = 0; i < shape.members; ++i) {
    auto* member = new (members_of(shared) + i) EndLine;
    member->read.store(shared->ring, std::memory_order_relaxed);  // where positions begin
  }
  for (uint32_t i = 0; i < (shape.pair() ? 2u : 1u); ++i) {
    auto* channel = new (channel_of(shared, shape, i)) Channel;
    channel->receivers.store(shape.pair() ? 1 : shape.members - 1, std::memory_order_relaxed);
    std::memset(static_cast<void*>(slots_behind(channel)), 0, shared->ring * sizeof(Slot));
  }
  shared->format = kFormat;
  return shared;
}

// Is that a queue, and does it lie within so many bytes? Looked at once: others write this memory too.
bool read_shape(const SharedQueue* shared, size_t bytes, QueueShape* shape) {
  if (bytes < sizeof(SharedQueue) || shared->format != kFormat || shared->kind >= kinds()) return false;
  QueueShape found;
  if (shape_of(kKinds[shared->kind].name, shared->capacity, shared->members, &found) != 0) return false;
  *shape = found;
  return found.ring() == shared->ring && found.bytes() <= bytes;
}

int make_end(SharedQueue* shared, const QueueShape& shape, uint32_t index, int64_t timeout_ns, smelt_queue** out) {
  if (index >= shape.members) return -EINVAL;
  auto* end = make_object<smelt_queue>(0);
  if (!end) return -ENOMEM;
  if (!place::take_seat(members_of(shared)[index].taken)) {
    free_object(end);
    return -EBUSY;
  }
  end->kind = kKinds[shape.kind].kind;
  end->index = index;
  end->limit = shape.capacity * kPayload;
  end->timeout_ns = timeout_ns;
  // SMELT_CPUS decides. The affinity of the thread that comes here does not: threads that are bound to a CPU each are
  // no crowd, and one thread may make the ends of all.
  const bool few = shape.members > usable_cpus();
  end->policy = wait_policy(few && options().cpus > 0, shape.members);
  end->crowd = wait_policy(few, shape.members);
  end->unsure = few && options().cpus <= 0;
  const int32_t burst = burst_of(end->unsure ? end->crowd : end->policy);
  end->shared = shared;
  const uint32_t ring = shape.ring();
  if (Channel* channel = outgoing(shared, shape, index)) {
    const uint32_t first = shape.pair() ? 1 - index : 1;
    end->sender = {slots_behind(channel),
                   channel,
                   members_of(shared) + first,
                   shape.pair() ? 1 : shape.members - 1,
                   ring,
                   ring,
                   2 * uint64_t{ring},
                   0,
                   burst};
  }
  if (Channel* channel = incoming(shared, shape, index)) {
    EndLine* own = members_of(shared) + index;
    end->receiver = {slots_behind(channel),
                     channel,
                     own,
                     shape.pair() ? own : members_of(shared) + 1,
                     shape.pair() ? 1 : shape.members - 1,
                     ring,
                     ring,
                     ring,
                     burst};
  }
  *out = end;
  return 0;
}

// The bells are rung whether somebody is seen to sleep or not: a member that goes to sleep finds either our store, or a
// word that has changed.
void close_end(End* end) {
  if (end->sender.slots) {
    // release: a receiver that finds no sender left sees all that was sent before.
    end->sender.channel->senders.fetch_sub(1, std::memory_order_release);
    wake_sleepers(end->sender.channel->sent);
  }
  if (end->receiver.slots) {
    const bool pair = kKinds[end->shared->kind].pair;
    if (!pair) {
      end->receiver.own->cpu.store(kLeft, std::memory_order_relaxed);  // a hint
      // release: our reads of the slots come before they may be overwritten.
      end->receiver.own->read.store(kGone, std::memory_order_release);
    }
    end->receiver.channel->receivers.fetch_sub(1, std::memory_order_release);
    wake_sleepers(end->receiver.channel->read);
  }
}

}  // namespace
}  // namespace smelt::queue

using namespace smelt;
using namespace smelt::queue;

size_t smelt_queue_size(const char* kind, unsigned capacity, unsigned ends) {
  QueueShape shape;
  return shape_of(kind, capacity, ends, &shape) == 0 ? shape.bytes() : 0;
}

int smelt_queue_init(void* memory, size_t bytes, const char* kind, unsigned capacity, unsigned ends) {
  QueueShape shape;
  if (const int error = shape_of(kind, capacity, ends, &shape)) return error;
  if (!memory || reinterpret_cast<uintptr_t>(memory) % SMELT_QUEUE_ALIGNMENT != 0 || bytes < shape.bytes())
    return -EINVAL;
  write_empty(memory, shape);
  return 0;
}

int smelt_queue_open(void* memory, size_t bytes, unsigned end, int64_t timeout_ns, smelt_queue** queue) {
  if (!memory || reinterpret_cast<uintptr_t>(memory) % SMELT_QUEUE_ALIGNMENT != 0 || !queue) return -EINVAL;
  QueueShape shape;
  auto* shared = static_cast<SharedQueue*>(memory);
  if (!read_shape(shared, bytes, &shape)) return -EPROTO;
  return make_end(shared, shape, end, timeout_ns, queue);
}

int smelt_queue_create(const char* kind, unsigned capacity, unsigned ends, int64_t timeout_ns, smelt_queue** queue) {
  if (!queue) return -EINVAL;
  QueueShape shape;
  if (const int error = shape_of(kind, capacity, ends, &shape)) return error;
  place::SharedObject object;
  if (const int error = object.make_for_threads(shape.bytes())) return error;
  SharedQueue* shared = write_empty(object.memory, shape);
  smelt_queue* made[SMELT_MAX_PARTICIPANTS];
  for (uint32_t i = 0; i < ends; ++i) {
    if (const int error = make_end(shared, shape, i, timeout_ns, &made[i])) {
      while (i-- > 0) free_object(made[i]);
      object.discard();
      return error;
    }
    made[i]->object = object;
  }
  std::copy(made, made + ends, queue);
  return 0;
}

int smelt_queue_create_shared(const char* kind, unsigned capacity, unsigned ends, int64_t timeout_ns,
                              smelt_queue_ticket* ticket, smelt_queue** queue) {
  if (!ticket || !queue) return -EINVAL;
  QueueShape shape;
  if (const int error = shape_of(kind, capacity, ends, &shape)) return error;
  place::SharedObject object;
  place::ObjectTicket told;
  if (const int error = object.make_for_processes("smelt-queue", shape.bytes(), &told)) return error;
  if (make_end(write_empty(object.memory, shape), shape, 0, timeout_ns, queue) != 0) {
    object.discard();
    return -ENOMEM;
  }
  (*queue)->object = object;
  object.issue(told, ticket);
  return 0;
}

int smelt_queue_attach(const smelt_queue_ticket* ticket, unsigned end, int64_t timeout_ns, smelt_queue** queue) {
  if (!ticket || !queue || end == 0) return -EINVAL;
  place::SharedObject object;
  if (const int error = object.attach(place::ticket_of(*ticket), sizeof(SharedQueue))) return error;
  QueueShape shape;
  auto* shared = reinterpret_cast<SharedQueue*>(object.memory);
  const int error =
      read_shape(shared, object.mapped, &shape) ? make_end(shared, shape, end, timeout_ns, queue) : -ENOTSUP;
  if (error)
    object.discard();
  else
    (*queue)->object = object;
  return error;
}

void smelt_queue_free(smelt_queue* queue) {
  if (!queue) return;
  close_end(queue);
  queue->object.leave(queue->shared->users);
  free_object(queue);
}
