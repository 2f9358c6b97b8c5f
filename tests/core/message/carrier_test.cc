// What the endpoint asks of a carrier, and does for it: over one that answers as the test tells it to. The real one is
// tested with its house (rails/tests/far).
#include "message/carrier.h"

#include <gtest/gtest.h>
#include <smelt/endpoint.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "message/data.h"
#include "processes.h"

namespace smelt::test {
namespace {

using message::Endpoint;
using message::Header;
using message::HeaderKind;
using message::Message;
using message::Request;
using message::Shape;

constexpr uint16_t kMembers = 2;  // on this machine; member 2 is elsewhere

struct Told : message::Carrier {
  explicit Told() { calls_ = &kCalls; }
  static Told& of(Carrier* carrier) { return *static_cast<Told*>(carrier); }
  static const Calls kCalls;

  message::CarrierHost host{};
  std::vector<Request*> sent;
  std::vector<Message*> met;
  int looks = 0;
  bool gone = false, closed = false;
};

const message::Carrier::Calls Told::kCalls = {
    [](Carrier* carrier, Request* request, bool* done) {
      if (of(carrier).gone) return -EPIPE;
      of(carrier).sent.push_back(request);
      if (done) *done = false;
      return 0;
    },
    [](Carrier* carrier, Request*, Message* message) {
      of(carrier).met.push_back(message);
      return false;
    },
    [](Carrier* carrier, bool, bool) { return ++of(carrier).looks == 0; },
    [](const Carrier* carrier, uint16_t) { return static_cast<const Told*>(carrier)->gone; },
    [](Carrier* carrier) { of(carrier).closed = true; }};

message::Carrier* open_told(void* rails, uint32_t, const message::CarrierHost& host, int* error) {
  *error = -ENODEV;
  if (!rails) return nullptr;
  static_cast<Told*>(rails)->host = host;
  return static_cast<Told*>(rails);
}
constexpr smelt_carriage kCarriage = {open_told};

class CarrierTest : public testing::Test {
 protected:
  CarrierTest() : memory_(Shape{kMembers}.bytes()) {
    for (uint16_t i = 0; i < kMembers; ++i) ends_.push_back(open_end(memory_.get(), Shape{kMembers}, i));
    EXPECT_EQ(ends_[0]->carry(kCarriage, &told_, 1), 0);
  }
  Header header(int32_t tag, uint64_t length, HeaderKind kind) const {
    return {match_key(0, kMembers, tag), length, kind, 0, 0, kind == HeaderKind::kLong ? 7u : 0u};
  }

  Told told_;  // outlives the endpoints
  SharedPages memory_;
  std::vector<End> ends_;
};

TEST_F(CarrierTest, SendsElsewhereAreItsOwnAndItEndsThem) {
  const std::string data(100'000, 'x');
  Request send;
  bool done = true;
  ASSERT_EQ(ends_[0]->send(&send, kMembers, 0, 1, data.data(), data.size(), false, &done), 0);
  ASSERT_EQ(told_.sent, std::vector<Request*>{&send});
  EXPECT_FALSE(done || ends_[0]->test(&send));
  char part[16];
  told_.host.fetch(&send, data.size() - sizeof part, part, sizeof part);
  EXPECT_EQ(std::string(part, sizeof part), std::string(sizeof part, 'x'));
  told_.host.finish(told_.host.endpoint, &send);
  EXPECT_TRUE(ends_[0]->test(&send));
  EXPECT_EQ(ends_[0]->send(&send, kMembers + 1, 0, 1, data.data(), 1), -EINVAL) << "there is no such member";
}

TEST_F(CarrierTest, MessagesFromElsewhereComeInOneOrderWithTheOthers) {
  ASSERT_EQ(told_.host.near, kMembers);
  for (const char* text : {"far 1", "near", "far 2"}) {
    if (text[0] == 'n') {
      EXPECT_TRUE(ends_[1]->send_now(0, 0, 1, text, 6));
      EXPECT_TRUE(ends_[0]->progress());
    } else {
      EXPECT_TRUE(told_.host.take_message(told_.host.endpoint, kMembers, header(1, 6, HeaderKind::kInline), text));
    }
  }
  for (const char* text : {"far 1", "near", "far 2"}) {
    char in[8] = "";
    Request receive;
    EXPECT_EQ(ends_[0]->receive(&receive, -1, 0, 0, true, in, sizeof in), 0);
    EXPECT_EQ(ends_[0]->wait(&receive), 0);
    EXPECT_STREQ(in, text);
    EXPECT_EQ(receive.peer, text[0] == 'n' ? 1 : kMembers);
  }
}

TEST_F(CarrierTest, AnAnnouncedMessageIsItsWhenItHasMetItsReceive) {
  EXPECT_TRUE(told_.host.take_message(told_.host.endpoint, kMembers, header(3, 100'000, HeaderKind::kLong), nullptr));
  EXPECT_TRUE(told_.met.empty());
  char in[8];
  Request receive;
  EXPECT_EQ(ends_[0]->receive(&receive, kMembers, 0, 3, false, in, sizeof in), 0);
  ASSERT_EQ(told_.met.size(), 1u);
  EXPECT_EQ(told_.met[0]->header.answer, 7u);
  EXPECT_FALSE(ends_[0]->test(&receive));
  told_.host.free_message(told_.host.endpoint, told_.met[0]);
  told_.host.finish(told_.host.endpoint, &receive);
  EXPECT_TRUE(ends_[0]->test(&receive));
}

TEST_F(CarrierTest, IsLookedAtAndSaysWhoIsGone) {
  const int before = told_.looks;
  ends_[0]->progress();
  EXPECT_GT(told_.looks, before);
  EXPECT_FALSE(ends_[0]->is_lost(kMembers));
  told_.gone = true;
  told_.host.note_gone(told_.host.endpoint);
  EXPECT_TRUE(ends_[0]->is_lost(kMembers));
}

TEST_F(CarrierTest, IsClosedWithTheEndpointAndRefusedWhereItDoesNotFit) {
  Told other;
  EXPECT_EQ(ends_[1]->carry(kCarriage, &other, 0), -EINVAL) << "nobody";
  EXPECT_EQ(ends_[1]->carry(kCarriage, &other, UINT16_MAX), -EINVAL) << "more than there are numbers";
  EXPECT_EQ(ends_[1]->carry(kCarriage, nullptr, 1), -ENODEV) << "its own error";
  EXPECT_EQ(ends_[0]->carry(kCarriage, &other, 1), -EINVAL) << "there is one";
  ends_.clear();
  EXPECT_TRUE(told_.closed);
  EXPECT_FALSE(other.closed);
}

// Both sides know the same structures, so both must be of one version.
TEST(CarrierVersion, AnotherIsRefused) {
  smelt_endpoint_ticket ticket;
  smelt_endpoint* endpoint = nullptr;
  ASSERT_EQ(smelt_endpoint_offer(1, &ticket, &endpoint), 0);
  Told told;
  smelt_endpoint_carrier carrier{};
  carrier.version = "0.0", carrier.carriage = &kCarriage;
  EXPECT_EQ(smelt_endpoint_carry(endpoint, &carrier, &told, 1), -EPROTO);
  carrier.version = smelt_version();
  EXPECT_EQ(smelt_endpoint_carry(endpoint, &carrier, &told, 1), 0);
  smelt_endpoint_leave(endpoint, 1);
  EXPECT_TRUE(told.closed);
}

}  // namespace
}  // namespace smelt::test
