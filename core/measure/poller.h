// How much slower a shared line gets with every further CPU that polls it, near or beyond a boundary.
#pragma once

#include <vector>

namespace smelt {

// `writer` posts one line that the pollers watch, and waits until all have answered on lines of their own; against the
// same with the first poller alone, per further poller, less `recv_busy` for its answer. ns, >= 0. It needs at least
// two pollers, each on a CPU of its own to mean anything. Throws UserError when one of them may not be used.
double measure_poller(int writer, const std::vector<int>& pollers, double recv_busy, int samples = 64);

}  // namespace smelt
