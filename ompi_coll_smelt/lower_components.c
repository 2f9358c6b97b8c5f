/* `mpirun --mca coll smelt` alone.
 *
 * Such a list tells Open MPI to load these components and no other. Every component of its own then fails, as none
 * serves all collectives: users must know to write "X,basic,libnbc,self". Ours completes the list instead, while it is
 * opened:
 *
 *   1. which components are missing: those without which a communicator cannot be made, and where smelt is the only
 *      name, also those that Open MPI would take if it were not told anything
 *   2. Open MPI's own search is asked for exactly these, by a selection that is theirs for the moment; the components
 *      that it finds, it appends to the framework's list
 *   3. each gets its parameters registered, which has been done for the others long before
 *   4. each is opened, unless the framework's loop over that list, which is calling us, will come to it. That loop took
 *      the item after ours before it called, so it comes to the new ones only where ours was not the last */
#include "lower_components.h"

#include "opal/mca/base/mca_base_component_repository.h"
#include "opal/util/proc.h"
#include "parameters.h"
#include "say.h"

#include <stdio.h>
#include <string.h>

static const char *const required[] = {"basic", "libnbc", "self"};
static const char *const usual[] = {"tuned", "inter"};

#define FRAMEWORK (&ompi_coll_base_framework)

/* `selection` is "a,b,c". */
static bool names(const char *selection, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = selection; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == 0)) return true;
  return false;
}

bool coll_smelt_selected_by_name(void) {
  const char *selection = FRAMEWORK->framework_selection;
  return selection && *selection && *selection != '^' && names(selection, "smelt");
}

/* Part of this Open MPI, as a file or built in? Its search complains of names that are not. */
static bool exists(const char *name) {
  for (int i = 0; FRAMEWORK->framework_static_components && COLL_SMELT_BUILT_IN(FRAMEWORK, i); ++i)
    if (strcmp(COLL_SMELT_BUILT_IN(FRAMEWORK, i)->mca_component_name, name) == 0) return true;
  opal_list_t *files = NULL;
  if (mca_base_component_repository_get_components(FRAMEWORK, &files) != OPAL_SUCCESS || !files) return false;
  mca_base_component_repository_item_t *file;
  OPAL_LIST_FOREACH(file, files, mca_base_component_repository_item_t) {
    if (strcmp(file->ri_name, name) == 0) return true;
  }
  return false;
}

static void collect(const char *const *wanted, size_t count, char *missing, size_t size) {
  for (size_t i = 0; i < count; ++i) {
    const size_t length = strlen(missing);
    if (!names(FRAMEWORK->framework_selection, wanted[i]) && exists(wanted[i]))
      snprintf(missing + length, size - length, "%s%s", length ? "," : "", wanted[i]);
  }
}

static void find(const char *missing) {
  char *selection = FRAMEWORK->framework_selection;
  FRAMEWORK->framework_selection = (char *)missing;
  (void)mca_base_component_find(NULL, FRAMEWORK, false, true);
  FRAMEWORK->framework_selection = selection;
}

/* False: it does not want to, and is taken off the list. */
static bool prepare(const mca_base_component_t *component, bool open) {
  if (component->mca_register_component_params && component->mca_register_component_params() != OPAL_SUCCESS)
    return false;
  return !open || !component->mca_open_component || component->mca_open_component() == OPAL_SUCCESS;
}

static bool is_last(const mca_base_component_t *component) {
  opal_list_t *components = &FRAMEWORK->framework_components;
  if (opal_list_is_empty(components)) return false;
  return ((mca_base_component_list_item_t *)opal_list_get_last(components))->cli_component == component;
}

const char *coll_smelt_missing_components(void) {
  static char missing[64];
  if (*missing || !coll_smelt_selected_by_name()) return missing;
  collect(required, sizeof required / sizeof required[0], missing, sizeof missing);
  if (*missing && strcmp(FRAMEWORK->framework_selection, "smelt") == 0)
    collect(usual, sizeof usual / sizeof usual[0], missing, sizeof missing);
  return missing;
}

void coll_smelt_add_lower_components(const mca_base_component_t *component) {
  const char *missing = coll_smelt_missing_components();
  if (!*missing) return;
  if (coll_smelt_set.verbose >= 1 && OPAL_PROC_MY_NAME.vpid == 0)
    coll_smelt_say("--mca coll names no component for what smelt does not serve; added: %s", missing);
  opal_list_t *components = &FRAMEWORK->framework_components;
  const bool open = is_last(component);
  opal_list_item_t *before = opal_list_get_last(components);
  find(missing);
  for (opal_list_item_t *item = opal_list_get_next(before), *next; item != opal_list_get_end(components); item = next) {
    next = opal_list_get_next(item);
    const mca_base_component_t *found = ((mca_base_component_list_item_t *)item)->cli_component;
    if (prepare(found, open)) continue;
    opal_list_remove_item(components, item);
    mca_base_component_close(found, FRAMEWORK->framework_output);
    OBJ_RELEASE(item);
  }
}
