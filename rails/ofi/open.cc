// Opening the rails of a profile, connecting peers, and the end.
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "base/os/os.h"
#include "profile/profile.h"
#include "rails/ofi/rails.h"

namespace smelt::rail_ofi {
namespace {

constexpr uint32_t kDefaultPatienceMs = 60'000;  // smelt_rail_options: a minute

int read_file(const char* path, PackedNetwork* network) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT || errno == ENOTDIR ? -ENOENT : errno == ELOOP ? -EBADMSG : -errno;
  struct stat status {};
  int error = 0;
  size_t done = 0;
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || (status.st_mode & 022) != 0 ||
      (status.st_uid != 0 && status.st_uid != ::geteuid()) || status.st_size != sizeof *network)
    error = -EBADMSG;
  while (error == 0 && done < sizeof *network) {
    const ssize_t got = ::read(fd, reinterpret_cast<char*>(network) + done, sizeof *network - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) error = -EBADMSG;  // it became shorter
    done += got > 0 ? static_cast<size_t>(got) : 0;
  }
  ::close(fd);
  return error ? error : network_fault(network, sizeof *network) ? -EBADMSG : 0;
}

int usual_path(char* path, size_t room) {
  constexpr char kEnding[] = ".profile", kOurs[] = ".network";
  if (const int error = user_profile_path(path, room)) return error == -ENAMETOOLONG ? error : -ENOENT;
  const size_t length = std::strlen(path);
  if (length < sizeof kEnding) return -ENOENT;
  std::memcpy(path + length - (sizeof kEnding - 1), kOurs, sizeof kOurs);
  return 0;
}

struct Place {
  uint32_t host, mask;
};

// The interface's address now, which may not be the one with which it was sampled. An address that no interface has
// under its own name is an alias (127.0.1.1): a network of 256.
bool find_place(const ifaddrs* all, const PackedRail& rail, Place* place) {
  in_addr sampled{};
  if (::inet_pton(AF_INET, rail.local, &sampled) != 1) return false;
  const ifaddrs* best = nullptr;
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET || !one->ifa_netmask) continue;
    if (std::strcmp(one->ifa_name, rail.interface) != 0) continue;
    sockaddr_in at{}, mask{};
    std::memcpy(&at, one->ifa_addr, sizeof at);
    std::memcpy(&mask, one->ifa_netmask, sizeof mask);
    const bool same = at.sin_addr.s_addr == sampled.s_addr;
    if (best && !same) continue;
    best = one;
    *place = {ntohl(at.sin_addr.s_addr), ntohl(mask.sin_addr.s_addr)};
    if (same) return true;
  }
  if (best && ntohl(sampled.s_addr) >> 24 == 127) *place = {ntohl(sampled.s_addr), 0xffffff00};
  return best != nullptr;
}

int open_rails(smelt_rails& rails) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return -ENODEV;
  char forgets = '1';
  os::read_small_file("/proc/sys/net/ipv4/tcp_slow_start_after_idle", &forgets, 1);
  rails.forgets = forgets != '0';
  uint32_t opened = 0;
  int why = -ENODEV;
  for (uint32_t r = 0; r < rails.profile.rails; ++r) {
    OneRail& rail = rails.rail[r];
    AddressRail& there = rails.address.rail[r];
    rail.curve = transfer_curve(rails.profile.rail[r].rail);
    const double bandwidth = rail_bandwidth(rail.curve);
    const uint32_t last = rail.curve.count - 1;
    rail.per_byte = bandwidth > 0 ? 1 / bandwidth : rail.curve.us[last] / static_cast<double>(rail.curve.bytes[last]);
    rail.holds = 2 * rail.curve.us[0] / rail.per_byte;
    Place place{};
    if (!find_place(all, rails.profile.rail[r], &place)) continue;
    char text[INET_ADDRSTRLEN];
    const in_addr in{htonl(place.host)};
    const int error = rail.port.open(::inet_ntop(AF_INET, &in, text, sizeof text), rails.profile.rail[r].provider);
    if (error == -ENOSYS || error == -ENOMEM) why = error;
    if (error != 0) continue;
    size_t bytes = sizeof there.name;
    if (rail.port.name(there.name, &bytes) != 0 || bytes > sizeof there.name) {
      rail.port.close();
      continue;
    }
    there.name_bytes = static_cast<uint32_t>(bytes);
    there.host = place.host, there.mask = place.mask, there.network = place.host & place.mask;
    ++opened;
  }
  ::freeifaddrs(all);
  return opened > 0 ? 0 : why;
}

