// Smelt's version, and the settings for hosts written in C: the rows of options.def as smelt/options.h shows them.
#include <smelt/options.h>
#include <cerrno>
#include <cstring>

#include "base/options.h"
#include "smelt_config.h"

namespace smelt {
static_assert(static_cast<int>(OptionScope::kBoth) == SMELT_OPTION_BOTH);
static_assert(static_cast<int>(OptionScope::kThreads) == SMELT_OPTION_THREADS);
static_assert(static_cast<int>(OptionScope::kProcesses) == SMELT_OPTION_PROCESSES);
static_assert(sizeof OptionRow{}.value == sizeof smelt_option{}.value);
}  // namespace smelt

extern "C" {

const char* smelt_version(void) { return SMELT_VERSION; }

int smelt_option_get(unsigned i, smelt_option* option) {
  if (!option) return -EINVAL;
  if (i >= smelt::option_count()) return -ENOENT;
  smelt::OptionRow row;
  smelt::option_row(i, &row);
  *option = {
      row.name, row.type, row.unit, row.range, row.fallback, row.help, static_cast<smelt_option_scope>(row.scope),
      "",       row.from};
  std::memcpy(option->value, row.value, sizeof row.value);
  return 0;
}

int smelt_option_set(const char* name, const char* value) {
  return name && value ? smelt::set_option(name, value) : -EINVAL;
}

}  // extern "C"
