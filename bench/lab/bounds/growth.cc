#include "bench/lab/bounds/growth.h"

namespace smelt {

namespace {

constexpr uint32_t kMostTicks = 5000, kLeastTicks = 300;  // as many as the work allows, within these
constexpr size_t kMostRowBytes = 24 << 20;                // of all rows; the arena may have less

}  // namespace

bool Growth::make(const TreeProblem& problem, int root, const Grouping& cores, const Grouping& groups, double allowed,
                  Arena& arena) {
  count_ = groups.count;
  senders_ = count_ + (root >= 0);
  return allocate(problem.n, arena) && find_costs(problem, root, cores, groups, arena) && lay_out_rows(allowed, arena);
}

bool Growth::allocate(uint32_t n, Arena& arena) {
  const size_t pairs = size_t{senders_} * count_;
  size_ = arena.make<uint32_t>(senders_);
  per_core_ = arena.make<uint32_t>(senders_);
  row_at_ = arena.make<uint32_t>(senders_);
  weight_ = arena.make<float>(senders_);
  cost_ = arena.make<Cost>(pairs);
  core_cost_ = arena.make<Cost>(senders_);
  by_busy_ = arena.make<uint16_t>(pairs);
  hull_ = arena.make<uint16_t>(n + 1);
  if (!size_ || !per_core_ || !row_at_ || !weight_ || !cost_ || !core_cost_ || !by_busy_ || !hull_) return false;
  for (size_t i = 0; i < pairs; ++i) cost_[i] = Cost{HUGE_VAL, HUGE_VAL, 0, 0};
  for (uint32_t k = 0; k < senders_; ++k) core_cost_[k] = Cost{HUGE_VAL, HUGE_VAL, 0, 0};
  for (uint32_t k = 0; k < count_; ++k) weight_[k] = 1;
  return true;
}

bool Growth::find_costs(const TreeProblem& problem, int root, const Grouping& cores, const Grouping& groups,
                        Arena& arena) {
  const uint32_t n = problem.n;
  auto* core_size = arena.make<uint32_t>(cores.count);
  if (!core_size) return false;
  for (uint32_t v = 0; v < n; ++v) {
    const bool is_root = static_cast<int>(v) == root;
    const uint32_t from = is_root ? count_ : groups.of[v];
    if (!is_root) ++size_[from];
    per_core_[groups.of[v]] = std::max(per_core_[groups.of[v]], ++core_size[cores.of[v]]);
    for (uint32_t c = 0; c < n; ++c) {
      if (c == v || static_cast<int>(c) == root) continue;
      Cost& cost = cores.of[v] == cores.of[c] ? core_cost_[from] : cost_[size_t{from} * count_ + groups.of[c]];
      cost.edge = std::min<double>(cost.edge, problem.edge_of(v, c));
      cost.busy = std::min<double>(cost.busy, problem.busy_of(v, c));
    }
  }
  home_ = root >= 0 ? groups.of[root] : 0;
  // The root is a sender of its own kind that tells its own group as if it were one of it.
  if (root >= 0) {
    size_[count_] = size_[home_] + 1;
    per_core_[count_] = per_core_[home_];
  }
  return true;
}

bool Growth::lay_out_rows(double allowed, Arena& arena) {
  double work = 0;
  for (uint32_t k = 0; k < senders_; ++k) {
    row_at_[k] = width_;
    size_[k] = std::max(size_[k], uint32_t{k == count_});
    per_core_[k] = std::max(per_core_[k], 1u);
    width_ += size_[k] * per_core_[k];
    work += size_[k] * per_core_[k] * (6.0 + 2 * per_core_[k]) + count_ * 4.0;
    uint16_t* const order = by_busy_ + size_t{k} * count_;
    const Cost* const cost = cost_ + size_t{k} * count_;
    for (uint32_t l = 0; l < count_; ++l) order[l] = static_cast<uint16_t>(l);
    std::sort(order, order + count_, [cost](uint16_t a, uint16_t b) {
      return cost[a].busy != cost[b].busy ? cost[a].busy < cost[b].busy : a < b;
    });
  }
  ticks_ = static_cast<uint32_t>(std::clamp(allowed / work, double{kLeastTicks}, double{kMostTicks}));
  const size_t room = std::min(kMostRowBytes, arena.left() - std::min(arena.left(), size_t{64}));
  ticks_ = static_cast<uint32_t>(std::min<size_t>(ticks_, room / (width_ * sizeof(float))));
  if (ticks_ < kLeastTicks) return false;
  rows_ = arena.make<float>(size_t{ticks_} * width_);
  return rows_ != nullptr;
}

void Growth::begin(double range) {
  tick_ = range / ticks_;
  for (size_t i = 0; i < size_t{senders_} * count_; ++i) count_ticks(cost_[i]);
  for (uint32_t k = 0; k < senders_; ++k) count_ticks(core_cost_[k]);
  all_ = 0;
  for (uint32_t k = 0; k < count_; ++k) all_ += weight_[k] * static_cast<float>(size_[k]);
  if (senders_ > count_) all_ += weight_[count_] = weight_[home_];
}

bool Growth::lower_curve(double range, uint32_t count, float* most) {
  begin(range);
  uint32_t at = 0;
  for (uint32_t s = 0; s < ticks_; ++s) {
    if (s % kTicksBetweenLooks == 0 && limits_.exceeded()) return false;
    float reached = 0;
    for (uint32_t k = 0; k < senders_; ++k) {
      if (size_[k] == 0) continue;
      fill(k, s);
      reached = std::max(reached, told(k, s));
    }
    // Row s holds until the next tick begins. As above, floats may have lost as much.
    reached *= 1 + 2 * static_cast<float>(ticks_) * 1.2e-7f;
    for (; at <= count && range * at / count < (s + 1) * tick_; ++at) most[at] = std::min(most[at], reached);
  }
  return true;
}

void Growth::fill(uint32_t k, uint32_t s) {
  float* const first = row(k, s, 0);
  const uint32_t cells = size_[k] * per_core_[k];
  if (s == 0) {
    std::fill_n(first, cells, 0.0f);
  } else {
    std::copy_n(row(k, s - 1, 0), cells, first);
  }
  if (tell_other_groups(k, s, first, cells)) tell_own_group(k, s);
}

bool Growth::tell_other_groups(uint32_t k, uint32_t s, float* first, uint32_t cells) {
  const uint32_t home = k == count_ ? home_ : k;
  const Cost* const cost = cost_ + size_t{k} * count_;
  const uint16_t* const order = by_busy_ + size_t{k} * count_;
  for (uint32_t i = 0; i < count_;) {
    const uint32_t same = cost[order[i]].busy_ticks;
    if (same == kNever || same > s) break;
    float gain = -1;
    for (; i < count_ && cost[order[i]].busy_ticks == same; ++i) {
      const uint32_t l = order[i];
      const uint32_t edge = cost[l].edge_ticks;
      if (l == home || size_[l] == 0 || edge > s) continue;
      gain = std::max(gain, edge == 0 ? all_ : told(l, s - edge));
    }
    if (gain < 0) continue;
    if (same == 0) {
      std::fill_n(first, cells, all_);
      return false;
    }
    const float* const rest = row(k, s - same, 0);
    for (uint32_t j = 0; j < cells; ++j) first[j] = std::max(first[j], gain + rest[j]);
  }
  return true;
}

void Growth::tell_own_group(uint32_t k, uint32_t s) {
  const uint32_t home = k == count_ ? home_ : k;
  const uint32_t width = size_[k], members = size_[home];
  const Cost &local = cost_[size_t{k} * count_ + home], &core = core_cost_[k];
  for (uint32_t j = 0; j < per_core_[k]; ++j) {
    float* const now = row(k, s, j);
    // The one told has `told_row` for itself, the teller goes on with row `rest`.
    const auto tell = [&](const Cost& cost, uint32_t told_row, uint32_t rest) {
      if (cost.busy_ticks == 0)
        std::fill_n(now + 1, width - 1, all_);
      else
        add_local(now, width, row(home, s - cost.edge_ticks, told_row), members, row(k, s - cost.busy_ticks, rest),
                  weight_[home]);
    };
    if (width > 1 && members > 0) {
      if (local.edge_ticks <= s) tell(local, per_core_[home] - 1, j);
      for (uint32_t h = 0; h < j && core.edge_ticks <= s; ++h) tell(core, h, j - 1 - h);
    }
    for (uint32_t i = 0; i < width; ++i) now[i] = std::min(std::max(now[i], j > 0 ? (now - width)[i] : 0), all_);
    hull(now, width);
  }
}

void Growth::add_local(float* now, uint32_t width, const float* told, uint32_t told_width, const float* rest,
                       float weight) {
  uint32_t a = 0, b = 0;
  for (uint32_t j = 1; j < width; ++j) {
    now[j] = std::max(now[j], weight + told[a] + rest[b]);
    const float step_a = a + 1 < told_width ? told[a + 1] - told[a] : -1;
    const float step_b = b + 1 < width ? rest[b + 1] - rest[b] : -1;
    if (step_a >= step_b) {
      ++a;
    } else {
      ++b;
    }
  }
}

void Growth::hull(float* now, uint32_t width) {
  bool concave = true;
  for (uint32_t j = 1; j + 1 < width && concave; ++j) concave = now[j] - now[j - 1] >= now[j + 1] - now[j];
  if (concave) return;
  uint32_t corners = 0;
  for (uint32_t j = 0; j < width; ++j) {
    while (corners >= 2) {
      const uint32_t p = hull_[corners - 2], q = hull_[corners - 1];
      if ((now[q] - now[p]) * static_cast<float>(j - q) > (now[j] - now[q]) * static_cast<float>(q - p)) break;
      --corners;
    }
    hull_[corners++] = static_cast<uint16_t>(j);
  }
  for (uint32_t i = 0; i + 1 < corners; ++i) {
    const uint32_t p = hull_[i], q = hull_[i + 1];
    const float base = now[p], slope = (now[q] - base) / static_cast<float>(q - p);
    for (uint32_t j = p + 1; j < q; ++j) now[j] = std::max(now[j], base + slope * static_cast<float>(j - p));
  }
}

}  // namespace smelt