// The shortest message that all rails together would split when nothing is under way.
uint64_t shortest_split(const smelt_rails& rails) {
  RailNow now[kMaxRails];
  uint32_t count = 0;
  for (uint32_t r = 0; r < rails.rails; ++r)
    if (rails.rail[r].port.is_open()) now[count++] = {&rails.rail[r].curve, 0};
  for (uint64_t n = 2; n < uint64_t{1} << 30; n *= 2) {
    RailSplit split;
    if (choose_split(now, count, n, &split) == 0 && split.used > 1) return n / 2;
  }
  return UINT64_MAX;
}

// Which rail of theirs is in the same network as which of ours: the first with the first, so that both sides find the
// same pairs. Where none is (routed networks): the first open ones.
bool pair_rails(const RailsAddress& ours, const RailsAddress& theirs, int32_t pair[kMaxRails]) {
  bool taken[kMaxRails] = {}, any = false;
  for (uint32_t r = 0; r < ours.rails; ++r) {
    pair[r] = -1;
    const AddressRail& mine = ours.rail[r];
    if (mine.name_bytes == 0) continue;
    uint32_t rank = 0;  // of ours in its network, by address
    for (uint32_t k = 0; k < ours.rails; ++k)
      rank += ours.rail[k].name_bytes > 0 && ours.rail[k].network == mine.network &&
              (ours.rail[k].host < mine.host || (ours.rail[k].host == mine.host && k < r));
    for (uint32_t t = 0; t < theirs.rails; ++t) {
      const AddressRail& other = theirs.rail[t];
      if (other.name_bytes == 0 || taken[t] || other.network != mine.network || other.mask != mine.mask) continue;
      uint32_t their_rank = 0;
      for (uint32_t k = 0; k < theirs.rails; ++k)
        their_rank += theirs.rail[k].name_bytes > 0 && theirs.rail[k].network == mine.network &&
                      (theirs.rail[k].host < other.host || (theirs.rail[k].host == other.host && k < t));
      if (their_rank != rank) continue;
      pair[r] = static_cast<int32_t>(t), taken[t] = true, any = true;
      break;
    }
  }
  if (any) return true;
  for (uint32_t r = 0; r < ours.rails; ++r)
    for (uint32_t t = 0; t < theirs.rails && ours.rail[r].name_bytes > 0; ++t)
      if (theirs.rail[t].name_bytes > 0) {
        pair[r] = static_cast<int32_t>(t);
        return true;
      }
  return false;
}

void free_everything(smelt_rails* rails) {
  for (uint32_t r = 0; r < kMaxRails; ++r) rails->rail[r].port.close();  // from now on nothing is written anywhere
  for (uint32_t p = 0; p < rails->peers; ++p) {
    drop_incoming(*rails, *rails->peer[p]);
    for (Link& link : rails->peer[p]->link) link.lifeline.close();
    free_object(rails->peer[p]);
  }
  for (PacketChunk* chunk = rails->chunks; chunk;) {
    PacketChunk* next = chunk->next;
    free_object(chunk);
    chunk = next;
  }
  free_object(rails);
}

bool is_idle(const Peer& peer) {
  if (peer.error) return true;
  if (peer.undispatched || peer.again_first || peer.homeless.first) return false;
  for (const Link& link : peer.link)
    if (link.present && (link.sent != link.arrived || link.queue.first || link.news > 0)) return false;
  return true;
}

}  // namespace

