// The notation is a list of levels from the outside in, "pack:2 [numa] l3:4 core:8 pu:2", and each multiplies what is
// above it. Read here as hwloc reads it (hwloc_backend_synthetic_init): a level is a type, everything up to the next
// colon, and a number, or a number alone; numbers may be decimal, octal or hexadecimal; "(...)" behind a number holds
// attributes; "[...]" attaches memory and multiplies nothing.
#include "discover/synthetic.h"

#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "profile/profile.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

constexpr unsigned long kLargestIndex = 65535;  // of any kernel; hwloc's sets of CPUs have a bit for every number below

// The attributes from `at` (behind the parenthesis) to `end`.
void check_indexes(const std::string& description, const char* at, const char* end) {
  constexpr char kIndexes[] = "indexes=";
  at = std::strstr(at, kIndexes);
  if (!at || at >= end) return;
  for (at += sizeof kIndexes - 1; at < end && *at != ' ';) {
    if (*at < '0' || *at > '9') {
      ++at;
      continue;
    }
    char* next = nullptr;
    if (std::strtoul(at, &next, 0) > kLargestIndex)
      throw UserError(
          fmt::format("synthetic:{}: numbers above {} in \"indexes\" are of no machine", description, kLargestIndex));
    at = next;
  }
}

}  // namespace

void check_synthetic_size(const std::string& description) {
  unsigned long product = 1;
  for (const char* at = description.c_str(); *at;) {
    if (*at == ' ' || *at == '\n') {
      ++at;
      continue;
    }
    if (*at == '(') {  // attributes of the level before, or of the machine
      const char* end = std::strchr(at, ')');
      if (!end) return;
      check_indexes(description, at, end);
      at = end + 1;
      continue;
    }
    if (*at == '[') {
      const char* end = std::strchr(at, ']');
      if (!end) return;
      check_indexes(description, at, end);
      at = end + 1;
      continue;
    }
    if (*at < '0' || *at > '9') {
      at = std::strchr(at, ':');
      if (!at) return;
      ++at;
    }
    char* next = nullptr;
    const unsigned long count = std::strtoul(at, &next, 0);
    if (next == at || count == 0) return;
    if (count > kMaxProfileCpus / product)
      throw UserError(fmt::format("synthetic:{}: more processing units than Smelt handles, up to {}", description,
                                  kMaxProfileCpus));
    product *= count;
    at = next;
  }
}

}  // namespace smelt
