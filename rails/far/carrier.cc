// The carrier of an endpoint's messages (message/carrier.h): Far over rails of this library.
#include <smelt/endpoint.h>
#include <smelt/rail.h>

#include "rails/far/far.h"
#include "smelt_config.h"

namespace smelt::message {
namespace {

smelt_rails* rails_of(void* rails) { return static_cast<smelt_rails*>(rails); }

Carrier* open_far(void* rails, uint32_t peers, const CarrierHost& host, int* error) {
  const FarRails below = {rails_of(rails), peers,           smelt_rail_send,  smelt_rail_receive,
                          smelt_rail_test, smelt_rail_look, smelt_rails_close};
  return Far::open(below, host, error);
}

constexpr smelt_carriage kCarriage = {open_far};

void move_rails(void* rails) {
  static smelt_rail_request nobodys;
  (void)smelt_rail_test(rails_of(rails), &nobodys, nullptr);
}

constexpr smelt_endpoint_carrier kCarrier = {
    SMELT_VERSION,
    [](const char* profile, void** rails) {
      return smelt_rails_open(profile, nullptr, reinterpret_cast<smelt_rails**>(rails));
    },
    [](const void* rails, void* address, size_t* bytes) {
      return smelt_rails_address(static_cast<const smelt_rails*>(rails), address, bytes);
    },
    [](void* rails, const void* address, size_t bytes, uint32_t* peer) {
      return smelt_rails_connect(rails_of(rails), address, bytes, peer);
    },
    [](void* rails, uint32_t peer) { return smelt_rail_predict(rails_of(rails), peer, 1) < 0 ? 0 : 1; },
    move_rails,
    [](void* rails) { smelt_rails_close(rails_of(rails)); },
    &kCarriage};

static_assert(int{SMELT_CARRIER_ADDRESS} == int{SMELT_RAIL_ADDRESS});
static_assert(int{SMELT_CARRIER_PEERS} == int{SMELT_RAIL_PEERS});

}  // namespace
}  // namespace smelt::message

const smelt_endpoint_carrier* smelt_rail_carrier() { return &smelt::message::kCarrier; }
