/* Open MPI's ompi/op/op.h includes a header of this name, and installations leave it out. All that op.h takes
 * from it is the conversion of a C int into a Fortran integer. The build puts this folder last in the search, so where
 * the real header is installed, that one is used. */
#ifndef COLL_SMELT_FINT_2_INT_H
#define COLL_SMELT_FINT_2_INT_H

#define OMPI_INT_2_FINT(value) ((MPI_Fint)(value))

#endif
