// Thresholds in words: why each stands where it stands.
#include <cstdio>
#include <cstring>

#include "policy/thresholds.h"

namespace smelt {
namespace {

struct Text {
  char text[32];
};

// A sample is worth three digits.
Text bytes_text(uint64_t bytes) {
  Text out;
  const auto number = static_cast<double>(bytes);
  if (bytes < 1 << 10)
    std::snprintf(out.text, sizeof out.text, "%llu B", static_cast<unsigned long long>(bytes));
  else if (bytes < 1 << 20)
    std::snprintf(out.text, sizeof out.text, "%.3g KiB", number / (1 << 10));
  else
    std::snprintf(out.text, sizeof out.text, "%.3g MiB", number / (1 << 20));
  return out;
}

Text time_text(double ns) {
  Text out;
  if (ns < 1e3)
    std::snprintf(out.text, sizeof out.text, "%.3g ns", ns);
  else if (ns < 1e6)
    std::snprintf(out.text, sizeof out.text, "%.3g µs", ns / 1e3);
  else
    std::snprintf(out.text, sizeof out.text, "%.3g ms", ns / 1e6);
  return out;
}

// "16 KiB (3.4 µs against 3.6 µs)": the side that takes over first.
struct Sample {
  char text[128];
};
Sample sample_text(const Threshold::Crossing& at, int which) {
  Sample out;
  std::snprintf(out.text, sizeof out.text, "%s (%s against %s)", bytes_text(at.bytes[which]).text,
                time_text(at.ns[which][1]).text, time_text(at.ns[which][0]).text);
  return out;
}

int crossing_text(const Threshold& t, char* text, size_t room) {
  const Threshold::Crossing& at = t.crossing;
  const char *from = at.method[0], *to = at.method[1];
  if (at.bytes[1] == 0)  // never measured at the same size
    return t.value == kNever
               ? std::snprintf(text, room, "%s was not measured with %u participants: the kernel does not permit it",
                               to, at.participants)
               : std::snprintf(text, room, "%s was not measured with %u participants", from, at.participants);
  const char* const after = at.strict ? ", a barrier after each" : "";
  if (t.value == kNever)
    return std::snprintf(text, room, "%s gains nothing on %s that lasts: %s, %u participants%s", to, from,
                         sample_text(at, 1).text, at.participants, after);
  if (at.bytes[0] == 0)
    return std::snprintf(text, room, "%s gains on %s at all sizes measured, from %s on, %u participants%s", to, from,
                         sample_text(at, 1).text, at.participants, after);
  return std::snprintf(text, room, "%s overtakes %s between %s and %s, %u participants%s", to, from,
                       sample_text(at, 0).text, sample_text(at, 1).text, at.participants, after);
}

int figure_text(const Threshold& t, char* text, size_t room) {
  const ThresholdInfo& info = threshold_info(t.id);
  switch (t.id) {
    case ThresholdId::kPoll:
      return std::snprintf(text, room, "a look and a pause, measured: %s", time_text(t.figure).text);
    case ThresholdId::kLongCopy:
      return std::snprintf(text, room,
                           t.value == kNever ? "no way was faster than %s at every distance when raced"
                                             : "%s won the race of the ways to copy at every distance",
                           t.note);
    case ThresholdId::kForeignSlice:
      return std::snprintf(text, room, "50 times a yield that finds nobody, which takes %s here",
                           time_text(t.figure).text);
    case ThresholdId::kPollersPerLine:
      return t.value == kNever
                 ? std::snprintf(text, room,
                                 "a further store (%s) never costs less than the pollers it takes away (%s each)",
                                 time_text(t.second).text, time_text(t.figure).text)
                 : std::snprintf(text, room,
                                 "from %llu on, a second store (%s) costs less than half the pollers (%s each)",
                                 static_cast<unsigned long long>(t.value + 1), time_text(t.second).text,
                                 time_text(t.figure).text);
    default: break;
  }
  if (std::strcmp(info.unit, "polls") == 0)
    return std::snprintf(text, room, "%s of polling, at %s each",
                         time_text(static_cast<double>(t.value) * t.figure).text, time_text(t.figure).text);
  return std::snprintf(text, room,
                       "4 times a sleep and its wake-up, which take %s here: less would lock a loop into sleeping",
                       time_text(t.figure).text);
}

int typical_text(const Threshold& t, char* text, size_t room) {
  const char* why = t.note[0] ? t.note : threshold_info(t.id).why;
  if (t.figure <= 0) return std::snprintf(text, room, "%s", why);
  if (t.id == ThresholdId::kPollersPerLine) return figure_text(t, text, room);
  const char* what =
      t.id == ThresholdId::kForeignSlice ? "a yield that finds nobody takes" : "a sleep and its wake-up take";
  return std::snprintf(text, room, "%s; %s %s here", why, what, time_text(t.figure).text);
}

}  // namespace

size_t threshold_reason(const Threshold& t, char* text, size_t room) {
  if (room == 0) return 0;
  const ThresholdInfo& info = threshold_info(t.id);
  int length = 0;
  switch (t.origin) {
    case ThresholdOrigin::kSetting: length = std::snprintf(text, room, "%s is set", info.setting); break;
    case ThresholdOrigin::kSituation:
      length = t.otherwise == 0 ? std::snprintf(text, room, "%s", t.note)
               : t.otherwise == kNever
                   ? std::snprintf(text, room, "%s; otherwise never", t.note)
                   : std::snprintf(text, room, "%s; otherwise %s", t.note, bytes_text(t.otherwise).text);
      break;
    case ThresholdOrigin::kCurves:
      length = t.id == ThresholdId::kReadBytes
                   ? std::snprintf(text, room, "%s in %s; no smaller part gains 3 %% wherever it was measured",
                                   bytes_text(t.value).text, time_text(t.figure).text)
                   : crossing_text(t, text, room);
      break;
    case ThresholdOrigin::kFigure: length = figure_text(t, text, room); break;
    case ThresholdOrigin::kTypical:
    case ThresholdOrigin::kLayout: length = typical_text(t, text, room); break;
  }
  const auto wanted = length > 0 ? static_cast<size_t>(length) : 0;
  return wanted < room ? wanted : room - 1;
}

}  // namespace smelt
