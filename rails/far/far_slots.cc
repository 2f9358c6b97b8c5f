// The numbers by which requests to and from other machines are named (far_slots.h).
#include "rails/far/far_slots.h"

#include <cstring>

#include "base/os/os.h"
#include "message/request.h"

namespace smelt::message {

namespace {

constexpr uint32_t kFirstSlots = 256;

uint64_t name_of(uint32_t slot, uint32_t life) { return uint64_t{life} << 32 | slot; }
uint32_t slot_of(uint64_t name) { return static_cast<uint32_t>(name); }

}  // namespace

void FarSlots::close() {
  if (slots_) os::unmap_pages(slots_, count_ * sizeof(Slot));
}

bool FarSlots::has_free() {
  if (free_ != 0) return true;
  const uint32_t count = count_ == 0 ? kFirstSlots : 2 * count_;
  auto* more = static_cast<Slot*>(os::map_pages(count * sizeof(Slot)));
  if (!more) return false;
  if (slots_) {
    std::memcpy(more, slots_, count_ * sizeof(Slot));
    os::unmap_pages(slots_, count_ * sizeof(Slot));
  }
  for (uint32_t i = count_; i < count; ++i) {
    more[i].life = 1;  // so no name is 0
    more[i].next_free = free_;
    free_ = i + 1;
  }
  slots_ = more, count_ = count;
  return true;
}

uint64_t FarSlots::name(Request* request, uint32_t peer) {
  const uint32_t at = free_ - 1;
  Slot& slot = slots_[at];
  free_ = slot.next_free;
  ++taken_;
  slot.request = request, slot.peer = peer;
  return name_of(at, slot.life);
}

void FarSlots::free(uint64_t name) {
  Slot& slot = slots_[slot_of(name)];
  slot.request = nullptr;
  if (++slot.life == 0) slot.life = 1;
  slot.next_free = free_;
  free_ = slot_of(name) + 1;
  --taken_;
}

Request* FarSlots::find(uint64_t name, uint32_t peer, bool is_send) const {
  const uint32_t at = slot_of(name);
  if (at >= count_) return nullptr;
  const Slot& slot = slots_[at];
  const bool is_it = slot.request && name_of(at, slot.life) == name && slot.peer == peer;
  return is_it && slot.request->is_send == is_send ? slot.request : nullptr;
}

}  // namespace smelt::message
