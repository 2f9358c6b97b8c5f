// Memory that several participants share: threads of a process, or processes, which find it by a ticket.
//
// The memory of processes is a file without a name, which others open through /proc: so there is nothing to clean up
// after a crash. It begins with a Head, and has no addresses in it, so each process may have it elsewhere. Others write
// it too, so each word that decides anything is looked at once, and checked.
//
//   threads    make_for_threads(bytes)                        leave(users): the last one unmaps it
//   processes  make_for_processes(file, bytes) -> ticket      leave()
//              attach(ticket)                                 leave()
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/arch/cpu.h"

namespace smelt::place {

struct Head {
  uint64_t format = 0;  // of the room's, once the rest is there: another layout has another number
  uint64_t name = 0;    // a random number, also in the ticket: a recycled process id is noticed
};

// The words by which a process tells others of it.
struct ObjectTicket {
  uint64_t name;
  int32_t process, descriptor;
  uint64_t bytes;
};
// A room has a type of its own for those, in its C header.
template <typename Ticket>
ObjectTicket ticket_of(const Ticket& ticket) {
  static_assert(sizeof(Ticket) == sizeof(ObjectTicket));
  ObjectTicket told;
  std::memcpy(&told, &ticket, sizeof told);
  return told;
}

// The memory as one participant has it.
struct SharedObject {
  char* memory = nullptr;
  // Whose memory it is: the caller's (0), that of all participants, which the last unmaps, or a mapping of a file.
  size_t mapped = 0;
  int descriptor = -1;   // the creator's, of a file
  bool threads = false;  // of this process: membarrier reaches all of them

  // 0, -ENOMEM; zeroed.
  int make_for_threads(size_t bytes);
  int make_for_processes(const char* file, size_t bytes, ObjectTicket* told);
  // -ENOTSUP: another machine, user or process namespace, or the memory is not the ticket's. `least`: bytes of a head.
  int attach(const ObjectTicket& told, size_t least);
  // It is called when the memory has been written: now the ticket may be given to others.
  template <typename Ticket>
  void issue(const ObjectTicket& told, Ticket* ticket) const {
    static_assert(sizeof *ticket == sizeof told);
    reinterpret_cast<Head*>(memory)->name = told.name;
    std::memcpy(ticket, &told, sizeof told);
  }
  // It is called when nothing has come of it.
  void discard() const;
  // A participant leaves it; `users`, in the memory, counts those that are there.
  void leave(std::atomic<uint32_t>& users) const;
};

constexpr size_t in_lines(size_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

// The i-th T from there on.
template <typename T>
T* within(void* memory, size_t offset, size_t i = 0) {
  return reinterpret_cast<T*>(static_cast<char*>(memory) + offset) + i;
}

}  // namespace smelt::place
