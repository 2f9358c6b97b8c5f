/* Smelt: machine-aware barriers between the threads of one machine. This header includes all the others.
 *
 *   model -> tree, schedule -> context -> barrier     between threads
 *                              context -> seats with collectives     between threads or processes
 *   host -> group -> barrier, broadcast, reduce, allreduce, allgather, alltoall, exchange, ...     between processes
 *
 *   queue: messages from end to end     between threads or processes
 *   atomic_broadcast: one order of all members' messages     between threads or processes
 *   two_phase_commit: all do it, or none     between threads or processes
 *   member: one order of messages for members that come and go     between threads or processes
 *   thread: user-level threads that yield, wait and signal
 *   message: ... and send each other messages, between processes
 *   openmp: the counters of the OpenMP shim in this process
 *   rail: messages over all the networks between two nodes     (a library of its own; this header does not include it)
 *
 * Conventions, for every function of every header:
 *   - returns 0 or a negative errno value; nothing is written to an out parameter on failure unless said;
 *   - objects are opaque, created by *_create or *_load and released by the matching *_free; releasing NULL is allowed;
 *   - an object may be read by several threads at once; creating and releasing is not synchronised;
 *   - nothing prints or exits; only functions that create, load, open, attach or spawn allocate;
 *   - CPUs are the kernel's numbers (hwloc's os_index), participants are 0 .. n-1, costs are in nanoseconds unless the
 *     model says cycles (smelt_model_unit).
 */
#ifndef SMELT_SMELT_H
#define SMELT_SMELT_H

#include <smelt/atomic_broadcast.h>
#include <smelt/barrier.h>
#include <smelt/context.h>
#include <smelt/endpoint.h>
#include <smelt/group.h>
#include <smelt/member.h>
#include <smelt/message.h>
#include <smelt/model.h>
#include <smelt/openmp.h>
#include <smelt/options.h>
#include <smelt/queue.h>
#include <smelt/schedule.h>
#include <smelt/thread.h>
#include <smelt/tree.h>
#include <smelt/two_phase_commit.h>

#endif
