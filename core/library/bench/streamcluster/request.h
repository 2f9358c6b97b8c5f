// The request to both programs on the command line.
#pragma once

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "streamcluster/kmedian.h"

namespace smelt::bench {

struct Request {
  Problem problem{
      .points = 50'000, .dimensions = 32, .chunk = 10'000, .least_centers = 10, .most_centers = 20, .seed = 1};
  uint32_t threads = 2;
  uint32_t rounds = 7;
};

inline void describe_request(CLI::App& app, Request& r) {
  Problem& p = r.problem;
  app.add_option("--threads", r.threads, "threads")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--rounds", r.rounds, "runs")->check(CLI::Range(1, 100'000))->capture_default_str();
  app.add_option("--points", p.points, "points of the stream")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--dimensions", p.dimensions, "of a point")->check(CLI::Range(1, 65'536))->capture_default_str();
  app.add_option("--chunk", p.chunk, "points clustered at a time")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  app.add_option("--min-centers", p.least_centers, "least centres of a chunk, and of the whole")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--max-centers", p.most_centers, "most, and the clusters that the points are made around")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--seed", p.seed, "of all random numbers")->capture_default_str();
  app.final_callback([&p] {
    if (p.least_centers > p.most_centers)
      throw CLI::ValidationError("--min-centers", "more than --max-centers (" + std::to_string(p.most_centers) + ")");
  });
}

struct Spread {
  double median = 0, least = 0, most = 0;
};

inline Spread spread_of(std::vector<double> values) {  // not empty
  std::ranges::sort(values);
  return {(values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2, values.front(), values.back()};
}

}  // namespace smelt::bench
