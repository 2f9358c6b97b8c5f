/* Open MPI 4.1: coll interface 2.0.0, int counts, and a framework that copies a module's functions after enabling it.
   */
#ifndef COLL_SMELT_COMPAT_4_1_H
#define COLL_SMELT_COMPAT_4_1_H

#define COLL_SMELT_API MCA_COLL_BASE_VERSION_2_0_0
#define COLL_SMELT_EXPORT OMPI_MODULE_DECLSPEC
#define COLL_SMELT_POINTER

typedef int coll_smelt_length;

/* Of each block: its count, and its place in elements, or bytes, or those of MPI_Neighbor_alltoallw. */
typedef const int *coll_smelt_counts;
typedef const int *coll_smelt_places;
typedef const MPI_Aint *coll_smelt_far_places;
static inline size_t coll_smelt_count_of(coll_smelt_counts counts, int i) { return (size_t)counts[i]; }
static inline ptrdiff_t coll_smelt_place_of(coll_smelt_places places, int i) { return places[i]; }
static inline ptrdiff_t coll_smelt_far_place_of(coll_smelt_far_places places, int i) { return places[i]; }
static inline coll_smelt_counts coll_smelt_counts_of(const int *counts) { return counts; }
static inline coll_smelt_places coll_smelt_places_of(const int *places) { return places; }

static inline bool coll_smelt_info_get(opal_info_t *info, const char *key, char *text, size_t room) {
  int found = 0;
  return opal_info_get(info, key, (int)room - 1, text, &found) == OPAL_SUCCESS && found;
}

/* Do all ranks know the communicator by the same number? *number is that. */
#define COLL_SMELT_NUMBER(comm, number) (*(number) = (comm)->c_contextid, true)

#define COLL_SMELT_BUILT_IN(framework, i) ((framework)->framework_static_components[i])

#define COLL_SMELT_OFFER_AS(module, name, function) ((module)->super.coll_##name = (function))
#define COLL_SMELT_INSTALL_AS(module, comm, name, function) ((void)0)
#define COLL_SMELT_UNINSTALL(module, comm, name) ((void)0)

#endif
