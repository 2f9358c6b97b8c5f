// The endpoint's C API: where its memory comes from, then straight to the endpoint.
#include <smelt/endpoint.h>

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>

#include "base/options.h"
#include "base/os/shared_memory.h"
#include "message/endpoint.h"
#include "policy/long_copy.h"
#include "policy/thresholds.h"
#include "profile/profile.h"
#include "transport/segment.h"

using namespace smelt;
using message::Endpoint;
using message::Request;
using message::Shape;

struct smelt_endpoint : Object {
  Endpoint* endpoint = nullptr;
  Block block;
};

namespace {

static_assert(sizeof(BlockTicket) <= sizeof(smelt_endpoint_ticket));
static_assert(sizeof(Request) <= sizeof(smelt_transfer));
static_assert(alignof(Request) <= alignof(smelt_transfer));
static_assert(offsetof(Request, state) == offsetof(smelt_transfer, state));
static_assert(offsetof(Request, error) == offsetof(smelt_transfer, error));
static_assert(offsetof(Request, peer) == offsetof(smelt_transfer, peer));
static_assert(offsetof(Request, tag) == offsetof(smelt_transfer, tag));
static_assert(offsetof(Request, length) == offsetof(smelt_transfer, length));
static_assert(offsetof(Request, completed) == offsetof(smelt_transfer, completed));
static_assert(offsetof(Request, unpack) == offsetof(smelt_transfer, unpack));
static_assert(offsetof(Request, pack) == offsetof(smelt_transfer, pack));
static_assert(offsetof(Request, holds) == offsetof(smelt_transfer, holds));

Request* request_of(smelt_transfer* transfer) { return reinterpret_cast<Request*>(transfer); }

Shape shape_of(unsigned members) { return Shape{static_cast<uint16_t>(members)}; }

smelt_endpoint* make() { return make_object<smelt_endpoint>(0); }

// This machine's profile as this process was told it, once.
Profile profile;
bool have_profile = false;
pthread_once_t profile_once = PTHREAD_ONCE_INIT;
void load_profile_once() {
  Refusal why;
  have_profile = load_profile(&profile, &why) == 0;
}

// `reads`: single copy works.
void limit(Endpoint* endpoint, bool reads, bool crowded) {
  // Where the receiver finds out which way is the better one, it is asked from here on, and not from a packet's size
  // on. One way, us, ob1 / packets / tried, Emerald Rapids: 16 KiB unchanged 2.1 / 3.2 / 1.7, written 5.3 / 3.2 /
  // 3.5.
  constexpr uint64_t kTriedFrom = 8 * 1024;
  pthread_once(&profile_once, load_profile_once);
  const Profile* known = have_profile ? &profile : nullptr;
  prepare_long_copies(known);
  const uint64_t pieces = find_threshold(ThresholdId::kMessagePieces, known).value;
  const uint64_t packet = find_threshold(ThresholdId::kMessageEager, known).value;
  const bool is_free = options().copy_limit < 0;    // a limit that somebody has set is obeyed
  const bool tries = reads && is_free && !crowded;  // in a crowd times say who had a CPU
  endpoint->set_limits(tries ? std::min(packet, kTriedFrom) : packet, crowded && is_free ? 0
                                                                      : pieces == kNever ? kNever
                                                                                         : pieces + 1);
  endpoint->set_trials(tries);
}

// In the block that is there; on failure the block is let go of by the caller.
int open_in(smelt_endpoint* made, const Shape& shape, unsigned me) {
  const uint64_t own = kPage + me * shape.area_bytes();
  if (take_block_pages(made->block, own, shape.area_bytes()) != 0) return -ENOMEM;
  const int error =
      Endpoint::open(made->block.address + kPage, shape, static_cast<uint16_t>(me), true, &made->endpoint);
  if (error == 0) limit(made->endpoint, true, false);
  return error;
}

bool fits(unsigned members) { return members >= 1 && members <= SMELT_MAX_PARTICIPANTS; }

}  // namespace

