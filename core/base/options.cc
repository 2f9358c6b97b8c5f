#include "base/options.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/log.h"

extern "C" char** environ;

namespace smelt {
namespace {

enum class Type { kBool, kInteger, kChoice, kText, kSteps };

// options.def writes the scopes so.
constexpr OptionScope BOTH = OptionScope::kBoth, THREADS = OptionScope::kThreads, PROCESSES = OptionScope::kProcesses;

// One row of options.def, where its value goes, plus its outcome.
struct Row {
  const char* name;
  Type type;
  OptionScope scope;
  const char* unit;
  int64_t min, max;  // min: the step of kSteps
  const char* values;
  const char* fallback;
  const char* help;
  void* target;
  const char* from;
  const char* text;  // the value in force
  char* copy;        // owns `text` where a host set it
};

#define ROW(id, name, type, scope, unit, min, max, values, fallback, help) \
  {name, type, scope, unit, min, max, values, fallback, help, &parsed_options.id, "default", fallback, nullptr},
Row rows[] = {
#define BOOL(id, name, scope, def, help) ROW(id, name, Type::kBool, scope, "", 0, 1, "0|1", (def) ? "1" : "0", help)
#define INTEGER(id, name, scope, def, min, max, unit, help) \
  ROW(id, name, Type::kInteger, scope, unit, min, max, "", #def, help)
#define CHOICE(id, name, scope, def, values, help) ROW(id, name, Type::kChoice, scope, "", 0, 0, values, def, help)
#define TEXT(id, name, scope, def, help) ROW(id, name, Type::kText, scope, "", 0, 0, "", def, help)
#define STEPS(id, name, scope, step, max, unit, help) \
  ROW(id, name, Type::kSteps, scope, unit, step, max, "", "-1", help)
#include "base/options.def"
#undef BOOL
#undef INTEGER
#undef CHOICE
#undef TEXT
#undef STEPS
};
#undef ROW
constexpr uint32_t kRows = sizeof rows / sizeof rows[0];

pthread_once_t once = PTHREAD_ONCE_INIT;

bool parse_bool(const char* text, bool* out) {
  for (const char* yes : {"1", "true", "yes", "on"})
    if (strcasecmp(text, yes) == 0) return *out = true;
  for (const char* no : {"0", "false", "no", "off"})
    if (strcasecmp(text, no) == 0) return !(*out = false);
  return false;
}

bool parse_integer(const char* text, int64_t min, int64_t max, int64_t* out) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text, &end, 10);
  if (errno || end == text || *end || value < min || value > max) return false;
  *out = value;
  return true;
}

bool parse_steps(const char* text, int64_t step, int64_t max, int64_t* out) {
  int64_t value = 0;
  if (!parse_integer(text, -1, max, &value) || (value != -1 && (value < step || value % step != 0))) return false;
  *out = value;
  return true;
}

// The member of "a|b|c" that `text` names, as a permanent string, or nullptr.
bool parse_choice(const char* text, const char* values, const char** out) {
  const size_t length = std::strlen(text);
  for (const char* at = values; at; at = std::strchr(at, '|') ? std::strchr(at, '|') + 1 : nullptr) {
    if (strncasecmp(at, text, length) == 0 && (at[length] == '|' || at[length] == 0) && length > 0) {
      static char words[8][16];  // lower-case copies; a choice has few short values
      static uint32_t used = 0;
      for (uint32_t i = 0; i < used; ++i)
        if (std::strncmp(words[i], at, length) == 0 && words[i][length] == 0) {
          *out = words[i];
          return true;
        }
      if (used == 8 || length >= 16) return false;
      std::memcpy(words[used], at, length);
      *out = words[used++];
      return true;
    }
  }
  return false;
}

// Puts `text` where the row's value belongs; false, after one line, where it is not such a value.
bool take(Row& row, const char* text) {
  char wanted[160];
  bool good = true;
  switch (row.type) {
    case Type::kBool:
      good = parse_bool(text, static_cast<bool*>(row.target));
      std::snprintf(wanted, sizeof wanted, "0 or 1");
      break;
    case Type::kInteger:
      good = parse_integer(text, row.min, row.max, static_cast<int64_t*>(row.target));
      std::snprintf(wanted, sizeof wanted, "a whole number from %lld to %lld%s%s%s", static_cast<long long>(row.min),
                    static_cast<long long>(row.max), *row.unit ? " (" : "", row.unit, *row.unit ? ")" : "");
      break;
    case Type::kSteps:
      good = parse_steps(text, row.min, row.max, static_cast<int64_t*>(row.target));
      std::snprintf(wanted, sizeof wanted, "a multiple of %lld up to %lld (%s), or -1", static_cast<long long>(row.min),
                    static_cast<long long>(row.max), row.unit);
      break;
    case Type::kChoice:
      good = parse_choice(text, row.values, static_cast<const char**>(row.target));
      std::snprintf(wanted, sizeof wanted, "one of %s", row.values);
      break;
    case Type::kText: *static_cast<const char**>(row.target) = text; break;
  }
  if (good)
    row.text = text;
  else
    log_line("%s=%s is not %s; %s%s is used", row.name, text, wanted, row.text == row.fallback ? "the default " : "",
             row.text);
  return good;
}

void read_environment(Row& row) {
  const char* text = secure_getenv(row.name);
  if (text && *text) row.from = take(row, text) ? "environment" : "default (bad value)";
}

void warn_of_unknown_names() {
  for (char** entry = environ; entry && *entry; ++entry) {
    if (std::strncmp(*entry, "SMELT_", 6) != 0 || std::strncmp(*entry, "SMELT_TEST_", 11) == 0) continue;
    char name[64] = "";
    const char* equals = std::strchr(*entry, '=');
    const size_t length = equals ? static_cast<size_t>(equals - *entry) : 0;
    if (length == 0 || length >= sizeof name) continue;
    std::memcpy(name, *entry, length);
    const Row* nearest = nullptr;
    constexpr size_t kPrefix = 6;  // which all have in common
    uint32_t best = most_typing_errors(name + kPrefix) + 1;
    bool known = false;
    for (const Row& row : rows) {
      const uint32_t distance = edit_distance(name, row.name);
      known |= distance == 0;
      if (distance < best) best = distance, nearest = &row;
    }
    if (known) continue;
    if (nearest)
      log_line("%s is not a setting (maybe: %s?); it is ignored", name, nearest->name);
    else
      log_line("%s is not a setting ('smelt config' lists them); it is ignored", name);
  }
}

void parse_all() {
  for (Row& row : rows) read_environment(row);
  if (!getauxval(AT_SECURE)) warn_of_unknown_names();
}

}  // namespace

