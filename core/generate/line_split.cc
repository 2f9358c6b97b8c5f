// One line for all is one store, but readers on both sides of a boundary take it from each other (Costs::crossing), and
// then none has it sooner than the farthest. A line for each is seen as soon as it is stored, but every store waits for
// those before it; and a participant that reads several messages is busy with one while the next is under way. So a few
// cuts are priced: a line for all; a line for each side of the widest boundary; a line for each of the nearest or
// farthest few and one for the rest. In a round all are alike, as far as anybody knows: as the sender's messages go
// out, so do others' come in. So a cut's price is when a participant has read messages that are seen when those are.
#include "generate/line_split.h"

#include <algorithm>
#include <cmath>

namespace smelt {

namespace {

constexpr uint32_t kMostSingles = 4;  // lines with one reader, beside one for the rest; also the most sides

struct Cut {
  const Costs& costs;
  const uint16_t from;
  const uint16_t* const receivers;
  const uint32_t count;
  uint16_t line[kMostSplit] = {};
  float visible[kMostSplit] = {};

  size_t pair(uint32_t k) const { return costs.at(from, receivers[k]); }

  // Reckons when each sees its line, and the price. Receivers of one line follow each other.
  float price() {
    float busy = 0;
    for (uint32_t first = 0, end = 0; first < count; first = end) {
      float longest = 0, farthest = 0;
      auto widest = Distance::kSelf;
      for (; end < count && line[end] == line[first]; ++end) {
        longest = std::max(longest, costs.send_busy[pair(end)]);
        farthest = std::max(farthest, costs.hop[pair(end)]);
        widest = std::max(widest, distance_in(costs, receivers[first], receivers[end]));
      }
      const float crossing = costs.crossing[static_cast<uint32_t>(widest)];
      for (uint32_t k = first; k < end; ++k)
        visible[k] = busy + static_cast<float>(end - first - 1) * costs.poller +
                     (crossing > 0 ? farthest + crossing : costs.hop[pair(k)]);
      busy += longest;
    }
    return read(busy);
  }

  // Reads them in the order in which they are seen, as exchanges are read (schedule/predict.h).
  float read(float now) const {
    uint16_t order[kMostSplit];
    for (uint32_t k = 0; k < count; ++k) {
      uint32_t at = k;
      for (; at > 0 && visible[order[at - 1]] > visible[k]; --at) order[at] = order[at - 1];
      order[at] = static_cast<uint16_t>(k);
    }
    bool alone = true;
    for (uint32_t k = 0; k < count; ++k) {
      const size_t at = pair(order[k]);
      const float kept = now + (alone ? costs.ready_read : costs.recv_busy)[at];
      now = std::max(kept, visible[order[k]]);
      alone = k == 0 && now > kept;
    }
    return now;
  }
};

}  // namespace

uint32_t split_lines(const Costs& costs, uint16_t from, uint16_t* receivers, uint32_t count, uint16_t* line,
                     float* visible) {
  auto widest = Distance::kSelf;
  for (uint32_t k = 1; k < count; ++k) widest = std::max(widest, distance_in(costs, receivers[0], receivers[k]));
  if (costs.crossing[static_cast<uint32_t>(widest)] == 0 || count < 2 || count > kMostSplit) {
    std::fill_n(line, count, uint16_t{0});
    for (uint32_t k = 0; k < count; ++k)
      visible[k] = costs.hop[costs.at(from, receivers[k])] + static_cast<float>(count - 1) * costs.poller;
    return count > 0;
  }
  // The sort goes by insertion: those that are as far stay in their order.
  for (uint32_t k = 1; k < count; ++k) {
    const uint16_t receiver = receivers[k];
    uint32_t at = k;
    for (; at > 0 && costs.hop[costs.at(from, receivers[at - 1])] < costs.hop[costs.at(from, receiver)]; --at)
      receivers[at] = receivers[at - 1];
    receivers[at] = receiver;
  }
  Cut cut{costs, from, receivers, count};
  uint16_t best[kMostSplit];
  float least = HUGE_VALF;
  const auto consider = [&] {
    const float price = cut.price();
    if (price >= least) return;
    least = price;
    std::copy_n(cut.line, count, best);
  };
  consider();
  uint32_t sides = 0;
  for (uint32_t k = 0; k < count; ++k) {
    if (k > 0 && distance_in(costs, receivers[k - 1], receivers[k]) == widest) ++sides;
    cut.line[k] = static_cast<uint16_t>(sides);
  }
  if (sides < kMostSingles) consider();
  for (uint32_t singles = 1; singles <= kMostSingles && singles < count; ++singles) {
    for (uint32_t k = 0; k < count; ++k) cut.line[k] = static_cast<uint16_t>(std::min(k, singles));
    consider();
    for (uint32_t k = 0; k < count; ++k)
      cut.line[k] = static_cast<uint16_t>(k + singles < count ? 0 : k + singles + 1 - count);
    consider();
  }
  std::copy_n(best, count, cut.line);
  cut.price();
  std::copy_n(cut.line, count, line);
  std::copy_n(cut.visible, count, visible);
  return line[count - 1] + 1u;
}

}  // namespace smelt