extern "C" {

int smelt_endpoint_offer(unsigned members, smelt_endpoint_ticket* ticket, smelt_endpoint** endpoint) {
  if (!fits(members)) return -EINVAL;
  smelt_endpoint* made = make();
  if (!made) return -ENOMEM;
  const Shape shape = shape_of(members);
  const uint64_t limit = static_cast<uint64_t>(options().shm_mb) << 20;
  BlockTicket told;
  int error = allocate_block(kPage + shape.bytes(), members, limit, &made->block, &told);
  if (error == 0 && (error = open_in(made, shape, 0)) != 0) abandon_block(&made->block);
  if (error != 0) {
    free_object(made);
    return error;
  }
  std::memset(ticket, 0, sizeof *ticket);
  std::memcpy(ticket, &told, sizeof told);
  *endpoint = made;
  return 0;
}

int smelt_endpoint_join(const smelt_endpoint_ticket* ticket, unsigned members, unsigned me, smelt_endpoint** endpoint) {
  if (!fits(members) || me == 0 || me >= members) return -EINVAL;
  smelt_endpoint* made = make();
  if (!made) return -ENOMEM;
  const Shape shape = shape_of(members);
  BlockTicket told;
  std::memcpy(static_cast<void*>(&told), ticket, sizeof told);
  int error = attach_block(told, kPage + shape.bytes(), &made->block);
  if (error == 0 && (error = open_in(made, shape, me)) != 0) abandon_block(&made->block);
  if (error != 0) {
    free_object(made);
    return error;
  }
  *endpoint = made;
  return 0;
}

int smelt_endpoint_reads(int process, uint64_t address, uint64_t expected) {
  uint64_t found = 0;
  return os::read_process(process, &found, address, sizeof found) == 0 && found == expected;
}

void smelt_endpoint_leave(smelt_endpoint* endpoint, int together) {
  if (!endpoint) return;
  Endpoint::close(endpoint->endpoint);
  if (together)
    release_block(&endpoint->block);
  else
    abandon_block(&endpoint->block);
  free_object(endpoint);
}

int smelt_endpoint_send(smelt_endpoint* endpoint, smelt_transfer* send, unsigned to, unsigned context, int tag,
                        const void* data, uint64_t bytes, int synchronous) {
  if (to > UINT16_MAX || context > UINT16_MAX) return -EINVAL;
  bool done = false;
  const int error = endpoint->endpoint->send(request_of(send), static_cast<uint16_t>(to),
                                             static_cast<uint16_t>(context), tag, data, bytes, synchronous != 0, &done);
  return error ? error : done;
}

int smelt_endpoint_send_now(smelt_endpoint* endpoint, unsigned to, unsigned context, int tag, const void* data,
                            uint64_t bytes) {
  return to <= UINT16_MAX && context <= UINT16_MAX &&
         endpoint->endpoint->send_now(static_cast<uint16_t>(to), static_cast<uint16_t>(context), tag, data, bytes);
}

int smelt_endpoint_receive(smelt_endpoint* endpoint, smelt_transfer* receive, int source, unsigned context, int tag,
                           int any_tag, void* buffer, uint64_t room) {
  if (context > UINT16_MAX) return -EINVAL;
  bool done = false;
  const int error = endpoint->endpoint->receive(request_of(receive), source, static_cast<uint16_t>(context), tag,
                                                any_tag != 0, buffer, room, &done);
  return error ? error : done;
}

int smelt_endpoint_receive_held(smelt_endpoint* endpoint, smelt_transfer* receive, smelt_transfer* holder, void* buffer,
                                uint64_t room) {
  bool done = false;
  endpoint->endpoint->receive_held(request_of(receive), request_of(holder), buffer, room, &done);
  return done;
}

void smelt_endpoint_set(smelt_endpoint* endpoint, int reads, int crowded, void (*host)(void*), void* argument) {
  limit(endpoint->endpoint, reads != 0, crowded != 0);
  endpoint->endpoint->set_single_copy(reads != 0);
  endpoint->endpoint->set_crowded(crowded != 0);
  endpoint->endpoint->set_host(host, argument);
}

void smelt_endpoint_one_thread(smelt_endpoint* endpoint) { endpoint->endpoint->set_alone(true); }

int smelt_endpoint_carry(smelt_endpoint* endpoint, const smelt_endpoint_carrier* carrier, void* rails, unsigned peers) {
  if (!endpoint || !carrier) return -EINVAL;
  if (std::strcmp(carrier->version, smelt_version()) != 0) return -EPROTO;
  return endpoint->endpoint->carry(*carrier->carriage, rails, peers);
}

unsigned smelt_endpoint_wait(smelt_endpoint* endpoint, smelt_transfer* const* transfers, unsigned count,
                             unsigned needed) {
  return endpoint->endpoint->wait_for(reinterpret_cast<Request* const*>(transfers), count, needed);
}

void smelt_endpoint_count(const smelt_endpoint* endpoint, smelt_endpoint_counters* counters) {
  const message::Counters now = endpoint->endpoint->counters();
  static_assert(sizeof now == sizeof *counters);
  std::memcpy(counters, &now, sizeof now);
}

int smelt_endpoint_cancel(smelt_endpoint* endpoint, smelt_transfer* receive) {
  return endpoint->endpoint->cancel(request_of(receive));
}

void smelt_endpoint_forget(smelt_endpoint* endpoint, unsigned context) {
  if (context <= UINT16_MAX) endpoint->endpoint->forget(static_cast<uint16_t>(context));
}

int smelt_endpoint_lost(smelt_endpoint* endpoint, int source) { return endpoint->endpoint->is_lost(source); }

int smelt_endpoint_probe(smelt_endpoint* endpoint, int source, unsigned context, int tag, int any_tag, uint16_t* sender,
                         int32_t* message_tag, uint64_t* length) {
  message::Seen seen;
  if (context > UINT16_MAX ||
      !endpoint->endpoint->probe(source, static_cast<uint16_t>(context), tag, any_tag != 0, &seen))
    return 0;
  *sender = seen.sender;
  *message_tag = seen.tag;
  *length = seen.length;
  return 1;
}

int smelt_transfer_done(smelt_endpoint* endpoint, smelt_transfer* transfer) {
  return endpoint->endpoint->test(request_of(transfer));
}

int smelt_endpoint_progress(smelt_endpoint* endpoint) { return endpoint->endpoint->progress(); }

void smelt_endpoint_limits(const smelt_endpoint* endpoint, uint64_t* inbox, uint64_t* packet) {
  *inbox = message::kInlineBytes;
  *packet = endpoint->endpoint->eager_bytes();
}

}  // extern "C"
