// Where Smelt was built without libfabric's headers.
#include "network/fabric.h"
#include "profile/text/error.h"

namespace smelt {
namespace {
constexpr const char* kMissing = "this smelt was built without libfabric, by which networks are sampled";
}

std::unique_ptr<FabricPort> open_fabric_port(const std::string&, size_t, std::function<void()>) {
  throw UserError(kMissing);
}
std::string fabric_library() { throw UserError(kMissing); }
bool has_fabric() { return false; }

}  // namespace smelt
