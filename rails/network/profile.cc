#include "rails/network/profile.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "profile/text/error.h"
#include "profile/text/io.h"
#include "profile/text/json_checks.h"
#include "profile/text/read.h"

namespace smelt {
namespace {

using Json = nlohmann::json;

constexpr const char* kNetworkFormat = "smelt network profile";
constexpr uint32_t kLongestName = 256;

std::string ascii_text(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string curve_text(const RailCurve& curve, const char* indent) {
  std::vector<std::string> us, spread;
  for (uint32_t i = 0; i < curve.count; ++i) {
    us.push_back(fmt::format("{:.6g}", curve.us[i]));  // a millionth is far below any spread
    spread.push_back(fmt::format("{:.3g}", curve.spread[i]));
  }
  return fmt::format("{{\n{0}  \"bytes\": [{1}],\n{0}  \"us\": [{2}],\n{0}  \"spread\": [{3}]\n{0}}}", indent,
                     fmt::join(curve.bytes, curve.bytes + curve.count, ", "), fmt::join(us, ", "),
                     fmt::join(spread, ", "));
}

// A name goes to terminals and into other programs' parameters: printable ASCII, nothing else.
std::string name_of(const JsonChecks& checks, const Json& object, const char* key, bool may_be_empty = false,
                    uint32_t longest = kLongestName) {
  std::string text = checks.text(object, key);
  if (text.size() > longest || (text.empty() && !may_be_empty) ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }))
    checks.fail("\"{}\" is not a text of {} to {} printable characters", key, may_be_empty ? 0 : 1, longest);
  return text;
}

RailCurve curve_of(const JsonChecks& checks, const Json& parent, const char* key) {
  const Json& object = checks.member(parent, key);
  const Json& bytes = checks.list(object, "bytes", kRailSizes, "sizes");
  const Json& us = checks.list(object, "us", kRailSizes, "times");
  const Json& spread = checks.list(object, "spread", kRailSizes, "spreads");
  if (bytes.empty() || us.size() != bytes.size() || spread.size() != bytes.size())
    checks.fail("\"{}\" has {} sizes, {} times and {} spreads", key, bytes.size(), us.size(), spread.size());
  RailCurve curve;
  curve.count = static_cast<uint32_t>(bytes.size());
  for (uint32_t i = 0; i < curve.count; ++i) {
    curve.bytes[i] = checks.whole(bytes[i], fmt::format("\"{}\": size {}", key, i), kLongestRailSample);
    if (curve.bytes[i] <= (i ? curve.bytes[i - 1] : 0)) checks.fail("\"{}\": its sizes do not increase", key);
    const auto number = [&](const Json& value, const char* what) {
      if (!value.is_number()) checks.fail("\"{}\": {} {} is not a number", key, what, i);
      const double is = value.get<double>();
      if (!(is >= 0 && is <= 1e9)) checks.fail("\"{}\": {} {} is {}, not from 0 to 1e9", key, what, i, is);
      return is + 0.0;  // "-0" is 0
    };
    curve.us[i] = number(us[i], "time");
    curve.spread[i] = number(spread[i], "spread");
    if (!(curve.us[i] > 0)) checks.fail("\"{}\": time {} is 0", key, i);
    if (i > 0 && curve.us[i] < curve.us[i - 1]) checks.fail("\"{}\": a longer message takes less at {}", key, i);
  }
  return curve;
}

}  // namespace

std::string network_to_json(const NetworkProfile& profile) {
  std::vector<std::string> rails;
  for (const NetworkRail& rail : profile.rails) {
    std::string text = fmt::format(
        "{{\n      \"interface\": {}, \"driver\": {}, \"mtu\": {}, \"speed\": {},\n"
        "      \"local\": {}, \"remote\": {}, \"provider\": {}",
        ascii_text(rail.interface), ascii_text(rail.driver), rail.mtu, rail.speed, ascii_text(rail.local),
        ascii_text(rail.remote), ascii_text(rail.provider));
    for (uint32_t method = 0; method < kRailMethods; ++method)
      text +=
          fmt::format(",\n      \"{}\": {}", kRailMethodNames[method], curve_text(rail.rail.method[method], "      "));
    rails.push_back(text + "\n    }");
  }
  return fmt::format(
      "{{\n  \"format\": \"{}\", \"version\": {}, \"created\": {},\n"
      "  \"node\": {}, \"peer\": {}, \"peer_class\": \"{:016x}\", \"library\": {},\n"
      "  \"copy\": {},\n  \"rails\": [\n    {}\n  ]\n}}\n",
      kNetworkFormat, kNetworkProfileVersion, profile.created, ascii_text(profile.node), ascii_text(profile.peer),
      profile.peer_class, ascii_text(profile.library), curve_text(profile.copy, "  "), fmt::join(rails, ",\n    "));
}

