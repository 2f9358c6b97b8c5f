#include "openmp/victims.h"

#include <algorithm>

#include "base/os/os.h"

namespace smelt::openmp {
namespace {

// Costs up to so many times the least of their class are in it: pairs in one cache differ that much in a measured
// profile, and the next cache is further away than that.
constexpr float kSameClass = 1.25f;

}  // namespace

Victims* order_victims(const Costs& machine, std::span<const uint16_t> members) {
  const auto threads = static_cast<uint32_t>(members.size());
  if (threads < 2) return nullptr;
  const uint64_t bytes = sizeof(Victims) + uint64_t{threads} * (threads - 1) * sizeof(uint16_t);
  auto* const victims = static_cast<Victims*>(os::map_pages(bytes));
  if (!victims) return nullptr;
  victims->bytes = bytes;
  victims->threads = threads;
  for (uint32_t me = 0; me < threads; ++me) {
    uint16_t* const first = victims->order() + uint64_t{me} * (threads - 1);
    uint16_t* const last = first + (threads - 1);
    const auto cost = [&](uint32_t i) {
      return machine.hop[machine.at(members[i], members[me])] + machine.hop[machine.at(members[me], members[i])];
    };
    const auto turn = [=](uint32_t i) { return i > me ? i - me : i + threads - me; };
    for (uint32_t i = 0; i + 1 < threads; ++i) first[i] = static_cast<uint16_t>(victim_of(nullptr, me, threads, i));
    std::sort(first, last, [&](uint16_t a, uint16_t b) {
      const float to_a = cost(a), to_b = cost(b);
      return to_a != to_b ? to_a < to_b : turn(a) < turn(b);
    });
    for (uint16_t* begin = first; begin < last;) {
      const float most = kSameClass * cost(*begin);
      uint16_t* end = begin + 1;
      while (end < last && cost(*end) <= most) ++end;
      std::sort(begin, end, [&](uint16_t a, uint16_t b) { return turn(a) < turn(b); });
      begin = end;
    }
  }
  return victims;
}

void free_victims(Victims* victims) {
  if (victims) os::unmap_pages(victims, victims->bytes);
}

}  // namespace smelt::openmp
