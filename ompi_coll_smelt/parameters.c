/* Smelt's settings as MCA parameters. Every row of Smelt's table that processes read, words of SMELT_TUNE among them,
 * becomes coll_smelt_<name>, with the value in force as its default. A value that the user set by Open MPI's means
 * (command line, files, OMPI_MCA_*) is handed on as text, so that the table's own checks and messages hold for it, too.
 */
#include "parameters.h"

#include "opal/mca/base/mca_base_var.h"

#include <ctype.h>
#include <limits.h>
#include <smelt/options.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

coll_smelt_settings coll_smelt_set;

enum { kMost = 32 }; /* parameters; the table has fewer that processes read */

/* The place where Open MPI keeps a parameter's value. */
static union value {
  int integer;
  bool boolean;
  char *text;
} values[kMost];

/* Open MPI has no integers that tools can read and that hold more than an int; then it is text, and checked by Smelt.
   */
static mca_base_var_type_t type_of(const smelt_option *option) {
  if (strcmp(option->type, "bool") == 0) return MCA_BASE_VAR_TYPE_BOOL;
  long long least = 0, greatest = LLONG_MAX;
  const bool integer =
      strcmp(option->type, "integer") == 0 && sscanf(option->range, "%lld..%lld", &least, &greatest) == 2;
  return integer && least >= INT_MIN && greatest <= INT_MAX ? MCA_BASE_VAR_TYPE_INT : MCA_BASE_VAR_TYPE_STRING;
}

/* The levels of MPI_T: 1 for what every user may want to know, 5 for those who tune. */
static mca_base_var_info_lvl_t level_of(const smelt_option *option) {
  if (strchr(option->name, '=')) return OPAL_INFO_LVL_5;
  const bool basic = strcmp(option->name, "SMELT_PRIORITY") == 0 || strcmp(option->name, "SMELT_VERBOSE") == 0;
  return basic ? OPAL_INFO_LVL_1 : OPAL_INFO_LVL_3;
}

static void start_value(union value *value, mca_base_var_type_t type, const char *text) {
  if (type == MCA_BASE_VAR_TYPE_INT)
    value->integer = atoi(text);
  else if (type == MCA_BASE_VAR_TYPE_BOOL)
    value->boolean = strchr("1tyTY", text[0]) != NULL || strcasecmp(text, "on") == 0;
  else
    value->text = (char *)text; /* Open MPI makes its own copy */
}

static const char *as_text(const union value *value, mca_base_var_type_t type, char *room, size_t size) {
  if (type == MCA_BASE_VAR_TYPE_STRING) return value->text ? value->text : "";
  snprintf(room, size, "%d", type == MCA_BASE_VAR_TYPE_INT ? value->integer : value->boolean);
  return room;
}

/* "SMELT_PRIORITY" is coll_smelt_priority, "SMELT_TUNE=chunk" coll_smelt_chunk. */
static void parameter_name(const char *setting, char *name, size_t size) {
  const char *const word = strchr(setting, '=');
  size_t i = 0;
  for (const char *at = word ? word + 1 : setting + strlen("SMELT_"); *at && i + 1 < size; ++at)
    name[i++] = (char)tolower((unsigned char)*at);
  name[i] = 0;
}

static void offer(const mca_base_component_t *component, const smelt_option *option, union value *value) {
  char name[64], help[512], room[32];
  parameter_name(option->name, name, sizeof name);
  snprintf(help, sizeof help, "%s (%s%s%s%s%s)", option->help, option->range, *option->unit ? " " : "", option->unit,
           *option->range ? "; " : "", option->name);
  const mca_base_var_type_t type = type_of(option);
  start_value(value, type, option->value);
  const int index = mca_base_component_var_register(component, name, help, type, NULL, 0, 0, level_of(option),
                                                    MCA_BASE_VAR_SCOPE_READONLY, value);
  if (index >= 0 && strcmp(option->name, "SMELT_STATS") == 0) /* one of its own in earlier versions */
    (void)mca_base_var_register_synonym(index, component->mca_project_name, component->mca_type_name,
                                        component->mca_component_name, "stats_file", MCA_BASE_VAR_SYN_FLAG_DEPRECATED);
  mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_DEFAULT;
  if (index < 0 || mca_base_var_get_value(index, NULL, &source, NULL) != OPAL_SUCCESS) return;
  if (source != MCA_BASE_VAR_SOURCE_DEFAULT)
    (void)smelt_option_set(option->name, as_text(value, type, room, sizeof room));
}

void coll_smelt_register_parameters(const mca_base_component_t *component, const char *added) {
  smelt_option option;
  unsigned used = 0;
  for (unsigned i = 0; smelt_option_get(i, &option) == 0; ++i)
    if (option.scope != SMELT_OPTION_THREADS && used < kMost) offer(component, &option, &values[used++]);
  static const char *shown;
  shown = added;
  (void)mca_base_component_var_register(
      component, "added",
      "components that are added where --mca coll names smelt without them: they serve what it does not",
      MCA_BASE_VAR_TYPE_STRING, NULL, 0, MCA_BASE_VAR_FLAG_DEFAULT_ONLY, OPAL_INFO_LVL_3, MCA_BASE_VAR_SCOPE_CONSTANT,
      &shown);
}

int coll_smelt_setting(const char *name, bool *set) {
  smelt_option option;
  for (unsigned i = 0; smelt_option_get(i, &option) == 0; ++i) {
    if (strcmp(option.name, name) != 0) continue;
    if (set) *set = strncmp(option.from, "default", strlen("default")) != 0;
    return atoi(option.value);
  }
  if (set) *set = false;
  return 0;
}
