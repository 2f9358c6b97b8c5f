#include "policy/long_copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/options.h"
#include "profile/profile.h"

namespace smelt {

LongCopy find_long_copy(const Profile* profile, bool here, ThresholdOrigin* origin) {
  const auto possible = [here](LongCopy choice) { return !here || can_copy_by(choice.way) ? choice : LongCopy{}; };
  *origin = ThresholdOrigin::kSetting;
  if (std::strcmp(options().copy, "libc") == 0) return {};
  for (const CopyWay way : {CopyWay::kMovsb, CopyWay::kAhead})
    if (std::strcmp(options().copy, kCopyWayNames[static_cast<uint32_t>(way)]) == 0)
      return possible({way, typical(ThresholdId::kLongCopy)});
  LongCopy raced;
  bool any = false;
  for (uint32_t d = 0; profile && d < profile->header.distances; ++d) {
    const uint32_t copied_by = profile->distances[d].copied_by;
    if (copied_by == 0) continue;
    const LongCopy won = long_copy_of(copied_by);
    if (any && won.way != raced.way) return *origin = ThresholdOrigin::kFigure, LongCopy{};
    raced = {won.way, any ? std::max(raced.from, won.from) : won.from};
    any = true;
  }
  *origin = any ? ThresholdOrigin::kFigure : ThresholdOrigin::kTypical;
  if (any) return possible(raced);
  if (!here || is_fast(CopyWay::kMovsb)) return {CopyWay::kMovsb, typical(ThresholdId::kLongCopy)};
  return {};
}

void prepare_long_copies(const Profile* profile) {
  static std::atomic<bool> prepared{false};
  // relaxed: until the first thread has chosen, others use memcpy, and may
  if (prepared.exchange(true, std::memory_order_relaxed)) return;
  ThresholdOrigin origin;
  use_long_copy(find_long_copy(profile, true, &origin));
}

}  // namespace smelt
