// Four functions of libfabric are symbols; all others go by its objects.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "base/os/os.h"
#include "rails/ofi/packet.h"
#include "rails/ofi/port.h"

namespace smelt::rail_ofi {
namespace {

struct Library {
  decltype(&::fi_getinfo) getinfo;
  decltype(&::fi_freeinfo) freeinfo;
  decltype(&::fi_dupinfo) dupinfo;
  decltype(&::fi_fabric) fabric;
  bool complete;
};
Library library;
pthread_once_t library_once = PTHREAD_ONCE_INIT;  // it stays; threads may open rails of their own at the same time

void load_library() {
  void* handle = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return;
  const auto find = [handle](auto* function, const char* name) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(::dlsym(handle, name));
    return *function != nullptr;
  };
  library.complete = find(&library.getinfo, "fi_getinfo") && find(&library.freeinfo, "fi_freeinfo") &&
                     find(&library.dupinfo, "fi_dupinfo") && find(&library.fabric, "fi_fabric");
}

constexpr size_t kEvents = 8192;  // of a completion queue: more than packets under way

bool is_at(const fi_info& info, const char* address) {
  if (!info.src_addr || info.src_addrlen < sizeof(sockaddr_in)) return false;
  sockaddr_in at{};
  std::memcpy(&at, info.src_addr, sizeof at);
  char text[INET_ADDRSTRLEN];
  return at.sin_family == AF_INET && ::inet_ntop(AF_INET, &at.sin_addr, text, sizeof text) &&
         std::strcmp(text, address) == 0;
}

template <typename Object>
void close_object(Object** object) {
  if (*object) ::fi_close(&(*object)->fid);
  *object = nullptr;
}

}  // namespace

int Port::find(const char* address, const char* sampled) {
  if (const int error = find_at(address, sampled); error != -ENODEV) return error;
  int error = -ENODEV;
  for (const char* provider : kRailProviders)
    if (error == -ENODEV) error = find_at(address, provider);
  return error;
}

int Port::find_at(const char* address, const char* provider) {
  fi_info* hints = library.dupinfo(nullptr);
  if (!hints) return -ENOMEM;
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG;
  hints->addr_format = FI_SOCKADDR_IN;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->fabric_attr->prov_name = ::strdup(provider);
  fi_info* found = nullptr;
  const int error =
      library.getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), address, nullptr, FI_SOURCE, hints, &found);
  library.freeinfo(hints);
  if (error != 0) return -ENODEV;
  // A hint is a hint: an endpoint bound to another interface would be used in this one's name.
  for (const fi_info* info = found; info && !info_; info = info->next)
    if (is_at(*info, address) && info->ep_attr->max_msg_size >= kPacketBytes) info_ = library.dupinfo(info);
  library.freeinfo(found);
  return info_ ? 0 : -ENODEV;
}

int64_t Port::now() { return os::now_ns(); }

int Port::open(const char* address, const char* sampled) {
  ::pthread_once(&library_once, load_library);
  if (!library.complete) return -ENOSYS;
  if (const int error = find(address, sampled)) return error;
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_MSG;
  queue.size = kEvents;
  fi_av_attr vector{};
  vector.type = FI_AV_TABLE;
  const bool opened = library.fabric(info_->fabric_attr, &fabric_, nullptr) == 0 &&
                      ::fi_domain(fabric_, info_, &domain_, nullptr) == 0 &&
                      ::fi_cq_open(domain_, &queue, &queue_, nullptr) == 0 &&
                      ::fi_av_open(domain_, &vector, &addresses_, nullptr) == 0 &&
                      ::fi_endpoint(domain_, info_, &endpoint_, nullptr) == 0 &&
                      ::fi_ep_bind(endpoint_, &queue_->fid, FI_TRANSMIT | FI_RECV) == 0 &&
                      ::fi_ep_bind(endpoint_, &addresses_->fid, 0) == 0 && ::fi_enable(endpoint_) == 0;
  if (opened) return 0;
  close();
  return -ENODEV;
}

void Port::close() {
  close_object(&endpoint_);
  close_object(&addresses_);
  close_object(&queue_);
  close_object(&domain_);
  close_object(&fabric_);
  if (info_) library.freeinfo(info_);
  info_ = nullptr;
}

int Port::name(void* text, size_t* bytes) const { return ::fi_getname(&endpoint_->fid, text, bytes) == 0 ? 0 : -EIO; }

int Port::insert(const void* peer_name, size_t bytes, uint64_t* peer) {
  sockaddr_in at{};  // the part that the provider will read
  if (bytes < sizeof at) return -EINVAL;
  std::memcpy(&at, peer_name, sizeof at);
  if (at.sin_family != AF_INET) return -EINVAL;
  fi_addr_t address = FI_ADDR_UNSPEC;
  if (::fi_av_insert(addresses_, peer_name, 1, &address, 0, nullptr) != 1) return -EINVAL;
  *peer = address;
  return 0;
}

int Port::send(const void* data, size_t bytes, uint64_t peer, void* context) {
  return static_cast<int>(::fi_send(endpoint_, data, bytes, nullptr, peer, context));
}

int Port::receive(void* buffer, size_t bytes, void* context) {
  return static_cast<int>(::fi_recv(endpoint_, buffer, bytes, nullptr, FI_ADDR_UNSPEC, context));
}

uint32_t Port::poll(Event* events, uint32_t room) {
  constexpr uint32_t kMost = 16;  // as many as progress() asks for
  fi_cq_msg_entry entries[kMost];
  const ssize_t count = ::fi_cq_read(queue_, entries, room < kMost ? room : kMost);
  if (count > 0) {
    for (ssize_t i = 0; i < count; ++i) events[i] = {entries[i].op_context, static_cast<uint32_t>(entries[i].len), 0};
    return static_cast<uint32_t>(count);
  }
  fi_cq_err_entry failed{};
  if (count != -FI_EAVAIL || ::fi_cq_readerr(queue_, &failed, 0) != 1) return 0;
  events[0] = {failed.op_context, 0, failed.err ? failed.err : EIO};
  return 1;
}

}  // namespace smelt::rail_ofi
