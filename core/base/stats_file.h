// A process's figures, as a line at the end of the file that SMELT_STATS names: smelt run and smelt try read all
// lines of a job there. Each is a JSON object of its own. The file must exist: a process that outlives the reader
// leaves nothing behind.
#pragma once

namespace smelt {

[[gnu::format(printf, 2, 3)]] void append_stats(const char* path, const char* format, ...);

}  // namespace smelt
