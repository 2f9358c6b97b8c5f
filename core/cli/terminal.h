// Pages for people: as wide as their terminal, in colour where it has some. What goes to a file or a pipe is as it was.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smelt {

enum class Ink { kGood, kNote, kWarning, kStrong };

// `text` in a colour, or as it is: where standard output is no terminal, TERM says "dumb", or NO_COLOR is set.
std::string inked(Ink ink, std::string_view text);

// To standard output. On a terminal no line is longer than it is wide: what is left of a line goes below its last
// column.
void put_page(const std::string& text);

// The same as text; width 0: as it is. A word that is longer than a line stays whole.
std::string wrapped(std::string_view text, uint32_t width);

}  // namespace smelt
