#include "library/place/object.h"

#include <cerrno>

#include "base/os/os.h"
#include "base/os/shared_memory.h"

namespace smelt::place {

int SharedObject::make_for_threads(size_t bytes) {
  memory = static_cast<char*>(os::map_pages(bytes));
  if (!memory) return -ENOMEM;
  mapped = bytes;
  threads = true;
  return 0;
}

int SharedObject::make_for_processes(const char* file, size_t bytes, ObjectTicket* told) {
  descriptor = os::create_memory_file(file, bytes);
  if (descriptor < 0) return -ENOMEM;
  // Its pages now, so that a full machine is an error here and not a signal later.
  if (os::take_pages(descriptor, 0, bytes) == 0) memory = static_cast<char*>(os::map_file(descriptor, bytes));
  if (!memory) {
    os::close_file(descriptor);
    return -ENOMEM;
  }
  mapped = bytes;
  *told = {os::random_number(), os::process_id(), descriptor, bytes};
  return 0;
}

int SharedObject::attach(const ObjectTicket& told, size_t least) {
  const int file = os::open_memory_file(told.process, told.descriptor, told.bytes);
  if (file < 0) return -ENOTSUP;
  if (told.bytes >= least) memory = static_cast<char*>(os::map_file(file, told.bytes));
  os::close_file(file);
  if (!memory) return -ENOTSUP;
  mapped = told.bytes;
  if (reinterpret_cast<const Head*>(memory)->name == told.name) return 0;
  discard();
  return -ENOTSUP;
}

void SharedObject::discard() const {
  if (mapped != 0) os::unmap_pages(memory, mapped);
  if (descriptor >= 0) os::close_file(descriptor);
}

void SharedObject::leave(std::atomic<uint32_t>& users) const {
  // acq_rel: the last of the threads unmaps memory that all of them have left.
  const bool last = users.fetch_sub(1, std::memory_order_acq_rel) == 1;
  if (threads && !last) return;
  discard();
}

}  // namespace smelt::place
