// The measured curves in a few lines: per set, which method of a group's collectives takes over at which size.
#pragma once

#include <string>
#include <vector>

#include "cli/table.h"
#include "model/curves.h"

namespace smelt {

std::string bytes_text(uint64_t bytes);  // "16 KiB", three digits
Document methods_document(const std::vector<CurveSet>& sets);
std::string methods_text(const Document& sets);  // one line per set

}  // namespace smelt
