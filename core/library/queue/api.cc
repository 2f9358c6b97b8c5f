// The C functions that move messages: arguments checked, and on to the kind.
#include <cerrno>

#include "library/queue/queue.h"

using namespace smelt;
using namespace smelt::queue;

namespace {

int check_sender(const smelt_queue* queue) { return !queue ? -EINVAL : !queue->sender.slots ? -ENOTSUP : 0; }
int check_receiver(const smelt_queue* queue) { return !queue ? -EINVAL : !queue->receiver.slots ? -ENOTSUP : 0; }
int yes_or_no(int result) { return result == 0 ? 1 : result == -EAGAIN ? 0 : result; }

}  // namespace

const char* smelt_queue_kind(unsigned i) { return i < kinds() ? kKinds[i].name : nullptr; }
const char* smelt_queue_help(unsigned i) { return i < kinds() ? kKinds[i].help : nullptr; }
size_t smelt_queue_limit(const smelt_queue* queue) { return queue->limit; }

int smelt_queue_try_send(smelt_queue* queue, const void* data, size_t bytes) {
  if (const int error = check_sender(queue)) return error;
  return data || bytes == 0 ? queue->kind->try_send(*queue, data, bytes) : -EINVAL;
}

int smelt_queue_send(smelt_queue* queue, const void* data, size_t bytes) {
  if (const int error = check_sender(queue)) return error;
  return data || bytes == 0 ? queue->kind->send(*queue, data, bytes) : -EINVAL;
}

int smelt_queue_try_receive(smelt_queue* queue, void* data, size_t room, size_t* bytes) {
  if (const int error = check_receiver(queue)) return error;
  return bytes && (data || room == 0) ? queue->kind->try_receive(*queue, data, room, bytes) : -EINVAL;
}

int smelt_queue_receive(smelt_queue* queue, void* data, size_t room, size_t* bytes) {
  if (const int error = check_receiver(queue)) return error;
  return bytes && (data || room == 0) ? queue->kind->receive(*queue, data, room, bytes) : -EINVAL;
}

int smelt_queue_can_send(smelt_queue* queue, size_t bytes) {
  if (const int error = check_sender(queue)) return error;
  return bytes > queue->limit ? -EMSGSIZE : yes_or_no(queue->kind->can_send(*queue, slots_of(bytes)));
}

int smelt_queue_can_receive(smelt_queue* queue) {
  if (const int error = check_receiver(queue)) return error;
  return yes_or_no(queue->kind->can_receive(*queue));
}

int smelt_queue_reserve(smelt_queue* queue, void** payload) {
  if (const int error = check_sender(queue)) return error;
  return payload ? queue->kind->reserve(*queue, payload) : -EINVAL;
}

int smelt_queue_commit(smelt_queue* queue, size_t bytes) {
  if (const int error = check_sender(queue)) return error;
  return queue->kind->commit(*queue, bytes);
}

int smelt_queue_peek(smelt_queue* queue, const void** payload, size_t* bytes) {
  if (const int error = check_receiver(queue)) return error;
  return payload && bytes ? queue->kind->peek(*queue, payload, bytes) : -EINVAL;
}

int smelt_queue_consume(smelt_queue* queue) {
  if (const int error = check_receiver(queue)) return error;
  return queue->kind->consume(*queue);
}
