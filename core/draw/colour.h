// The colours of all pens. Costs: viridis (van der Walt and Smith 2015), dearest darkest, so that a grey print reads
// the same way. Kinds: the palette of Okabe and Ito (2008), told apart by colour-blind people too.
#pragma once

#include <cstdint>
#include <string>

namespace smelt {

struct Colour {
  uint8_t red, green, blue;
};

Colour cost_colour(double position);     // 0 (cheapest) .. 1 (dearest)
bool is_dark(Colour colour);             // white text on it, else black: whichever has more contrast
std::string hex(Colour colour);          // "#rrggbb"
const char* node_tint(size_t nth_node);  // light; repeats after kNodeTints
inline constexpr size_t kNodeTints = 8;

inline constexpr const char* kInk = "#1a1a1a";
inline constexpr const char* kInkOnColour = "#000000";  // on tints and costs' colours, which a dark page keeps
inline constexpr const char* kFaint = "#767676";        // second rank: axes, notes
inline constexpr const char* kGrid = "#e2e2e2";
inline constexpr const char* kTick = "#c4c4c4";
inline constexpr const char* kDivide = "#a8a8a8";
inline constexpr const char* kLane = "#f6f7f9";
inline constexpr const char* kEmptyCell = "#efefef";
inline constexpr const char* kNear = "#0072b2";      // messages inside a NUMA node
inline constexpr const char* kFar = "#d55e00";       // messages between NUMA nodes
inline constexpr const char* kFarWords = "#a84700";  // the same for text, which wants more contrast
inline constexpr const char* kSendBar = "#0072b2";
inline constexpr const char* kReceiveBar = "#e69f00";
inline constexpr const char* kWaitBar = "#dcdcdc";

}  // namespace smelt
