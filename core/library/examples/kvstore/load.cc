#include "kvstore/load.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

namespace kvstore {
namespace {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

struct Own {
  Histogram gets, sets;
  uint64_t unanswered = 0;
  Recorder recorder;
};

void work(Client& client, unsigned number, const Load& load, Own* own) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = load.time.count() == 0 ? Clock::time_point::max() : Clock::now() + load.time;
  uint64_t state = mix(load.seed << 20 ^ number), sets = 0;
  const auto random = [&](uint64_t below) { return (state = mix(state)) % below; };
  std::vector<uint8_t> value, got;
  value.reserve(load.value_bytes);
  got.reserve(load.value_bytes);
  if (load.record) own->recorder.reserve(load.operations != 0 ? load.operations : 1 << 20);
  for (uint64_t done = 0; load.operations == 0 || done < load.operations; ++done) {
    const bool is_get = random(100) < load.gets;
    const uint64_t key = random(load.keys);
    if (!is_get) make_value(number, sets++, load.varied ? 8 + random(load.value_bytes - 7) : load.value_bytes, &value);
    if (load.record)
      own->recorder.invoke(is_get ? Operation::kGet : Operation::kSet, key,
                           is_get ? kAbsent : fingerprint(value.data(), value.size()));
    const int64_t begin = Recorder::now();
    const Reply reply = is_get ? client.get(key, &got) : client.set(key, value);
    const int64_t now = Recorder::now();
    if (reply == Reply::kNone) {
      ++own->unanswered;
      return;
    }
    (is_get ? own->gets : own->sets).add(now - begin);
    if (load.record) {
      if (is_get)
        own->recorder.respond_get(reply == Reply::kAbsent ? kAbsent : fingerprint(got.data(), got.size()), now);
      else
        own->recorder.respond_set(now);
    }
    if (Clock::now() >= end) return;
  }
}

}  // namespace

uint64_t Histogram::quantile(double part) const {
  const auto wanted = static_cast<uint64_t>(std::ceil(part * static_cast<double>(total_)));
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (counts_[i] == 0 || seen < wanted) continue;
    const size_t high = i < 32 ? 0 : i / 16 - 1;
    return ((i - 16 * high + 1) << high) - 1;
  }
  return 0;
}

void make_value(unsigned client, uint64_t n, size_t bytes, std::vector<uint8_t>* value) {
  value->resize(bytes);
  const uint64_t name = uint64_t{client} << 44 ^ n;
  for (size_t i = 0; i < bytes; i += 8) {
    const uint64_t word = i == 0 ? name : mix(name ^ i << 32);
    std::memcpy(value->data() + i, &word, std::min<size_t>(8, bytes - i));
  }
}

Loaded run(Store& store, const StoreOptions& options, const Load& load) {
  std::vector<Own> own;
  for (unsigned i = 0; i < store.clients(); ++i) own.push_back({{}, {}, 0, Recorder(i)});
  std::vector<std::thread> threads;
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < store.clients(); ++i)
    threads.emplace_back([&, i] {
      if (!options.client_cpus.empty()) pin(options.client_cpus[i]);
      work(store.client(i), i, load, &own[i]);
    });
  for (std::thread& thread : threads) thread.join();
  Loaded loaded;
  loaded.time = std::chrono::steady_clock::now() - begin;
  for (unsigned i = 0; i < store.clients(); ++i) {
    loaded.gets.add(own[i].gets);
    loaded.sets.add(own[i].sets);
    loaded.unanswered += own[i].unanswered;
    loaded.moves += store.client(i).moves();
    const std::vector<Event>& events = own[i].recorder.events();
    loaded.history.insert(loaded.history.end(), events.begin(), events.end());
  }
  return loaded;
}

}  // namespace kvstore