NetworkProfile network_from_json(const std::string& text, const std::string& name) {
  const JsonChecks checks(name);
  const Json root = checks.parse(text);
  if (checks.text(root, "format") != kNetworkFormat)
    checks.fail("not a network profile (\"format\" is not \"{}\")", kNetworkFormat);
  const uint32_t version = checks.whole(checks.member(root, "version"), "\"version\"", UINT32_MAX);
  if (version != kNetworkProfileVersion)
    checks.fail("version {} of the network profile; this program reads version {}: sample again", version,
                kNetworkProfileVersion);
  NetworkProfile profile;
  profile.created = checks.whole(checks.member(root, "created"), "\"created\"", UINT32_MAX);
  profile.node = name_of(checks, root, "node");
  profile.peer = name_of(checks, root, "peer");
  profile.library = name_of(checks, root, "library");
  const std::string peer_class = checks.text(root, "peer_class");
  const char* end = peer_class.data() + peer_class.size();
  if (peer_class.size() != 16 || std::from_chars(peer_class.data(), end, profile.peer_class, 16).ptr != end)
    checks.fail("\"peer_class\" is not 16 hexadecimal digits");
  profile.copy = curve_of(checks, root, "copy");
  const Json& rails = checks.list(root, "rails", kMaxRails, "rails");
  if (rails.empty()) checks.fail("\"rails\" is empty");
  std::set<std::string> interfaces;
  for (const Json& object : rails) {
    NetworkRail rail;
    rail.interface = name_of(checks, object, "interface", false, kInterfaceName - 1);
    // It becomes a part of parameters' names and of comma-separated lists.
    if (rail.interface.find_first_of(", =\"'\\/") != std::string::npos)
      checks.fail("\"interface\" is {}, which no interface is called", ascii_text(rail.interface));
    if (!interfaces.insert(rail.interface).second) checks.fail("interface {} is there twice", rail.interface);
    rail.driver = name_of(checks, object, "driver", true);
    rail.mtu = checks.whole(checks.member(object, "mtu"), "\"mtu\"", 1u << 20);
    rail.speed = checks.whole(checks.member(object, "speed"), "\"speed\"", 1u << 30);
    rail.local = name_of(checks, object, "local", false, kAddressText - 1);
    rail.remote = name_of(checks, object, "remote", false, kAddressText - 1);
    rail.provider = name_of(checks, object, "provider", false, kProviderName - 1);
    for (uint32_t method = 0; method < kRailMethods; ++method)
      rail.rail.method[method] = curve_of(checks, object, kRailMethodNames[method]);
    profile.rails.push_back(rail);
  }
  return profile;
}

NetworkProfile read_network_profile(const std::string& path) {
  return network_from_json(read_text_file(path, " (no network was sampled yet; see 'smelt network --help')"), path);
}

std::string default_network_path() {
  const std::string_view ending = ".profile";
  std::string path = default_profile_path();
  return path.substr(0, path.size() - ending.size()) + ".network.json";
}

std::string network_path_of(uint64_t peer_class) {
  const std::string_view ending = ".network.json";
  const std::string path = default_network_path();
  return fmt::format("{}-{:016x}{}", path.substr(0, path.size() - ending.size()), peer_class, ending);
}

NetworkProfile seen_from_peer(NetworkProfile profile, uint64_t own_class) {
  for (NetworkRail& rail : profile.rails) std::swap(rail.local, rail.remote);
  std::swap(profile.node, profile.peer);
  profile.peer_class = own_class;
  return profile;
}

std::string packed_network_path(const std::string& path) {
  constexpr std::string_view kJson = ".json", kNetwork = ".network";
  std::string stem = path;
  if (stem.ends_with(kJson)) {
    stem.resize(stem.size() - kJson.size());
    if (stem.ends_with(kNetwork)) stem.resize(stem.size() - kNetwork.size());
  }
  return stem + std::string(kNetwork);
}

PackedNetwork packed_network(const NetworkProfile& profile) {
  PackedNetwork packed;
  std::memset(static_cast<void*>(&packed), 0,
              sizeof packed);  // the padding between the members, too: it is in the checksum
  packed.created = profile.created;
  packed.rails = static_cast<uint32_t>(profile.rails.size());
  const auto put_curve = [](const RailCurve& curve, RailCurve* out) {
    out->count = curve.count;
    std::copy_n(curve.bytes, curve.count, out->bytes);
    std::copy_n(curve.us, curve.count, out->us);
    std::copy_n(curve.spread, curve.count, out->spread);
  };
  put_curve(profile.copy, &packed.copy);
  for (uint32_t r = 0; r < packed.rails; ++r) {
    const NetworkRail& rail = profile.rails[r];
    PackedRail& out = packed.rail[r];
    rail.interface.copy(out.interface, sizeof out.interface - 1);
    rail.local.copy(out.local, sizeof out.local - 1);
    rail.remote.copy(out.remote, sizeof out.remote - 1);
    rail.provider.copy(out.provider, sizeof out.provider - 1);
    for (uint32_t method = 0; method < kRailMethods; ++method)
      put_curve(rail.rail.method[method], &out.rail.method[method]);
  }
  seal_network(&packed);
  return packed;
}

void write_network_profile(const NetworkProfile& profile, const std::string& path) {
  const PackedNetwork packed = packed_network(profile);
  write_forms(network_to_json(profile), path, {reinterpret_cast<const char*>(&packed), sizeof packed},
              packed_network_path(path));
}

}  // namespace smelt
