#include "base/options.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/log.h"

extern "C" char** environ;

namespace smelt {
namespace {

enum class Type { kBool, kInteger, kChoice, kText, kSteps, kCounts, kSwitches };

// options.def writes the scopes so.
constexpr OptionScope BOTH = OptionScope::kBoth, THREADS = OptionScope::kThreads, PROCESSES = OptionScope::kProcesses;

constexpr const char* kDefault = "default";
constexpr const char* kEnvironment = "environment";
constexpr const char* kHost = "host";
constexpr const char* kTune = "SMELT_TUNE";
constexpr const char* kStats = "SMELT_STATS";
constexpr const char* kOldStatsFile = "SMELT_STATS_FILE";
constexpr const char* kLibdir = "SMELT_LIBDIR";  // no setting: sites tell contrib's scripts by it where the shims are
constexpr size_t kPrefix = sizeof "SMELT_" - 1;
constexpr size_t kTunePrefix = sizeof "SMELT_TUNE=" - 1;

// A word of SMELT_OPENMP, and the settings that said the same before.
struct Switch {
  const char* word;
  bool* target;
  const char* old[2];
};
#define SWITCH(id, word, old, older) {word, &parsed_options.id, {old, older}},
constexpr Switch switches[] = {
#include "base/options.def"
};
#define SWITCH(id, word, old, older) "|" word
constexpr const char* kSwitchWords = "on|off"
#include "base/options.def"
    ;

// One row of options.def, where its value goes, plus its outcome.
struct OptionEntry {
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
  char word[48];     // holds `text` where a list set it, which needs no memory so
};

#define ROW(id, name, type, scope, unit, min, max, values, fallback, help) \
  {name, type, scope, unit, min, max, values, fallback, help, &parsed_options.id, kDefault, fallback, nullptr, ""},
OptionEntry rows[] = {
#define BOOL(id, name, scope, def, help) ROW(id, name, Type::kBool, scope, "", 0, 1, "0|1", (def) ? "1" : "0", help)
#define INTEGER(id, name, scope, def, min, max, unit, help) \
  ROW(id, name, Type::kInteger, scope, unit, min, max, "", #def, help)
#define CHOICE(id, name, scope, def, values, help) ROW(id, name, Type::kChoice, scope, "", 0, 0, values, def, help)
#define TEXT(id, name, scope, def, help) ROW(id, name, Type::kText, scope, "", 0, 0, "", def, help)
#define STEPS(id, name, scope, step, max, unit, help) \
  ROW(id, name, Type::kSteps, scope, unit, step, max, "", "-1", help)
#define COUNTS(id, name, scope, file, help) ROW(id, name, Type::kCounts, scope, "", 0, 0, "0|1|PATH", "0", help)
#define SWITCHES(id, name, scope, help) \
  {name, Type::kSwitches, scope, "", 0, 0, kSwitchWords, "on", help, nullptr, kDefault, "on", nullptr, ""},
#include "base/options.def"
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

// A bool, or the path of a file; a path has a slash, so that a misspelt word is told.
bool parse_counts(const char* text) {
  const bool is_file = std::strchr(text, '/');
  if (!is_file && !parse_bool(text, &parsed_options.stats)) return false;
  if (is_file) parsed_options.stats = false;
  parsed_options.stats_file = is_file ? text : "";
  return true;
}

// The next word of a list by commas; empty ones are passed over. False at the end.
bool next_word(const char** list, const char** word, size_t* length) {
  *word = *list + std::strspn(*list, ",");
  *length = std::strcspn(*word, ",");
  *list = *word + *length;
  return *length > 0;
}

bool is_word(const char* known, const char* word, size_t length) {
  return std::strlen(known) == length && strncasecmp(known, word, length) == 0;
}

// False where a word is bad, which is told here.
bool parse_switches(const OptionEntry& row, const char* list) {
  bool good = true;
  const char* word = nullptr;
  for (size_t length = 0; next_word(&list, &word, &length);) {
    const bool on = is_word("on", word, length), off = is_word("off", word, length);
    bool known = on || off;
    for (const Switch& one : switches)
      if (on || off || is_word(one.word, word, length)) *one.target = on, known = true;
    if (!known)
      log_line("%s=%.*s is not one of %s; it is ignored", row.name, static_cast<int>(length), word, row.values);
    good &= known;
  }
  return good;
}

// Puts `text` where the row's value belongs; false, after one line, where it is not such a value.
bool take(OptionEntry& row, const char* text) {
  char wanted[160] = "0 or 1";
  bool good = true;
  switch (row.type) {
    case Type::kBool: good = parse_bool(text, static_cast<bool*>(row.target)); break;
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
    case Type::kCounts:
      good = parse_counts(text);
      if (good && !parsed_options.stats_file[0]) text = parsed_options.stats ? "1" : "0";
      std::snprintf(wanted, sizeof wanted, "0, 1 or the path of a file");
      break;
    case Type::kSwitches: return parse_switches(row, text);
  }
  if (good)
    row.text = text;
  else
    log_line("%s=%s is not %s; %s%s is used", row.name, text, wanted, row.text == row.fallback ? "the default " : "",
             row.text);
  return good;
}

// The same of a value in a list.
bool take_word(OptionEntry& row, const char* value, size_t length) {
  char text[sizeof row.word] = "";
  if (length >= sizeof text) {
    log_line("%s=%.*s is too long; %s is used", row.name, static_cast<int>(length), value, row.text);
    return false;
  }
  std::memcpy(text, value, length);
  if (!take(row, text)) return false;
  std::memcpy(row.word, text, sizeof text);
  row.text = row.word;
  if (row.type == Type::kText) *static_cast<const char**>(row.target) = row.word;
  return true;
}

bool note(OptionEntry& row, bool taken, const char* from) {
  if (taken || row.type == Type::kSwitches)  // the good words of a list count
    row.from = from;
  else if (row.from == kDefault)
    row.from = "default (bad value)";
  return taken;
}

// The name that the row had in earlier versions, "" where that was no other.
const char* old_name(const OptionEntry& row, char (&room)[64]) {
  if (row.type == Type::kCounts) return kOldStatsFile;
  if (!is_tuning(row.name)) return "";
  std::snprintf(room, sizeof room, "SMELT_%s", row.name + kTunePrefix);
  for (char* at = room; *at; ++at) *at = static_cast<char>(std::toupper(static_cast<unsigned char>(*at)));
  return room;
}

// If no name is `name`, tells it, and the nearest setting if the words behind `prefix` look like a typing error.
void check_name(const char* name, size_t prefix) {
  if (std::strcmp(name, kTune) == 0 || std::strcmp(name, kLibdir) == 0) return;
  for (const OptionEntry& row : rows)  // that takes less time than distances, and mostly a name is right
    if (std::strcmp(name, row.name) == 0) return;
  const char* nearest = nullptr;
  uint32_t best = most_typing_errors(name + prefix) + 1;
  const auto compare = [&](const char* known, const char* now) {
    const uint32_t distance = edit_distance(name, known);
    if (distance < best) best = distance, nearest = now;
  };
  char room[64];
  for (const OptionEntry& row : rows) {
    compare(row.name, row.name);
    compare(old_name(row, room), row.name);
    if (row.type != Type::kSwitches) continue;
    for (const Switch& one : switches)
      for (const char* const old : one.old) compare(old ? old : "", row.name);
  }
  for (const char* const other : {kTune, kLibdir}) compare(other, other);
  if (best == 0) return;
  if (nearest)
    log_line("%s is not a setting (maybe: %s?); it is ignored", name, nearest);
  else
    log_line("%s is not a setting ('smelt config' lists them); it is ignored", name);
}

// SMELT_TUNE=name=value,...
bool take_tuning(const char* list, const char* from) {
  bool good = true;
  const char* word = nullptr;
  for (size_t length = 0; next_word(&list, &word, &length);) {
    const size_t name = strcspn(word, "=,");
    OptionEntry* found = nullptr;
    for (OptionEntry& row : rows)
      if (is_tuning(row.name) && is_word(row.name + kTunePrefix, word, name)) found = &row;
    if (found) {
      const size_t value = name < length ? name + 1 : length;
      good &= note(*found, take_word(*found, word + value, length - value), from);
    } else {
      char text[64];
      std::snprintf(text, sizeof text, "%s=%.*s", kTune, static_cast<int>(name), word);
      check_name(text, kTunePrefix);
      good = false;
    }
  }
  return good;
}

void read_environment(OptionEntry& row) {
  const char* text = is_tuning(row.name) ? nullptr : secure_getenv(row.name);
  if (text && *text) note(row, take(row, text), kEnvironment);
}

// What an old name says, in this version and after a line; nullptr where it is not set, or the new one counts.
const char* read_old(const char* old, bool newer_is_set, const OptionEntry& row) {
  const char* const text = old && *old ? secure_getenv(old) : nullptr;
  if (!text || !*text) return nullptr;
  if (newer_is_set) log_line("%s is an old name and does not count: %s is set", old, row.name);
  return newer_is_set ? nullptr : text;
}

void read_old_switches(OptionEntry& row) {
  const bool newer_is_set = row.from != kDefault;
  for (const Switch& one : switches)
    for (const char* const old : one.old) {
      const char* const text = read_old(old, newer_is_set, row);
      if (!text) continue;
      bool on = true;
      if (!note(row, parse_bool(text, &on), kEnvironment)) log_line("%s=%s is not 0 or 1", old, text);
      log_line("%s is an old name; in place of %s=0 write %s=%s", old, old, row.name, one.word);
      *one.target &= on;
    }
}

void read_old_name(OptionEntry& row) {
  char room[64];
  const char* const old = old_name(row, room);
  const char* const text = read_old(old, row.from != kDefault, row);
  if (!text) return;
  const bool is_file = row.type == Type::kCounts;  // which had no need of a slash
  log_line("%s is an old name; write %s=%s%s", old, row.name, is_file && !std::strchr(text, '/') ? "./" : "", text);
  if (is_file) parsed_options.stats_file = row.text = text;
  note(row, is_file || take_word(row, text, std::strlen(text)), kEnvironment);
}

void warn_of_unknown_names() {
  for (char** entry = environ; entry && *entry; ++entry) {
    if (std::strncmp(*entry, "SMELT_", kPrefix) != 0 || std::strncmp(*entry, "SMELT_TEST_", 11) == 0) continue;
    char name[64] = "";
    const char* equals = std::strchr(*entry, '=');
    const size_t length = equals ? static_cast<size_t>(equals - *entry) : 0;
    if (length == 0 || length >= sizeof name) continue;
    std::memcpy(name, *entry, length);
    check_name(name, kPrefix);
  }
}

void parse_all() {
  for (OptionEntry& row : rows) read_environment(row);
  if (const char* const list = secure_getenv(kTune)) take_tuning(list, kEnvironment);
  for (OptionEntry& row : rows)
    if (row.type == Type::kSwitches)
      read_old_switches(row);
    else
      read_old_name(row);
  if (!getauxval(AT_SECURE)) warn_of_unknown_names();
}

// "on", "off", or the words that switch something off.
void switches_text(char* text, size_t size) {
  size_t used = 0, off = 0;
  for (const Switch& one : switches)
    if (!*one.target && ++off && used < size)
      used += static_cast<size_t>(std::snprintf(text + used, size - used, "%s%s", used ? "," : "", one.word));
  const size_t all = sizeof switches / sizeof switches[0];
  if (off == 0 || off == all) std::snprintf(text, size, off ? "off" : "on");
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
  if (std::strcmp(name, kTune) == 0) return take_tuning(value, kHost) ? 0 : -EINVAL;
  for (OptionEntry& row : rows) {
    if (std::strcmp(row.name, name) != 0) continue;
    if (is_tuning(name)) return note(row, take_word(row, value, std::strlen(value)), kHost) ? 0 : -EINVAL;
    char* copy = strdup(value);
    if (!copy) return -ENOMEM;
    if (!note(row, take(row, copy), kHost)) {
      std::free(copy);
      return -EINVAL;
    }
    std::free(row.copy);
    row.copy = copy;
    return 0;
  }
  return -ENOENT;
}

uint32_t option_count() { return kRows; }

void option_row(uint32_t index, OptionRow* out) {
  options();
  const OptionEntry& row = rows[index];
  static const char* const kTypes[] = {"bool", "integer", "choice", "text", "integer", "text", "list"};
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
  if (row.type == Type::kSwitches)
    switches_text(out->value, sizeof out->value);
  else
    std::snprintf(out->value, sizeof out->value, "%s", row.text);
}

bool is_tuning(const char* name) { return std::strncmp(name, "SMELT_TUNE=", kTunePrefix) == 0; }

const char* environment(const char* name) { return secure_getenv(name); }

const char* stats_file_in_environment() {
  const char* text = secure_getenv(kStats);
  if (text && *text) return std::strchr(text, '/') ? text : nullptr;
  text = secure_getenv(kOldStatsFile);
  return text && *text ? text : nullptr;
}

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
