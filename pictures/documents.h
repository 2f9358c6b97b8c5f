// The documents that pictures are drawn of, and the costs in letters. smelt-pictures.1 has the words, under smelt draw.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/table.h"
#include "pictures/picture.h"

namespace smelt {

enum class CostKind : uint8_t { kSend, kReceive, kHop };

// The cost of a message, of one kind.
float cost_of(const Costs& costs, CostKind kind, uint16_t from, uint16_t to);

// The costs, rows are senders; the waits between participants, by round; what each participant does when.
Document matrix_document(const Picture& picture, const std::vector<CostKind>& kinds);
Document rounds_document(const Picture& picture);
Document timeline_document(const Picture& picture);

struct TextStyle {
  bool utf8 = true;     // else ASCII
  bool colour = false;  // ANSI escapes, for terminals
};

// The costs of all pairs: numbers, or shades where there are many.
std::string text_heat_map(const Picture& picture, const std::vector<CostKind>& kinds, const TextStyle& style);

}  // namespace smelt
