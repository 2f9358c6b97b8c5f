// One line to stderr, prefixed "smelt: ", from a stack buffer with one write(2): safe anywhere, never on a hot path.
#pragma once

namespace smelt {

[[gnu::format(printf, 1, 2)]] void log_line(const char* format, ...);

}  // namespace smelt