constinit Options parsed_options;
constinit bool options_are_parsed = false;

void parse_options() {
  pthread_once(&once, parse_all);
  __atomic_store_n(&options_are_parsed, true, __ATOMIC_RELEASE);
}

int set_option(const char* name, const char* value) {
  options();  // first what the environment says, or it would come later and undo this
  for (Row& row : rows) {
    if (std::strcmp(row.name, name) != 0) continue;
    char* copy = strdup(value);
    if (!copy) return -ENOMEM;
    if (!take(row, copy)) {
      std::free(copy);
      return -EINVAL;
    }
    std::free(row.copy);
    row.copy = copy;
    row.from = "host";
    return 0;
  }
  return -ENOENT;
}

uint32_t option_count() { return kRows; }

void option_row(uint32_t index, OptionRow* out) {
  options();
  const Row& row = rows[index];
  static const char* const kTypes[] = {"bool", "integer", "choice", "text", "integer"};
  static char ranges[kRows][48];
  const char* range = row.values;
  const long long min = row.min, max = row.max;
  if (row.type == Type::kInteger) {
    std::snprintf(ranges[index], sizeof ranges[index], "%lld..%lld", min, max);
    range = ranges[index];
  } else if (row.type == Type::kSteps) {
    std::snprintf(ranges[index], sizeof ranges[index], "%lld..%lld by %lld, or -1", min, max, min);
    range = ranges[index];
  }
  *out = {row.name, kTypes[static_cast<int>(row.type)], row.unit, range, row.fallback, row.help, row.scope, "",
          row.from};
  std::snprintf(out->value, sizeof out->value, "%s", row.text);
}

const char* environment(const char* name) { return secure_getenv(name); }

uint32_t edit_distance(const char* a, const char* b) {
  constexpr size_t kLongest = 64;
  const size_t la = strnlen(a, kLongest - 1), lb = strnlen(b, kLongest - 1);
  uint32_t row[kLongest];
  for (size_t j = 0; j <= lb; ++j) row[j] = static_cast<uint32_t>(j);
  for (size_t i = 1; i <= la; ++i) {
    uint32_t diagonal = row[0];
    row[0] = static_cast<uint32_t>(i);
    for (size_t j = 1; j <= lb; ++j) {
      const uint32_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      const uint32_t insert = row[j - 1] + 1, erase = row[j] + 1;
      row[j] = change < insert ? change : insert;
      if (erase < row[j]) row[j] = erase;
    }
  }
  return row[lb];
}

uint32_t most_typing_errors(const char* word) {
  constexpr size_t kMost = 4;
  const size_t by_length = 1 + std::strlen(word) / 3;
  return static_cast<uint32_t>(by_length < kMost ? by_length : kMost);
}

}  // namespace smelt
