// Which of an endpoint's members have died (liveness.h): asking the kernel, and answering from what it has said.
#include "message/liveness.h"

#include "base/os/os.h"
#include "base/seat.h"
#include "message/carrier.h"

namespace smelt::message {

bool Liveness::open(Arena* arena, const Areas& areas) {
  areas_ = areas;
  members_ = areas.shape.members;
  gone_ = arena->make<std::atomic<uint8_t>>(members_);
  return gone_ != nullptr;
}

void Liveness::ask() {
  // With a thousand threads asleep, and a hundred members, the kernel would have nothing else to do.
  constexpr uint32_t kInTurn = 16;  // as much more for every so many members
  const uint16_t near = areas_.shape.members;
  const int64_t now = os::now_ns(), timeout = kTimeout * (1 + near / kInTurn);
  // relaxed, both: the time, and no more
  int64_t asked = asked_.load(std::memory_order_relaxed);
  if (now - asked < timeout || !asked_.compare_exchange_strong(asked, now, std::memory_order_relaxed)) return;
  for (uint16_t i = 0; i < near; ++i) {
    const MemberLine& other = areas_.line_of(i);
    if (is_gone(i) || !place::is_gone(other.process, other.started)) continue;
    // relaxed, both: as is_gone() says
    gone_[i].store(1, std::memory_order_relaxed);
    note_gone();
  }
}

bool Liveness::is_gone(uint16_t member) const {
  // relaxed: it is said once and for all; the kernel has seen to all that it wrote while it lived
  return member < areas_.shape.members ? gone_[member].load(std::memory_order_relaxed) != 0 : far_->is_gone(member);
}

bool Liveness::are_gone(int32_t source) const {
  if (source >= 0) return is_gone(static_cast<uint16_t>(source));
  bool somebody = members_ == 1;
  for (uint32_t i = 0; i < members_; ++i) somebody |= i != areas_.me && !is_gone(static_cast<uint16_t>(i));
  return !somebody;
}

}  // namespace smelt::message
