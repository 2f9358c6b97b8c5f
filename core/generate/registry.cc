// The rows of registry.def as a table, and names to rows.
#include "generate/registry.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/options.h"
#include "generate/patterns.h"

namespace smelt {

namespace {

constexpr PatternInfo kRegistry[] = {
#define PATTERN(name, argument, fallback, min, max, tree, exchange, help) \
  {name, argument, fallback, min, max, tree, exchange, help},
#include "generate/registry.def"
#undef PATTERN
};

// The number of levels or rounds only changes at the roots of n, and for up to 1024 participants these give every depth
// worth having.
constexpr uint32_t kRadixes[] = {2, 3, 4, 8};
constexpr uint32_t kWidths[] = {1, 2, 3, 4, 7};  // messages of a round: bases 2, 3, 4, 5 and 8
// Among the few groups of a level. 63: all at once.
constexpr uint32_t kLevelWidths[] = {1, 2, 3, 7, 63};
constexpr uint32_t kLineGroups[] = {kOneLine, kCacheLines, kPackageLines};

// Decimal digits only, at most `max`; false otherwise.
bool parse_number(const char* text, uint32_t max, uint32_t* out) {
  if (!*text) return false;
  uint32_t value = 0;
  for (; *text; ++text) {
    if (*text < '0' || *text > '9') return false;
    value = value * 10 + static_cast<uint32_t>(*text - '0');
    if (value > max) return false;
  }
  *out = value;
  return true;
}

}  // namespace

std::span<const PatternInfo> pattern_registry() { return kRegistry; }

bool is_by_lines(const PatternInfo& info) { return info.tree == line_tree || info.tree == relay_tree; }

std::span<const uint32_t> candidate_arguments(const PatternInfo& info) {
  if (info.tree == knomial_tree) return kRadixes;
  if (info.tree == line_tree) return kLineGroups;
  if (info.tree == relay_tree) return std::span(kLineGroups).subspan(1);
  if (info.exchange == dissemination) return kWidths;
  if (info.exchange == hierarchical_exchange || info.exchange == spread_exchange) return kLevelWidths;
  return {&info.default_argument, 1};
}

int find_pattern(const char* name, Pattern* out) {
  const char* const colon = std::strchr(name, ':');
  const size_t length = colon ? static_cast<size_t>(colon - name) : std::strlen(name);
  for (const PatternInfo& info : kRegistry) {
    if (std::strlen(info.name) != length || std::strncmp(info.name, name, length) != 0) continue;
    Pattern found{&info, info.default_argument};
    if (colon) {
      if (!info.argument) return -EINVAL;
      if (!parse_number(colon + 1, info.max_argument, &found.argument)) return -ERANGE;
      if (found.argument < info.min_argument) return -ERANGE;
    }
    *out = found;
    return 0;
  }
  return -ENOENT;
}

void pattern_text(const Pattern& pattern, char* text, size_t bytes) {
  if (pattern.info->argument)
    std::snprintf(text, bytes, "%s:%u", pattern.info->name, pattern.argument);
  else
    std::snprintf(text, bytes, "%s", pattern.info->name);
}

const char* nearest_pattern(const char* name) {
  char word[32];  // longer than any registered name by more than a typing error
  const size_t length = std::strcspn(name, ":");
  if (length == 0 || length >= sizeof word) return nullptr;
  std::memcpy(word, name, length);
  word[length] = '\0';
  const char* nearest = nullptr;
  uint32_t fewest = most_typing_errors(word) + 1;
  for (const PatternInfo& info : kRegistry) {
    const uint32_t edits = edit_distance(word, info.name);
    if (edits < fewest) {
      nearest = info.name;
      fewest = edits;
    }
  }
  return nearest;
}

}  // namespace smelt
