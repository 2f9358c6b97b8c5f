/* The part that Open MPI 4.1 and 5.0 have in common: counts are ints, and the framework puts a module's functions into
 * the communicator. */
#ifndef COLL_SMELT_COMPAT_INTS_H
#define COLL_SMELT_COMPAT_INTS_H

typedef int coll_smelt_length;

/* Each block has a count, and a place in elements, or bytes, or those of MPI_Neighbor_alltoallw. */
typedef const int *coll_smelt_counts;
typedef const int *coll_smelt_places;
typedef const MPI_Aint *coll_smelt_far_places;
static inline size_t coll_smelt_count_of(coll_smelt_counts counts, int i) { return (size_t)counts[i]; }
static inline ptrdiff_t coll_smelt_place_of(coll_smelt_places places, int i) { return places[i]; }
static inline ptrdiff_t coll_smelt_far_place_of(coll_smelt_far_places places, int i) { return places[i]; }
static inline coll_smelt_counts coll_smelt_counts_of(const int *counts) { return counts; }
static inline coll_smelt_places coll_smelt_places_of(const int *places) { return places; }

#define COLL_SMELT_OFFER_AS(module, name, function) ((module)->super.coll_##name = (function))
#define COLL_SMELT_INSTALL_AS(module, comm, name, function) ((void)0)
#define COLL_SMELT_UNINSTALL(module, comm, name) ((void)0)

#endif
