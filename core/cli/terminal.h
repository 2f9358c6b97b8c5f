// Pages for people: as wide as their terminal, in colour where it has some. Text for a file or a pipe is as it was.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smelt {

enum class Ink { kGood, kNote, kWarning, kStrong };

// Standard output is a terminal, TERM does not say "dumb", and NO_COLOR (no-color.org) is not set.
bool takes_colours();

// `text` in a colour, or as it is where there are none.
std::string inked(Ink ink, std::string_view text);

// Does the terminal's locale take UTF-8? If it does not, pictures are ASCII.
bool terminal_takes_utf8();

uint32_t terminal_width();  // of standard output; 0: it is no terminal

// A line of a page: its subject, and its text.
std::string fact(std::string_view about, std::string_view text);

// No line is longer than `width`: the rest of one goes below its last column. A word that is longer than a line stays
// whole; width 0: as it is.
std::string wrapped(std::string_view text, uint32_t width);

}  // namespace smelt
