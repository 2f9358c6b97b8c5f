/* The functions of the component below: saved when a module is enabled, as what the communicator has then is theirs,
 * and released when it is let go of. */
#include "lower.h"

#include "ompi/communicator/communicator.h"
#include "parameters.h"
#include "say.h"

static bool is_complete(const struct ompi_communicator_t *comm) {
#define COLL_SMELT_SLOT(name) \
  if (!comm->c_coll->coll_##name##_module) return false;
#include "slots.def"
  return true;
}

static bool retain(coll_smelt_lower *lower, mca_coll_base_module_t *module) {
  for (unsigned i = lower->count; i-- > 0;)
    if (lower->retained[i] == module) return true;
  if (lower->count == COLL_SMELT_MOST_RETAINED) return false;
  OBJ_RETAIN(module);
  lower->retained[lower->count++] = module;
  return true;
}

static bool save(coll_smelt_lower *lower, const struct ompi_communicator_t *comm) {
#define COLL_SMELT_SLOT(name)                                \
  lower->name = comm->c_coll->coll_##name;                   \
  lower->name##_module = comm->c_coll->coll_##name##_module; \
  if (!retain(lower, lower->name##_module)) return false;
#include "slots.def"
  return true;
}

/* Without all of them there is nothing to fall back to, and nothing to create a group with. */
int coll_smelt_lower_save(coll_smelt_lower *lower, const struct ompi_communicator_t *comm) {
  if (is_complete(comm)) return save(lower, comm) ? OMPI_SUCCESS : OMPI_ERR_NOT_SUPPORTED;
  if (coll_smelt_set.verbose >= 1 && ompi_comm_rank((struct ompi_communicator_t *)comm) == 0)
    coll_smelt_say("%s: not used, no other component serves it below (name more than smelt in --mca coll)",
                   comm->c_name);
  return OMPI_ERR_NOT_FOUND;
}

void coll_smelt_lower_release(coll_smelt_lower *lower) {
  while (lower->count > 0) {
    mca_coll_base_module_t *last = lower->retained[--lower->count];
    OBJ_RELEASE(last); /* a macro that uses its argument several times */
  }
}
