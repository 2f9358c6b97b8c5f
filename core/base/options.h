// The settings of the process: read from the environment once, checked, kept. The only getenv of the project.
//
// A bad value warns once (one line) and keeps the default. An unknown SMELT_ name warns once too, with the nearest
// known one, and an old name with the new one. Nothing is read in a set-user-ID program: secure_getenv hides the
// environment there.
#pragma once

#include <cstdint>
#include <span>

namespace smelt {

struct Options {
#define BOOL(id, name, scope, def, help) bool id = def;
#define INTEGER(id, name, scope, def, min, max, unit, help) int64_t id = def;
#define CHOICE(id, name, scope, def, values, help) const char* id = def;
#define TEXT(id, name, scope, def, help) const char* id = def;
#define STEPS(id, name, scope, step, max, unit, help) int64_t id = -1;
#define COUNTS(id, name, scope, file, help) \
  bool id = false;                          \
  const char* file = "";
#define SWITCH(id, word, old, older) bool id = true;
#include "base/options.def"
};

extern Options parsed_options;
extern bool options_are_parsed;
void parse_options();

// Parsed at the first call, thread-safe; the texts stay valid as long as the environment does.
inline const Options& options() {
  // Acquire: pairs with the release in parse_options(), so that the parsed values are seen. Here, not in a function of
  // its own, because every task that a program makes asks.
  if (!__atomic_load_n(&options_are_parsed, __ATOMIC_ACQUIRE)) [[unlikely]]
    parse_options();
  return parsed_options;
}

// The same for a host that has settings of its own (MCA parameters): 0; -EINVAL for a bad value, which warns and
// changes nothing; -ENOENT for an unknown name. The good words of a list (SMELT_TUNE, SMELT_OPENMP) count beside a bad
// one. `value` is copied. The call is not synchronised: it must come before the first use of the setting.
int set_option(const char* name, const char* value);

// The readers of a setting. The numbers are those of smelt_option_scope.
enum class OptionScope { kBoth, kThreads, kProcesses };

// For `smelt config`, the C API and the tests: every row, its value now and where it came from.
struct OptionRow {
  const char* name;      // as it stands before its value: "SMELT_WAIT", "SMELT_TUNE=spin_us"
  const char* type;      // "bool", "integer", "choice", "text", "list"
  const char* unit;      // "" where it has none
  const char* range;     // "0..2", "64..32768 by 64, or -1", "auto|spin|sleep", "" for text
  const char* fallback;  // the default, as text
  const char* help;
  OptionScope scope;
  char value[256];   // the value in force, as text
  const char* from;  // "default", "environment", "default (bad value)", "host"
};
uint32_t option_count();
// A word of SMELT_TUNE, which only those who work on Smelt turn.
bool is_tuning(const char* name);
void option_row(uint32_t index, OptionRow* out);

// An environment variable of somebody else's (OMP_WAIT_POLICY, XDG_CACHE_HOME, HOME), or nullptr. Here so that
// getenv stays in one room.
const char* environment(const char* name);

// The file that SMELT_STATS names, or nullptr. Parses no setting, and so warns of none.
const char* stats_file_in_environment();

// Number of single-character edits between two words, for "did you mean".
uint32_t edit_distance(const char* a, const char* b);
// With more edits than this, another word than `word` was meant.
uint32_t most_typing_errors(const char* word);

}  // namespace smelt
