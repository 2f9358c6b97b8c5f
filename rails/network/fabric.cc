// libfabric, opened only when a network is sampled: the program does not need it for anything else, and loading it
// loads the libraries of every kind of network there is. Four functions of it are symbols; all others go by its
// objects.
#include "rails/network/fabric.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <sys/uio.h>

#include <cstring>
#include <deque>

#include "profile/text/error.h"
#include "rails/rail/rail.h"

namespace smelt {
namespace {

struct Library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
  decltype(&::fi_version) version = nullptr;
};

const Library& library() {
  static const Library loaded = [] {
    void* handle = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      throw UserError(fmt::format("libfabric, by which networks are sampled, is not here ({})", ::dlerror()));
    Library found;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(handle, name));
      if (!function) throw UserError(fmt::format("libfabric has no {}", name));
    };
    find(found.getinfo, "fi_getinfo");
    find(found.freeinfo, "fi_freeinfo");
    find(found.dupinfo, "fi_dupinfo");
    find(found.fabric, "fi_fabric");
    find(found.strerror, "fi_strerror");
    find(found.version, "fi_version");
    return found;
  }();
  return loaded;
}

void check(ssize_t result, const char* what) {
  if (result < 0)
    throw UserError(fmt::format("libfabric: {} ({})", what, library().strerror(static_cast<int>(-result))));
}

template <typename Object>
struct CloseObject {
  void operator()(Object* object) const { ::fi_close(&object->fid); }
};
template <typename Object>
using Owned = std::unique_ptr<Object, CloseObject<Object>>;

struct FreeInfo {
  void operator()(fi_info* info) const { library().freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

bool is_at(const fi_info& info, const std::string& address) {
  if (!info.src_addr || info.src_addrlen < sizeof(sockaddr_in)) return false;
  sockaddr_in at{};
  std::memcpy(&at, info.src_addr, sizeof at);
  char text[INET_ADDRSTRLEN];
  return at.sin_family == AF_INET && ::inet_ntop(AF_INET, &at.sin_addr, text, sizeof text) && address == text;
}

class Port final : public FabricPort {
 public:
  Port(const std::string& address, size_t largest, std::function<void()> idle) : idle_(std::move(idle)) {
    find(address, largest);
    fid_fabric* fabric = nullptr;
    check(library().fabric(info_->fabric_attr, &fabric, nullptr), "no fabric");
    fabric_.reset(fabric);
    fid_domain* domain = nullptr;
    check(::fi_domain(fabric, info_.get(), &domain, nullptr), "no domain");
    domain_.reset(domain);
    fi_cq_attr queue{};
    queue.format = FI_CQ_FORMAT_MSG;
    fid_cq* sent = nullptr;
    check(::fi_cq_open(domain, &queue, &sent, nullptr), "no completion queue");
    sent_.reset(sent);
    fid_cq* received = nullptr;
    check(::fi_cq_open(domain, &queue, &received, nullptr), "no completion queue");
    received_.reset(received);
    fi_av_attr vector{};
    vector.type = FI_AV_TABLE;
    fid_av* addresses = nullptr;
    check(::fi_av_open(domain, &vector, &addresses, nullptr), "no address vector");
    addresses_.reset(addresses);
    fid_ep* endpoint = nullptr;
    check(::fi_endpoint(domain, info_.get(), &endpoint, nullptr), "no endpoint");
    endpoint_.reset(endpoint);
    check(::fi_ep_bind(endpoint, &sent->fid, FI_TRANSMIT), "no queue for what was sent");
    check(::fi_ep_bind(endpoint, &received->fid, FI_RECV), "no queue for what was received");
    check(::fi_ep_bind(endpoint, &addresses->fid, 0), "no addresses");
    check(::fi_enable(endpoint), "the endpoint cannot be enabled");
  }

  std::string provider() const override { return info_->fabric_attr->prov_name; }

  std::string name() const override {
    char text[256];
    size_t bytes = sizeof text;
    check(::fi_getname(&endpoint_->fid, text, &bytes), "the endpoint has no name");
    return {text, bytes};
  }

  void connect(const std::string& peer_name) override {
    sockaddr_in at{};  // the part that the provider will read
    if (peer_name.size() < sizeof at) throw UserError("the peer's address is no address");
    std::memcpy(&at, peer_name.data(), sizeof at);
    if (at.sin_family != AF_INET) throw UserError("the peer's address is no address");
    if (::fi_av_insert(addresses_.get(), peer_name.data(), 1, &peer_, 0, nullptr) != 1)
      throw UserError("libfabric does not take the peer's address");
  }

  void post_receive(void* buffer, size_t bytes) override {
    again([&] { return ::fi_recv(endpoint_.get(), buffer, bytes, nullptr, peer_, nullptr); }, "cannot receive");
  }

  void send(const void* data, size_t bytes) override {
    again([&] { return ::fi_send(endpoint_.get(), data, bytes, nullptr, peer_, nullptr); }, "cannot send");
    ++under_way_;
  }

  void send_pieces(const void* first, const void* second, size_t bytes_each) override {
    const iovec pieces[2] = {{const_cast<void*>(first), bytes_each}, {const_cast<void*>(second), bytes_each}};
    again([&] { return ::fi_sendv(endpoint_.get(), pieces, nullptr, 2, peer_, nullptr); }, "cannot send two pieces");
    ++under_way_;
  }

  void wait_received() override {
    for (uint32_t turn = 0; arrived_ == 0; ++turn) poll(turn);
    --arrived_;
  }

  void wait_sent() override {
    for (uint32_t turn = 0; under_way_ > 0; ++turn) poll(turn);
  }

  void progress() override { poll(0); }

 private:
  void find(const std::string& address, size_t largest) {
    std::string why = "none";
    for (const char* provider : kRailProviders) {
      const Info hints(library().dupinfo(nullptr));
      if (!hints) throw UserError("out of memory for libfabric");
      hints->ep_attr->type = FI_EP_RDM;
      hints->caps = FI_MSG;
      hints->addr_format = FI_SOCKADDR_IN;
      hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
      hints->fabric_attr->prov_name = ::strdup(provider);
      fi_info* found = nullptr;
      const int error = library().getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), address.c_str(), nullptr,
                                          FI_SOURCE, hints.get(), &found);
      if (error != 0) {
        why = library().strerror(-error);
        continue;
      }
      const Info all(found);
      // A hint is a hint: an endpoint bound to another interface would be sampled in this one's name.
      for (const fi_info* info = found; info; info = info->next)
        if (is_at(*info, address) && info->tx_attr->iov_limit >= 2 && info->ep_attr->max_msg_size >= largest) {
          info_.reset(library().dupinfo(info));
          if (!info_) throw UserError("out of memory for libfabric");
          return;
        }
    }
    throw UserError(fmt::format("libfabric has no endpoint at {} ({})", address, why));
  }

