// See server.h for the numbered steps.
#include "kvstore/server.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace kvstore {

Server::Server(Links links)
    : table_(links.keys),
      links_(std::move(links)),
      me_(links_.agreement.id()),
      clients_(links_.clients.size()),
      message_(sizeof(Request) + kMaxValueBytes),
      seen_(links_.members.size()) {
  links_.agreement.on_apply([this](uint64_t index, const onepaxos::Command& command) { apply(index, command); });
}

bool Server::step() {
  bool busy = learn();
  if (stopped()) return false;
  if (const uint64_t applied = links_.agreement.length(); applied != published_)
    links_.members.publish(me_, published_ = applied);
  if (links_.members.is_excluded(me_)) {
    serves_from_ = come_back();
    returning_ = true;
  }
  if (returning_ && published_ >= serves_from_) {
    returning_ = false;
    ++served_.returned;
    for (Client& client : clients_)
      if (client.phase == Client::Phase::kReady && client.request.operation == Operation::kGet) look_up(client);
  }
  for (unsigned client = 0; client < clients_.size(); ++client) {
    busy |= receive(client);
    if (clients_[client].phase == Client::Phase::kAgreeing) busy |= submit(client);
    if (clients_[client].phase == Client::Phase::kReady && !returning_) busy |= send(client);
  }
  if (ready_ != 0 && !returning_)
    watch();
  else
    watching_ = false;
  return busy;
}

bool Server::learn() { return links_.agreement.poll(); }

// Step 2.
void Server::apply(uint64_t index, const onepaxos::Command& command) {
  Fragment fragment;
  std::memcpy(&fragment, command.data, sizeof fragment);
  gather(command.client, command.sequence - fragment.offset / Fragment::kRoom, fragment, index + 1);
}

void Server::gather(unsigned client, uint64_t first, const Fragment& fragment, uint64_t position) {
  Client& of = clients_[client];
  Gathering& gathering = of.gathering;
  if (gathering.first != first) {
    gathering.first = first;
    gathering.missing = Fragment::count(fragment.total);
    gathering.value.resize(fragment.total);
    gathering.have.assign(gathering.missing, false);
  }
  gathering.have[fragment.offset / Fragment::kRoom] = true;
  const size_t bytes = std::min<size_t>(Fragment::kRoom, fragment.total - fragment.offset);
  std::copy_n(fragment.data, bytes, gathering.value.begin() + fragment.offset);
  if (--gathering.missing != 0) return;
  take_effect(fragment.key, gathering.value, position);
  of.done_first = first;
  of.done_position = position;
}

void Server::take_effect(uint64_t key, Bytes value, uint64_t position) { table_.set(key, value, position); }

// What a client asks. A request of which the answer has not left is forgotten: the client has gone elsewhere with it,
// and comes with another, or with the same one again.
bool Server::receive(unsigned number) {
  Client& client = clients_[number];
  size_t bytes = 0;
  if (smelt_queue_try_receive(links_.clients[number].get(), message_.data(), message_.size(), &bytes) != 0)
    return false;
  if (client.phase == Client::Phase::kReady) --ready_;
  std::memcpy(&client.request, message_.data(), sizeof client.request);
  client.waited = false;
  if (client.request.operation == Operation::kGet) {
    client.phase = Client::Phase::kReady;
    ++ready_;
    look_up(client);
  } else {
    client.phase = Client::Phase::kAgreeing;
    client.value.assign(message_.begin() + sizeof client.request, message_.begin() + bytes);
    client.next = client.base = client.request.first;
  }
  return true;
}

// Step 3. The value is taken now, before later sets of the key: if they are committed first, the get still lies before
// them, for it was asked before they could be.
void Server::look_up(Client& client) {
  const Table::Entry* entry = table_.find(client.request.key);
  const Bytes value = entry ? entry->value() : Bytes{};
  const Answer answer{client.request.number, static_cast<uint32_t>(value.size()), entry ? 1u : 0u};
  client.answer.resize(sizeof answer + value.size());
  std::memcpy(client.answer.data(), &answer, sizeof answer);
  std::ranges::copy(value, client.answer.begin() + sizeof answer);
  client.position = entry ? entry->position : 0;
}

bool Server::has_fragment(const Client& client, uint64_t fragment) const {
  const Gathering& gathering = client.gathering;
  return client.done_first >= client.request.first ||
         (gathering.first == client.request.first && gathering.have[fragment - gathering.first]);
}

// Step 1, as far as commands may be outstanding. A set that has taken effect is ready.
bool Server::submit(unsigned number) {
  Client& client = clients_[number];
  const Request& request = client.request;
  if (client.done_first >= request.first) {
    const Answer answer{request.number, 0, 1};
    client.answer.resize(sizeof answer);
    std::memcpy(client.answer.data(), &answer, sizeof answer);
    client.position = client.done_position;
    client.phase = Client::Phase::kReady;
    ++ready_;
    return true;
  }
  const uint64_t end = request.first + Fragment::count(request.bytes), before = client.next;
  while (client.base < end && has_fragment(client, client.base)) ++client.base;
  client.next = std::max(client.next, client.base);
  for (; client.next < end && client.next < client.base + onepaxos::kOutstanding; ++client.next) {
    if (has_fragment(client, client.next)) continue;
    const uint64_t offset = (client.next - request.first) * Fragment::kRoom;
    Fragment fragment{request.key, request.bytes, static_cast<uint32_t>(offset), {}};
    std::copy_n(client.value.begin() + offset, std::min<size_t>(Fragment::kRoom, request.bytes - offset),
                fragment.data);
    onepaxos::Command command;
    command.sequence = client.next;
    command.client = static_cast<uint16_t>(number);
    command.bytes = sizeof fragment;
    std::memcpy(command.data, &fragment, sizeof fragment);
    if (!links_.agreement.submit(command)) break;
  }
  return client.next != before;
}

// Step 4.
bool Server::may_leave(Operation, uint64_t position) {
  if (position > committed_) {
    committed_ = std::max(committed_, links_.members.view().committed);
    if (position > committed_) return false;
  }
  return !links_.members.is_excluded(me_);  // the last look
}

bool Server::send(unsigned number) {
  Client& client = clients_[number];
  const bool is_get = client.request.operation == Operation::kGet;
  if (!may_leave(client.request.operation, client.position) ||
      smelt_queue_try_send(links_.clients[number].get(), client.answer.data(), client.answer.size()) != 0) {
    if (is_get && !client.waited) ++served_.waited;
    client.waited = true;
    return false;
  }
  ++(is_get ? served_.gets : served_.sets);
  client.phase = Client::Phase::kIdle;
  --ready_;
  return true;
}

// Step 5. Only who is behind, and has not moved since this replica began to wait, or since it last moved.
void Server::watch() {
  const Clock::time_point now = Clock::now();
  for (unsigned other = 0; other < seen_.size(); ++other) {
    const uint64_t applied = links_.members.applied(other);
    Seen& seen = seen_[other];
    if (!watching_ || other == me_ || applied >= published_ || applied != seen.applied)
      seen = {applied, now};
    else if (now - seen.since > links_.patience && links_.members.exclude(me_, other))
      ++served_.excluded;
  }
  watching_ = true;
}

uint64_t Server::come_back() { return links_.members.return_of(me_); }

}  // namespace kvstore
