// Ping-pongs over a rail (rounds.h).
#include "rails/network/rounds.h"

#include <algorithm>
#include <cstring>

#include "base/os/os.h"

namespace smelt {
namespace {

constexpr size_t kNote = 16;      // bytes: an announcement, an answer to one
constexpr uint32_t kPosted = 64;  // packets at most: libfabric's own queue is not longer everywhere

double now_in_us() { return static_cast<double>(os::now_ns()) * 1e-3; }

uint32_t messages_of(RailMethod method) { return method == kRailPair ? 2 : 1; }

}  // namespace

Rounds::Rounds(std::unique_ptr<FabricPort> port)
    : data_(kLongestRailSample),
      here_(2 * kLongestRailSample),
      there_(2 * kLongestRailSample),
      note_(kNote),
      noted_(kNote),
      port_(std::move(port)) {}

void Rounds::prepare(RailMethod method, size_t bytes) {
  if (method == kRailRendezvous)
    port_->post_receive(noted_.data(), kNote);
  else
    expect_packets(method, bytes);
}

// One message there; prepare() was called, and is again for the answer.
void Rounds::send(RailMethod method, size_t bytes) {
  for (uint32_t message = 0; message < messages_of(method); ++message)
    for (size_t at = 0, now; at < bytes; at += now) {
      now = std::min<size_t>(bytes - at, kRailPacket);
      if (method == kRailGathered)
        port_->send_pieces(&data_[at / 2], &data_[kLongestRailSample / 2 + at / 2], now / 2);
      else
        port_->send(&data_[at], now);
    }
}

void Rounds::ask_and_send(size_t bytes, bool more) {
  port_->post_receive(noted_.data(), kNote);  // the answer
  port_->send(note_.data(), kNote);
  port_->wait_received();
  if (more) port_->post_receive(noted_.data(), kNote);  // the next announcement
  port_->send(data_.data(), bytes);
}

void Rounds::receive(RailMethod method, size_t bytes) {
  if (method == kRailRendezvous) {
    port_->wait_received();
    port_->post_receive(there_.data(), bytes);
    port_->send(note_.data(), kNote);
    port_->wait_received();
    return;
  }
  // From where it arrived to where it belongs.
  for (size_t taken = 0, now; taken < expected_; taken += now) {
    now = packet_at(taken);
    port_->wait_received();
    std::memcpy(&there_[taken], &here_[taken], now);
    if (posted_ < expected_) post_packet();
  }
}

std::vector<double> Rounds::measure(RailMethod method, size_t bytes, uint32_t rounds) {
  std::vector<double> times;
  for (uint32_t i = 0; i <= rounds; ++i) {
    if (method != kRailRendezvous) expect_packets(method, bytes);
    const double begin = now_in_us();
    if (method == kRailRendezvous)
      ask_and_send(bytes, true);
    else
      send(method, bytes);
    receive(method, bytes);
    if (i > 0) times.push_back((now_in_us() - begin) / 2);
    port_->wait_sent();
  }
  return times;
}

void Rounds::answer(RailMethod method, size_t bytes, uint32_t rounds) {
  for (uint32_t i = 0; i <= rounds; ++i) {
    receive(method, bytes);
    const bool more = i < rounds;
    if (method == kRailRendezvous) {
      ask_and_send(bytes, more);
    } else {
      if (more) expect_packets(method, bytes);
      send(method, bytes);
    }
    port_->wait_sent();
  }
}

// The next message, or two, comes in packets.
void Rounds::expect_packets(RailMethod method, size_t bytes) {
  each_ = bytes, expected_ = messages_of(method) * bytes, posted_ = 0;
  for (uint32_t i = 0; i < kPosted && posted_ < expected_; ++i) post_packet();
}

size_t Rounds::packet_at(size_t offset) const { return std::min<size_t>(each_ - offset % each_, kRailPacket); }

void Rounds::post_packet() {
  const size_t bytes = packet_at(posted_);
  port_->post_receive(&here_[posted_], bytes);
  posted_ += bytes;
}

}  // namespace smelt
