/* Lanes: operations that go one after the other over one group, the nonblocking ones of a communicator in the order of
 * the calls, or a persistent request's, which has a group of its own. lanes.c advances them. */
#ifndef COLL_SMELT_LANES_H
#define COLL_SMELT_LANES_H

#include "compat.h"

#include "ompi/mca/coll/base/coll_base_util.h"

#include <stdatomic.h>

typedef struct coll_smelt_lane {
  const void *owner; /* the module whose communicator it belongs to */
  struct coll_smelt_queued *first, *last;
  struct coll_smelt_lane *next_active, **link; /* its place among those that are not empty */
  atomic_int behind; /* operations in it, and what coll_smelt_lane_count added; 0: blocking calls may go on */
} coll_smelt_lane;

/* An operation, as far as its lane knows it. */
typedef struct coll_smelt_queued {
  ompi_coll_base_nbc_request_t super; /* MPI's nonblocking functions expect this of their requests */
  struct coll_smelt_queued *next;     /* in its lane */
  coll_smelt_lane *lane;
  /* Takes it as far as it goes; true: complete, closed, and the result is in its status. Called by the owner of the
   * progress, for the first of a lane. */
  bool (*step)(struct coll_smelt_queued *operation);
} coll_smelt_queued;

void coll_smelt_lanes_begin(void);
void coll_smelt_lanes_end(void);
void coll_smelt_lane_begin(coll_smelt_lane *lane, const void *owner);
/* Puts it at the end of its lane; it may be complete when this returns. */
void coll_smelt_post(coll_smelt_queued *operation);
/* Adds to what blocking calls find outstanding, or takes it away. */
void coll_smelt_lane_count(coll_smelt_lane *lane, int more);
/* Waits until no more than `left` are outstanding. */
void coll_smelt_drain_lane(const coll_smelt_lane *lane, int left);
/* The outstanding operations of this owner's lanes will never be complete, because MPI has ended. Were there any? */
bool coll_smelt_abandon(const void *owner);

#endif
