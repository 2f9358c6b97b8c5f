/* Open MPI 6: coll interface 3.0.0, counts of any size, and modules that put their functions into the communicator
 * themselves and take them out again. */
#ifndef COLL_SMELT_COMPAT_6_0_H
#define COLL_SMELT_COMPAT_6_0_H

#include "ompi/util/count_disp_array.h"

#define COLL_SMELT_API MCA_COLL_BASE_VERSION_3_0_0
#define COLL_SMELT_EXPORT __attribute__((visibility("default")))
#define COLL_SMELT_POINTER MCA_BASE_COMPONENT_INIT(ompi, coll, smelt)

typedef size_t coll_smelt_length;

typedef ompi_count_array_t coll_smelt_counts;
typedef ompi_disp_array_t coll_smelt_places;
typedef ompi_disp_array_t coll_smelt_far_places;
static inline size_t coll_smelt_count_of(coll_smelt_counts counts, int i) {
  return ompi_count_array_get(counts, (size_t)i);
}
static inline ptrdiff_t coll_smelt_place_of(coll_smelt_places places, int i) {
  return ompi_disp_array_get(places, (size_t)i);
}
static inline ptrdiff_t coll_smelt_far_place_of(coll_smelt_far_places places, int i) {
  return ompi_disp_array_get(places, (size_t)i);
}
static inline coll_smelt_counts coll_smelt_counts_of(const int *counts) {
  ompi_count_array_t made;
  ompi_count_array_init(&made, counts);
  return made;
}
static inline coll_smelt_places coll_smelt_places_of(const int *places) {
  ompi_disp_array_t made;
  ompi_disp_array_init(&made, places);
  return made;
}

#define COLL_SMELT_BUILT_IN(framework, i) \
  ((framework)->framework_static_components[i] ? *(framework)->framework_static_components[i] : NULL)

#define COLL_SMELT_OFFER_AS(module, name, function) ((void)0)
#define COLL_SMELT_INSTALL_AS(module, comm, name, function) \
  MCA_COLL_INSTALL_API(comm, name, function, &(module)->super, "smelt")
/* Another component may stand above us; then it is the owner, and puts us back before this is reached. */
#define COLL_SMELT_UNINSTALL(module, comm, name)                                                      \
  do {                                                                                                \
    if ((comm)->c_coll->coll_##name##_module == &(module)->super)                                     \
      MCA_COLL_INSTALL_API(comm, name, (module)->lower.name, (module)->lower.name##_module, "smelt"); \
  } while (0)

#endif