  // A full queue empties itself while completions are read.
  template <typename Call>
  void again(Call call, const char* what) {
    ssize_t result;
    for (uint32_t turn = 0; (result = call()) == -FI_EAGAIN; ++turn) poll(turn);
    check(result, what);
  }

  uint32_t completed(fid_cq* queue) {
    fi_cq_msg_entry entries[8];
    const ssize_t count = ::fi_cq_read(queue, entries, 8);
    if (count > 0) return static_cast<uint32_t>(count);
    if (count == -FI_EAGAIN) return 0;
    fi_cq_err_entry error{};
    if (count == -FI_EAVAIL && ::fi_cq_readerr(queue, &error, 0) > 0)
      throw UserError(fmt::format("the rail failed ({})", library().strerror(error.err)));
    check(count, "the rail failed");
    return 0;
  }

  void poll(uint32_t turn) {
    under_way_ -= completed(sent_.get());
    arrived_ += completed(received_.get());
    if (turn % 64 == 63) ::sched_yield();  // on the same CPUs, the peer must come to its turn
    if (turn % 1024 == 1023) idle_();
  }

  const std::function<void()> idle_;
  // Closed in the other order.
  Info info_;
  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;
  Owned<fid_cq> sent_, received_;
  Owned<fid_av> addresses_;
  Owned<fid_ep> endpoint_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  uint64_t under_way_ = 0, arrived_ = 0;
};

}  // namespace

std::unique_ptr<FabricPort> open_fabric_port(const std::string& local_address, size_t largest,
                                             std::function<void()> idle) {
  return std::make_unique<Port>(local_address, largest, std::move(idle));
}

std::string fabric_library() {
  const uint32_t version = library().version();
  return fmt::format("libfabric {}.{}", FI_MAJOR(version), FI_MINOR(version));
}

}  // namespace smelt