Packet* take_packet(smelt_rails& rails) {
  if (!rails.free_packets) {
    PacketChunk* chunk = make_object<PacketChunk>(0);
    if (!chunk) return nullptr;
    chunk->next = rails.chunks;
    rails.chunks = chunk;
    for (Packet& packet : chunk->packet) give_packet(rails, &packet);
  }
  Packet* packet = rails.free_packets;
  rails.free_packets = packet->next;
  packet->next = nullptr;
  packet->received = packet->posted = packet->unacked = packet->waiting = false;
  packet->link = nullptr, packet->request = nullptr, packet->references = 0;
  return packet;
}

void give_packet(smelt_rails& rails, Packet* packet) {
  packet->next = rails.free_packets;
  rails.free_packets = packet;
}

bool post_receives(smelt_rails& rails, uint32_t r) {
  OneRail& rail = rails.rail[r];
  while (rail.receives < kPostedReceives) {
    Packet* packet = take_packet(rails);
    if (!packet) return false;
    packet->received = true, packet->rail = r;
    if (rail.port.receive(packet->data, sizeof packet->data, packet) != 0) {
      give_packet(rails, packet);
      return false;
    }
    ++rail.receives;
  }
  return true;
}

Peer* peer_of(const smelt_rails& rails, uint64_t instance) {
  for (uint64_t at = instance % kPeerSlots; rails.slot[at]; at = (at + 1) % kPeerSlots)
    if (Peer* peer = rails.peer[rails.slot[at] - 1]; peer->instance == instance) return peer;
  return nullptr;
}

}  // namespace smelt::rail_ofi

using namespace smelt;
using namespace smelt::rail_ofi;

int smelt_rails_open(const char* profile, const smelt_rail_options* options, smelt_rails** rails) {
  if (!rails || (options && options->split > SMELT_RAIL_SINGLE)) return -EINVAL;
  for (uint32_t i = 0; options && i < sizeof options->reserved / sizeof options->reserved[0]; ++i)
    if (options->reserved[i] != 0) return -EINVAL;
  char path[512];
  if (!profile) {
    if (const int error = usual_path(path, sizeof path)) return error;
    profile = path;
  }
  smelt_rails* made = make_object<smelt_rails>(0);
  if (!made) return -ENOMEM;
  if (options) made->options = *options;
  if (made->options.patience_ms == 0) made->options.patience_ms = kDefaultPatienceMs;
  int error = read_file(profile, &made->profile);
  made->rails = error == 0 ? made->profile.rails : 0;
  if (error == 0 && made->options.split == SMELT_RAIL_SINGLE && made->options.single >= made->rails) error = -EINVAL;
  if (error == 0 && ::getrandom(&made->instance, sizeof made->instance, 0) != sizeof made->instance) error = -EIO;
  if (error == 0) {
    made->address.magic = kPacketMagic, made->address.protocol = kProtocol;
    made->address.instance = made->instance, made->address.rails = made->rails;
    error = open_rails(*made);
  }
  for (uint32_t r = 0; error == 0 && r < made->rails; ++r)
    if (made->rail[r].port.is_open() && !post_receives(*made, r)) error = -ENOMEM;
  if (error != 0) {
    free_everything(made);
    return error;
  }
  made->split_from = shortest_split(*made);
  *rails = made;
  return 0;
}

int smelt_rails_address(const smelt_rails* rails, void* address, size_t* bytes) {
  static_assert(sizeof(RailsAddress) <= SMELT_RAIL_ADDRESS);
  if (!rails || !address || !bytes) return -EINVAL;
  std::memcpy(address, &rails->address, sizeof(RailsAddress));
  *bytes = sizeof(RailsAddress);
  return 0;
}

