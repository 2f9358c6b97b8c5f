// Sampling a network (sampling.h): which rails there are, what is timed on each, and the server that plays the other
// end.
#include "rails/network/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/fingerprint.h"
#include "base/os/os.h"
#include "profile/text/error.h"
#include "profile/text/statistics.h"
#include "rails/network/fabric.h"
#include "rails/network/interfaces.h"
#include "rails/network/language.h"
#include "rails/network/rounds.h"

namespace smelt {
namespace {

constexpr uint32_t kMostRounds = 200, kFirstRounds = 3;

double now_us() { return static_cast<double>(os::now_ns()) * 1e-3; }

// A port whose waiting ends when the peer's process does, or after a long silence.
std::unique_ptr<FabricPort> open_port(const std::string& address, Control& control, const double* begun_us) {
  return open_fabric_port(address, kLongestRailSample, [&control, begun_us] {
    control.check_peer();
    if (now_us() - *begun_us > 1e6 * kPeerSilence)
      throw UserError(fmt::format("nothing has come over the rail for {:.0f} s", kPeerSilence));
  });
}

RailCurve sample_copy() {
  RailCurve curve;
  std::vector<char> from(kLongestRailSample, 1), to(kLongestRailSample, 2);
  for (size_t bytes = 1; bytes <= kLongestRailSample; bytes *= 2) {
    const size_t repeats = std::clamp<size_t>((64 << 10) / bytes, 1, 256);  // a clock's tick is longer than a copy
    std::vector<double> times;
    for (uint32_t i = 0; i < 9; ++i) {
      const double begin = now_us();
      for (size_t k = 0; k < repeats; ++k) {
        std::memcpy(to.data(), from.data(), bytes);
        __asm__ volatile("" ::"r"(to.data()) : "memory");  // it is done each time
      }
      times.push_back((now_us() - begin) / static_cast<double>(repeats));
    }
    curve.bytes[curve.count] = bytes;
    curve.us[curve.count] = std::max(quantile(times, 0.25), 0.001);
    curve.spread[curve.count++] = relative_iqr(times);
  }
  make_isotonic(&curve);
  return curve;
}

// The profile, to the server, which has it as its own then: half a round trip is the time of either way.
constexpr size_t kPiece = 1500, kMostPieces = 1000;

void say_profile(Control& control, const NetworkProfile& profile) {
  const std::string text = network_to_json(profile);
  for (size_t at = 0; at < text.size(); at += kPiece) control.say("piece " + hex_of(text.substr(at, kPiece)));
  control.say("done");
  expect(control, "kept", 0);
}

NetworkProfile own_view(const std::string& text) {
  NetworkProfile profile = seen_from_peer(network_from_json(text, "the peer's profile"), machine_fingerprint());
  const std::vector<NetworkInterface> mine = network_interfaces();
  for (NetworkRail& rail : profile.rails) {
    const auto here =
        std::find_if(mine.begin(), mine.end(), [&](const NetworkInterface& one) { return one.address == rail.local; });
    if (here == mine.end()) throw UserError(fmt::format("no interface here has the address {} any more", rail.local));
    rail.interface = here->name, rail.driver = here->driver, rail.mtu = here->mtu, rail.speed = here->speed;
  }
  return network_from_json(network_to_json(profile), "the peer's profile");  // a written profile can be read
}

// Both ends of a rail are open, and know each other. `begun_us` is when the timed round began, for the port's patience.
std::unique_ptr<Rounds> open_rail(Control& control, const std::string& local, const std::string& remote,
                                  double* begun_us, std::string* provider) {
  *begun_us = now_us();
  std::unique_ptr<FabricPort> port = open_port(local, control, begun_us);
  *provider = port->provider();
  control.say("rail " + remote);
  const std::string name = expect(control, "name", 1)[0];
  port->connect(from_hex(name));
  control.say("peer " + hex_of(port->name()));
  expect(control, "ready", 0);
  return std::make_unique<Rounds>(std::move(port));
}

void close_rail(Control& control, Rounds& rounds) {
  control.say("close");
  expect(control, "closed", 0, rounds.meanwhile());
}

std::vector<double> time_rounds(Control& control, Rounds& rounds, RailMethod method, size_t bytes, uint32_t count,
                                double* begun_us) {
  control.say(fmt::format("run {} {} {}", static_cast<uint32_t>(method), bytes, count));
  expect(control, "go", 0, rounds.meanwhile());
  *begun_us = now_us();
  return rounds.measure(method, bytes, count);
}

size_t least_bytes(RailMethod method) { return method == kRailGathered ? 2 : 1; }

constexpr size_t kShort = 4 << 10;   // bytes
constexpr double kTimesLatency = 3;  // a message that takes so many times the shortest one's tells a bandwidth
constexpr uint32_t kAtOnce = 16;     // rounds of one way before the next has its turn

// Rounds of each way at one size: they take turns, so that a disturbance, or a change while a connection lives (its
// window grows), meets all. Limits are where two of their curves cross, often at a flat angle: sampled one after the
// other, crossings were seen to move by a factor of three.
class SizeSampler {
 public:
  SizeSampler(Control& control, Rounds& rounds, double* begun_us, double slot_us)
      : control_(control), rounds_(rounds), begun_us_(begun_us), slot_us_(slot_us) {}

