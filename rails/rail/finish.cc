// When so many bytes would be there over one rail as a message finds it, and how many would be there by a time.
//
// The curve's time is shifted by the bytes that the rail still carries, and stretched by the canary's factor. And the
// curve is of messages that follow each other, while on a distant rail the first one after a pause takes longer. TCP
// lets a few segments out, twice as many a round trip later, when the first are acknowledged, and so on (slow start,
// RFC 5681, section 3.1; ten segments, RFC 6928), until as many are under way as the rail holds, there and back.
//
//   sent    |w    |2w        |4w                  |...     A round trip is twice the shortest message's time. Between
//           +-----+----------+--------------------+-->     two of these windows the rail waits for the part of it
//   time    |#    |##        |####                |###     that the first of them did not fill.
//           0     1          2                    3        round trips
#include "rails/rail/rail.h"

namespace smelt {
namespace {

// The windows one after the other: how much has left by their ends, and how long the rail has waited then.
struct Windows {
  const RailNow& rail;
  double window = rail.window, sent = rail.window - rail.under_way, waited_us = 0;

  // To the next one; false: there is none, since the rail is full.
  bool next() {
    const double shortest = rail.curve->us[0];
    if (!(window < 0x1p62)) return false;
    const double filled = rail.slow * (rail_time(*rail.curve, static_cast<uint64_t>(window)) - shortest);
    if (filled >= 2 * shortest) return false;
    waited_us += 2 * shortest - filled;
    window *= 2, sent += window;
    return true;
  }
};

}  // namespace

bool is_sane(const RailNow& rail) {
  return rail.curve->count > 0 && rail.idle_us >= 0 && rail.slow > 0 && rail.window >= 1 && rail.under_way >= 0;
}

double rail_finish(const RailNow& rail, uint64_t n) {
  const double shortest = rail.curve->us[0];
  Windows windows{rail};
  while (windows.sent < static_cast<double>(n) && windows.next()) {
  }
  return rail.idle_us + shortest + rail.slow * (rail_time(*rail.curve, n) - shortest) + windows.waited_us;
}

uint64_t rail_capacity(const RailNow& rail, double until_us, uint64_t n) {
  const double shortest = rail.curve->us[0], more = until_us - rail.idle_us - shortest;
  uint64_t most = 0;
  for (Windows windows{rail}; more >= windows.waited_us;) {
    uint64_t bytes = rail_bytes_within(*rail.curve, shortest + (more - windows.waited_us) / rail.slow);
    if (bytes > n) bytes = n;
    const double sent = windows.sent;
    const bool all = static_cast<double>(bytes) <= sent;
    if (!all && windows.next()) bytes = sent > 0 ? static_cast<uint64_t>(sent) : 0;
    if (bytes > most) most = bytes;
    if (all || windows.sent == sent) break;
  }
  return most;
}

}  // namespace smelt