int smelt_rails_connect(smelt_rails* rails, const void* address, size_t bytes, uint32_t* peer) {
  if (!rails || !address || !peer) return -EINVAL;
  RailsAddress theirs{};
  if (bytes < 2 * sizeof(uint32_t)) return -EINVAL;
  std::memcpy(&theirs, address, bytes < sizeof theirs ? bytes : sizeof theirs);
  if (theirs.magic != kPacketMagic) return -EINVAL;
  if (theirs.protocol != kProtocol) return -EPROTO;
  if (bytes != sizeof theirs || theirs.rails == 0 || theirs.rails > kMaxRails) return -EINVAL;
  for (uint32_t t = 0; t < theirs.rails; ++t)
    if (theirs.rail[t].name_bytes > kNameBytes) return -EINVAL;
  if (peer_of(*rails, theirs.instance)) return -ENOTUNIQ;
  if (theirs.instance == rails->instance) return -EINVAL;
  if (rails->peers == SMELT_RAIL_PEERS) return -ENOMEM;
  int32_t pair[kMaxRails];
  if (!pair_rails(rails->address, theirs, pair)) return -EHOSTUNREACH;
  Peer* made = make_object<Peer>(0);
  if (!made) return -ENOMEM;
  made->instance = theirs.instance;
  bool any = false;
  rails->now = Port::now();
  for (uint32_t r = 0; r < rails->rails; ++r) {
    Link& link = made->link[r];
    link.peer = made, link.rail = r, link.pace.slow = 1;
    if (pair[r] < 0 || !rails->rail[r].port.is_open()) continue;
    const AddressRail& other = theirs.rail[pair[r]];
    sockaddr_in there{};
    link.present = rails->rail[r].port.insert(other.name, other.name_bytes, &link.address) == 0;
    if (link.present) std::memcpy(&there, other.name, sizeof there);
    link.host = ntohl(there.sin_addr.s_addr), link.port = ntohs(there.sin_port);
    link.epoch = 1, link.hello_at = rails->now, link.hello_wait = 0;
    any = any || link.present;
  }
  if (!any) {
    free_object(made);
    return -EHOSTUNREACH;
  }
  made->down_since = rails->now;
  *peer = rails->peers;
  rails->peer[rails->peers++] = made;
  uint64_t at = made->instance % kPeerSlots;
  while (rails->slot[at]) at = (at + 1) % kPeerSlots;
  rails->slot[at] = static_cast<uint16_t>(rails->peers);
  progress(*rails);
  return 0;
}

int smelt_rail_info(const smelt_rails* rails, uint32_t peer, uint32_t i, smelt_rail_state* state) {
  if (!rails || !state || peer >= rails->peers) return -EINVAL;
  if (i >= rails->rails) return -ENOENT;
  const Link& link = rails->peer[peer]->link[i];
  *state = {};
  std::memcpy(state->interface, rails->profile.rail[i].interface, sizeof state->interface);
  state->up = link.up, state->deaths = link.deaths, state->bytes = link.bytes, state->packets = link.packets;
  state->messages_joined = link.joined, state->again = link.again;
  state->slow = link.present ? slow_of(link) : 0;
  return 0;
}

void smelt_rails_close(smelt_rails* rails) {
  if (!rails) return;
  // For goodbyes; for messages that were sent (smelt/rail.h).
  constexpr int64_t kByeNs = 300'000'000, kLongestNs = 5'000'000'000;
  int64_t patience = int64_t{rails->options.patience_ms} * 1'000'000;
  if (patience > kLongestNs) patience = kLongestNs;
  const int64_t begin = Port::now();
  for (bool idle = false; !idle && Port::now() - begin < patience;) {
    progress(*rails);
    idle = true;
    for (uint32_t p = 0; p < rails->peers; ++p) idle = idle && is_idle(*rails->peer[p]);
    if (!idle) os::yield_cpu();
  }
  for (uint32_t p = 0; p < rails->peers; ++p) {
    Peer& peer = *rails->peer[p];
    for (Link& link : peer.link)
      if (peer.error == 0 && link.up) peer.bye_said |= post_control(*rails, link, PacketKind::kBye, 0, link.epoch) == 0;
  }
  const int64_t said = Port::now();
  for (bool seen = false; !seen && Port::now() - said < kByeNs;) {
    progress(*rails);
    seen = true;
    for (uint32_t p = 0; p < rails->peers; ++p)
      seen = seen && (rails->peer[p]->error != 0 || !rails->peer[p]->bye_said || rails->peer[p]->bye_seen);
    if (!seen) os::yield_cpu();
  }
  free_everything(rails);
}
