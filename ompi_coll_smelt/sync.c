/* The program's word on what follows a communicator's collectives: the info key smelt_sync, "loose" (the next one) or
 * "strict" (a barrier), given to MPI_Comm_dup_with_info, MPI_Comm_split_type and the like, or to MPI_Comm_set_info
 * before the communicator's first calls.
 *
 * Open MPI keeps of MPI_Comm_set_info only keys that somebody has subscribed to, and stores the subscriber's answer.
 * The key is looked at once, when the communicator's group is made: there all ranks compare the values that they have
 * been told. Later the key has no effect, and a user who asks for lines is told so. */
#include "sync.h"

#include "ompi/communicator/communicator.h"
#include "opal/util/info_subscriber.h"
#include "parameters.h"
#include "say.h"

#include <stdatomic.h>
#include <string.h>

enum { kRoom = 16 }; /* for the longest value that means something, "strict" */
static char key[] = "smelt_sync", nothing[] = "";

static smelt_sync sync_of(const char *text) {
  return strcmp(text, "loose") == 0    ? SMELT_SYNC_LOOSE
         : strcmp(text, "strict") == 0 ? SMELT_SYNC_STRICT
                                       : SMELT_SYNC_AUTO;
}

/* Makes the text that Open MPI wants, one that stays: NULL for nothing. */
static char *text_of(smelt_sync sync) {
  static char loose[] = "loose", strict[] = "strict";
  return sync == SMELT_SYNC_LOOSE ? loose : sync == SMELT_SYNC_STRICT ? strict : NULL;
}

smelt_sync coll_smelt_sync_of(const struct ompi_communicator_t *comm) {
  char text[kRoom];
  return comm->super.s_info && coll_smelt_info_get(comm->super.s_info, key, text, sizeof text) ? sync_of(text)
                                                                                               : SMELT_SYNC_AUTO;
}

void coll_smelt_hand_sync_on(const struct ompi_communicator_t *comm, opal_info_t *info) {
  const char *text = text_of(coll_smelt_sync_of(comm));
  if (text) (void)opal_info_set(info, key, text);
}

static bool (*settled)(const struct ompi_communicator_t *comm); /* coll_smelt_sync_begin */

/* Returns what is to be kept as the key's value. */
static char *hear(opal_infosubscriber_t *object, char *name, char *value) {
  (void)name;
  static atomic_flag said = ATOMIC_FLAG_INIT;
  struct ompi_communicator_t *comm = (struct ompi_communicator_t *)object;
  const smelt_sync asked = sync_of(value);
  if (asked == SMELT_SYNC_AUTO && *value && !atomic_flag_test_and_set(&said))
    coll_smelt_say("info key smelt_sync=%s is not one of loose|strict, and is ignored", value);
  if (!settled(comm)) return text_of(asked);
  const smelt_sync before = coll_smelt_sync_of(comm);
  if (asked != before && coll_smelt_set.verbose >= 1 && ompi_comm_rank(comm) == 0)
    coll_smelt_say("%s (%d ranks): smelt_sync=%s comes after the first calls and has no effect", comm->c_name,
                   ompi_comm_size(comm), value);
  return text_of(before);
}

void coll_smelt_sync_begin(bool (*is_settled)(const struct ompi_communicator_t *comm)) { settled = is_settled; }

void coll_smelt_subscribe(struct ompi_communicator_t *comm) {
  /* Its texts are const from 5.0 on. */
  (void)opal_infosubscribe_subscribe(&comm->super, key, nothing, (opal_key_interest_callback_t *)hear);
}
