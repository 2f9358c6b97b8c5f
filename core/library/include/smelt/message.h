/* Messages between user-level threads of processes of one machine: a waiting thread gives its worker away, and is let
 * run when its message has come.
 *
 * An endpoint (smelt/endpoint.h) joins the processes, a scheduler (smelt/thread.h) runs the threads of each. Messages
 * join the two: a message goes to a process and a key, which is mostly a thread's number, and meets the receive that
 * names the process and the key it is from. There are no wildcards, so a table finds the receive at once, however many
 * wait (Dang, Snir and Gropp, "Towards millions of communicating threads", EuroMPI 2016).
 *
 *   smelt_messages *messages;
 *   if (smelt_messages_open(scheduler, endpoint, 0, &messages) != 0) {
 *     return 1;
 *   }
 *   smelt_message_send(messages, other, key, data, bytes);                      in a user-level thread
 *   smelt_message_receive(messages, other, key, buffer, sizeof buffer, &length);
 *   smelt_messages_close(messages);
 *
 * Workers with nothing to run make progress. One of them stays awake as long as a thread waits for a message; the other
 * workers look in each 64 switches. If the program has more CPUs than the scheduler has workers, a kernel thread of its
 * own makes progress: the communication server, which sleeps while nobody waits.
 *
 * Messages of one process and key are received in the order in which they were sent. All that was written before a send
 * is seen after the receive. Any thread may call anything but close, a message belongs to one thread at a time, and the
 * functions that wait are for the scheduler's user-level threads.
 *
 * Functions return 0 or, unless it says otherwise at the function:
 *   -EINVAL    an argument is out of range or NULL; no such process
 *   -EPERM     the caller is no user-level thread of this scheduler, and would have to wait
 *   -EMSGSIZE  the message was longer than the room, which has its beginning
 *   -EPIPE     the other process has died
 *   -EIO       its memory could not be read to the end
 */
#ifndef SMELT_MESSAGE_H
#define SMELT_MESSAGE_H

#include <smelt/base.h>
#include <smelt/endpoint.h>
#include <smelt/thread.h>
#include <stdint.h>

SMELT_BEGIN

typedef struct smelt_messages smelt_messages;

/* A message under way, in memory of the caller's. When it is done `transfer` has error and length. */
typedef struct smelt_message {
  smelt_transfer transfer;
  uint64_t own[6]; /* Smelt's */
} smelt_message;

/* open: threads of `scheduler` send and receive by `endpoint`, all under `context` (0 .. 65535) of it: other contexts
 * stay the caller's. Both must live until close. -EBUSY: there are messages with this scheduler already. -ENOMEM.
 * close: when no message is under way; messages that have come and that nobody has received are lost. A
 * user-level thread may not call it. */
SMELT_API int smelt_messages_open(smelt_scheduler *scheduler, smelt_endpoint *endpoint, unsigned context,
                                  smelt_messages **messages);
SMELT_API void smelt_messages_close(smelt_messages *messages);
/* 1: a communication server makes progress; 0: idle workers do. */
SMELT_API int smelt_messages_served(const smelt_messages *messages);

/* send: returns when `data` may change; the message has then left, but need not have arrived. receive: returns when it
 * is there; *length, where `length` is not NULL, is the message's. `key`: 0 .. 2^31-1. */
SMELT_API int smelt_message_send(smelt_messages *messages, unsigned to, int key, const void *data, uint64_t bytes);
SMELT_API int smelt_message_receive(smelt_messages *messages, unsigned from, int key, void *buffer, uint64_t room,
                                    uint64_t *length);

/* The same, begun and gone on with: the message, and its data or buffer, stay as they are until it is done, which test
 * and wait say. test: 1: it is done, whose result is transfer.error; 0: not yet. It makes progress. wait: its result. A
 * message that could not begin is not under way, and must not be asked for. */
SMELT_API int smelt_message_start_send(smelt_messages *messages, smelt_message *message, unsigned to, int key,
                                       const void *data, uint64_t bytes);
SMELT_API int smelt_message_start_receive(smelt_messages *messages, smelt_message *message, unsigned from, int key,
                                          void *buffer, uint64_t room);
SMELT_API int smelt_message_test(smelt_messages *messages, smelt_message *message);
SMELT_API int smelt_message_wait(smelt_messages *messages, smelt_message *message);

SMELT_END

#endif