  // `ways`: those that are wanted. Curves of one sample.
  void sample(size_t bytes, const bool (&ways)[kRailMethods], RailCurve (&samples)[kRailMethods]) {
    std::vector<double> times[kRailMethods];
    uint32_t wanted[kRailMethods] = {}, most = 0;
    for (uint32_t m = 0; m < kRailMethods; ++m) {
      if (!ways[m]) continue;
      times[m] = run(m, bytes, kFirstRounds);
      const double once_us = std::max(2 * *std::min_element(times[m].begin(), times[m].end()), 0.1);
      wanted[m] = static_cast<uint32_t>(std::clamp(slot_us_ / once_us, 0.0, double{kMostRounds}));
      if (wanted[m] > kFirstRounds) times[m].clear();  // they were its warming up
      most = std::max(most, wanted[m]);
    }
    for (uint32_t done = 0; done < most; done += kAtOnce)
      for (uint32_t m = 0; m < kRailMethods; ++m) {
        if (wanted[m] <= kFirstRounds || done >= wanted[m]) continue;
        const std::vector<double> more = run(m, bytes, std::min(kAtOnce, wanted[m] - done));
        times[m].insert(times[m].end(), more.begin(), more.end());
      }
    for (uint32_t m = 0; m < kRailMethods; ++m) {
      if (!ways[m]) continue;
      samples[m].count = 1;
      samples[m].bytes[0] = bytes;
      samples[m].us[0] = std::max(quantile(times[m], 0.25), 0.001);
      samples[m].spread[0] = relative_iqr(times[m]);
    }
  }

 private:
  std::vector<double> run(uint32_t method, size_t bytes, uint32_t count) {
    return time_rounds(control_, rounds_, static_cast<RailMethod>(method), bytes, count, begun_us_);
  }

