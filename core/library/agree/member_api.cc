// The C functions of a member: arguments checked, and the waiting forms made of tries and waits.
#include <cerrno>

#include "library/agree/members.h"

using namespace smelt;
using namespace smelt::members;

int smelt_member_try_send(smelt_member* member, const void* data, size_t bytes) {
  if (!member || (!data && bytes != 0)) return -EINVAL;
  return try_send(*member, data, bytes);
}

int smelt_member_send(smelt_member* member, const void* data, size_t bytes) {
  int result = smelt_member_try_send(member, data, bytes);
  while (result == -EAGAIN) {
    if (const int error = wait_to_send(*member)) return error;
    result = try_send(*member, data, bytes);
  }
  return result;
}

int smelt_member_try_receive(smelt_member* member, void* data, size_t room, smelt_member_event* event) {
  if (!member || !event || (!data && room != 0)) return -EINVAL;
  return try_receive(*member, data, room, event);
}

int smelt_member_receive(smelt_member* member, void* data, size_t room, smelt_member_event* event) {
  int result = smelt_member_try_receive(member, data, room, event);
  while (result == -EAGAIN) {
    if (const int error = wait_to_receive(*member)) return error;
    result = try_receive(*member, data, room, event);
  }
  return result;
}

int smelt_member_exclude(smelt_member* member, unsigned place) {
  if (!member || place >= member->shape.places || place == member->me) return -EINVAL;
  if (is_out(*member)) return -ESTALE;
  if (!member->view.has(place)) return -ENOENT;
  const PlaceState state{member->places[place].state.load(std::memory_order_acquire)};
  // Out already, or somebody else's by now: only the view is to follow.
  const bool still = state.is(kTaken) && state.generation() == member->view.generation(place);
  return still ? exclude(*member, place, state) : mend(*member);
}

int smelt_member_view(const smelt_member* member, uint64_t* number, unsigned* places, unsigned room) {
  if (!member || (!places && room != 0)) return -EINVAL;
  if (number) *number = member->view.number;
  unsigned count = 0;
  for (uint32_t p = 0; p < member->shape.places; ++p) {
    if (!member->view.has(p)) continue;
    if (count < room) places[count] = p;
    ++count;
  }
  return static_cast<int>(count);
}

int smelt_member_parent(const smelt_member* member, unsigned place) {
  if (!member || place >= member->shape.places || !member->view.has(place)) return -EINVAL;
  const uint32_t parent = member->view.parent(place);
  return parent == place ? -1 : static_cast<int>(parent);
}

unsigned smelt_member_place(const smelt_member* member) { return member->me; }
