// Pages for people: as wide as their terminal, in colour where it has some. What goes to a file or a pipe is as it was.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smelt {

enum class Ink { kGood, kNote, kWarning, kStrong };

// `text` in a colour, or as it is: where standard output is no terminal, TERM says "dumb", or NO_COLOR is set.
std::string inked(Ink ink, std::string_view text);

uint32_t terminal_width();  // of standard output; 0: it is no terminal

// No line is longer than `width`: what is left of one goes below its last column. A word that is longer than a line
// stays whole; width 0: as it is.
std::string wrapped(std::string_view text, uint32_t width);

}  // namespace smelt