  Control& control_;
  Rounds& rounds_;
  double* const begun_us_;
  const double slot_us_;
};

void append(RailCurve* curve, const RailCurve& sample) {
  const uint32_t i = curve->count++;
  curve->bytes[i] = sample.bytes[0], curve->us[i] = sample.us[0], curve->spread[i] = sample.spread[0];
}

// Half of a rail's time is for its longest sizes, which take as long as all the others together. Where a round trip is
// so long that there is no time for all, short messages, which all take the same, are sampled more sparsely; but no way
// ends before its bandwidth shows. A curve that `known` finds is not sampled again; `keep` gets each new one.
void sample_curves(Rail* rail, double seconds, SizeSampler& sampler, double slot_us,
                   const std::function<void(uint32_t)>& progress,
                   const std::function<bool(uint32_t, size_t, RailCurve*)>& known,
                   const std::function<void(uint32_t, const RailCurve&)>& keep) {
  const double longest_us = 1e6 * seconds / 4;
  bool going[kRailMethods];
  std::fill(std::begin(going), std::end(going), true);
  uint32_t step = 0;
  for (size_t bytes = 1; bytes <= kLongestRailSample;) {
    progress(step);
    RailCurve samples[kRailMethods];
    bool wanted[kRailMethods], any = false;
    for (uint32_t m = 0; m < kRailMethods; ++m) {
      wanted[m] = going[m] && bytes >= least_bytes(static_cast<RailMethod>(m)) && !known(m, bytes, &samples[m]);
      any = any || going[m];
    }
    if (!any) break;
    sampler.sample(bytes, wanted, samples);
    bool slow = false;
    for (uint32_t m = 0; m < kRailMethods; ++m) {
      if (samples[m].count == 0) continue;
      if (wanted[m]) keep(m, samples[m]);
      append(&rail->method[m], samples[m]);
      slow = slow || 2 * samples[m].us[0] * (kFirstRounds + 1) > slot_us;
    }
    const uint32_t doublings = slow && bytes < kShort ? 3 : 1;
    bytes <<= doublings, step += doublings;
    for (uint32_t m = 0; m < kRailMethods; ++m) {
      const RailCurve& curve = rail->method[m];
      if (!going[m] || curve.count == 0) continue;
      // The time that the next one will take, back and forth, as often as it must.
      const uint32_t i = curve.count - 1;
      const double rise_us = i > 0 ? std::max(curve.us[i] - curve.us[i - 1], 0.0) : 0;
      const double next_us = 2 * (kFirstRounds + 1) * (curve.us[i] + 2 * rise_us);
      going[m] = bytes <= kConvexFrom || next_us <= longest_us || curve.us[i] <= kTimesLatency * curve.us[0];
    }
  }
}

NetworkRail sample_rail(Control& control, const Reach& reach, const NetworkProfile& profile,
                        const SamplingOptions& options, uint32_t done, uint32_t total) {
  NetworkRail rail;
  rail.interface = reach.interface.name;
  rail.driver = reach.interface.driver;
  rail.mtu = reach.interface.mtu;
  rail.speed = reach.interface.speed;
  rail.local = reach.interface.address;
  rail.remote = reach.remote;
  double begun_us;
  const std::unique_ptr<Rounds> rounds = open_rail(control, rail.local, rail.remote, &begun_us, &rail.provider);
  const std::string depends =
      fmt::format("{} {} {} {} {} {} {:016x} {} {:g}", rail.interface, rail.driver.empty() ? "-" : rail.driver,
                  rail.mtu, rail.speed, rail.local, rail.remote, profile.peer_class, rail.provider, options.seconds);
  const auto key = [&](uint32_t method, size_t bytes) {
    return fmt::format("{} {} {}", depends, kRailMethodNames[method], bytes);
  };
  const double seconds = options.seconds / kRailMethods, slot_us = 1e6 * seconds / 2 / kRailSizes;
  SizeSampler sampler(control, *rounds, &begun_us, slot_us);
  sample_curves(
      &rail.rail, seconds, sampler, slot_us, [&](uint32_t step) { options.progress(done + step, total); },
      [&](uint32_t m, size_t bytes, RailCurve* sample) { return options.store.find(key(m, bytes), sample); },
      [&](uint32_t m, const RailCurve& sample) { options.store.keep(key(m, sample.bytes[0]), sample); });
  close_rail(control, *rounds);
  settle_curves(&rail.rail, profile.copy);
  return rail;
}

void serve_rail(Control& control, const std::string& address) {
  double begun_us = now_us();
  std::unique_ptr<FabricPort> port = open_port(address, control, &begun_us);
  control.say("name " + hex_of(port->name()));
  port->connect(from_hex(expect(control, "peer", 1)[0]));
  Rounds rounds(std::move(port));
  control.say("ready");
  for (;;) {
    const std::vector<std::string> words = control.hear(kPeerSilence, rounds.meanwhile());
    if (words.size() == 1 && words[0] == "close") break;
    if (words.size() != 4 || words[0] != "run") speaks_otherwise();
    const auto method = static_cast<RailMethod>(number_in(words[1], 0, kRailMethods - 1));
    const uint32_t bytes = number_in(words[2], static_cast<uint32_t>(least_bytes(method)), kLongestRailSample);
    const uint32_t count = number_in(words[3], 1, kMostRounds);
    begun_us = now_us();
    rounds.prepare(method, bytes);
    control.say("go");
    rounds.answer(method, bytes, count);
  }
  control.say("closed");
}

}  // namespace

NetworkProfile sample_networks(Control& control, const SamplingOptions& options) {
  NetworkProfile profile;
  profile.library = fabric_library();
  greet(control);
  const Greeting met = meet(control);
  profile.peer = met.node, profile.peer_class = met.machine;
  profile.node = node_name();
  control.say("addresses");
  const std::vector<std::string> addresses = expect(control, "addresses", 0);
  const std::vector<Reach> rails =
      reaching(network_interfaces(), addresses, control.local_address(), control.peer_address());
  if (rails.empty()) throw UserError("no interface of this node reaches the peer");
  profile.copy = sample_copy();
  const auto total = static_cast<uint32_t>(rails.size()) * kRailSizes;
  for (uint32_t r = 0; r < rails.size(); ++r)
    profile.rails.push_back(sample_rail(control, rails[r], profile, options, r * kRailSizes, total));
  options.progress(total, total);
  profile.created = std::time(nullptr);
  say_profile(control, profile);
  return profile;
}

std::vector<RailCheck> check_networks(Control& control, const NetworkProfile& profile) {
  constexpr uint64_t kSizes[] = {64, 64 << 10, 1 << 20};
  constexpr uint32_t kRounds = 15;
  greet(control);
  meet(control);
  const std::vector<NetworkInterface> here = network_interfaces();
  std::vector<RailCheck> checks;
  for (const NetworkRail& rail : profile.rails) {
    const bool there = std::any_of(here.begin(), here.end(), [&](const NetworkInterface& one) {
      return one.name == rail.interface && one.driver == rail.driver && one.address == rail.local;
    });
    std::string provider;
    double begun_us;
    std::unique_ptr<Rounds> rounds;
    if (there) rounds = open_rail(control, rail.local, rail.remote, &begun_us, &provider);
    const RailCurve& eager = rail.rail.method[kRailEager];
    for (const uint64_t bytes : kSizes) {
      RailCheck check{.interface = rail.interface, .bytes = bytes, .was_us = rail_time(eager, bytes), .is_us = 0};
      if (rounds && provider == rail.provider)
        check.is_us =
            std::max(quantile(time_rounds(control, *rounds, kRailEager, bytes, kRounds, &begun_us), 0.25), 0.001);
      checks.push_back(check);
    }
    if (rounds) close_rail(control, *rounds);
  }
  control.say("done");
  expect(control, "kept", 0);
  return checks;
}

std::vector<double> time_ways(Control& control, const NetworkRail& rail, const std::vector<TimedWay>& ways,
                              uint32_t rounds) {
  greet(control);
  meet(control);
  double begun_us;
  std::string provider;
  const std::unique_ptr<Rounds> ends = open_rail(control, rail.local, rail.remote, &begun_us, &provider);
  std::vector<std::vector<double>> times(ways.size());
  for (uint32_t done = 0; done < rounds; done += kAtOnce)
    for (size_t i = 0; i < ways.size(); ++i)
      for (const double us :
           time_rounds(control, *ends, ways[i].method, ways[i].bytes, std::min(kAtOnce, rounds - done), &begun_us))
        times[i].push_back(us);
  close_rail(control, *ends);
  control.say("done");
  expect(control, "kept", 0);
  std::vector<double> quartiles;
  for (const std::vector<double>& one : times) quartiles.push_back(quantile(one, 0.25));
  return quartiles;
}

std::optional<NetworkProfile> serve_sampling(Control& control) {
  try {
    std::string text;
    size_t pieces = 0;
    greet(control);
    const Greeting met = meet(control);
    for (;;) {
      const std::vector<std::string> words = control.hear(kPeerSilence);
      if (words.size() == 1 && words[0] == "done") {
        std::optional<NetworkProfile> profile;
        if (!text.empty()) {
          profile = own_view(text);
          profile->peer_class = met.machine;
        }
        control.say("kept");
        return profile;
      }
      if (words.size() == 2 && words[0] == "piece" && ++pieces <= kMostPieces) {
        text += from_hex(words[1]);
      } else if (words.size() == 1 && words[0] == "addresses") {
        std::string line = "addresses";
        for (const NetworkInterface& interface : network_interfaces()) line += " " + interface.address;
        control.say(line);
      } else if (words.size() == 2 && words[0] == "rail" && is_ipv4(words[1])) {
        serve_rail(control, words[1]);
      } else {
        speaks_otherwise();
      }
    }
  } catch (const UserError& error) {
    try {
      control.say(fmt::format("failed {}", error.what()));
    } catch (const UserError&) {
      // It is gone, as the first one says.
    }
    throw;
  }
}

}  // namespace smelt
