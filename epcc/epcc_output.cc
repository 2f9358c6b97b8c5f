#include "epcc/epcc_output.h"

#include <charconv>
#include <cmath>
#include <optional>

namespace smelt::epcc {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  for (text = trim(text); !text.empty(); text = trim(text)) {
    const size_t length = std::min(text.find_first_of(kBlank), text.size());
    out.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

// nan and inf are no figures: a run that prints them has failed.
std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

class Reader {
 public:
  explicit Reader(Statistic statistic) : statistic_(statistic) {}

  void line(std::string_view text) {
    const auto cells = words(text);
    if (cells.empty()) return;
    if (cells[0] == "Computing") {
      current_ = {};
      median_.reset();
    } else if (cells[0] == "Sample_size") {
      columns_ = cells;
    } else if (!columns_.empty()) {
      sample(cells);
      columns_.clear();
    } else if (const size_t equals = text.find('='); equals != text.npos) {
      assignment(trim(text.substr(0, equals)), words(text.substr(equals + 1)));
    }
  }

  Output take() { return std::move(output_); }

 private:
  void sample(const std::vector<std::string_view>& cells) {
    for (size_t i = 0; i < columns_.size() && i < cells.size(); i++)
      if (columns_[i] == "Median" && statistic_ == Statistic::kMedian) median_ = number(cells[i]);
  }

  // `left` is "<kernel> time", "<kernel> overhead", "<kernel> median_ovrhd" or the ping-pong's title.
  void assignment(std::string_view left, const std::vector<std::string_view>& right) {
    const size_t space = left.find_last_of(kBlank);
    if (right.size() < 2 || space == left.npos) return;
    const auto value = number(right[0]);
    if (!value) return;
    if (left == "Ping-pong one-way hop") {
      if (right[1] == "ns") output_.hop_ns.push_back(*value);
      return;
    }
    const std::string_view what = left.substr(space + 1), kernel = trim(left.substr(0, space));
    if (right[1] != "microseconds" || kernel.starts_with("reference time")) return;
    if (what == "time") {
      current_ = {std::string(kernel), median_.value_or(*value), 0, 0};
      have_time_ = true;
    } else if (what == "overhead" && have_time_ && current_.kernel == kernel && right.size() >= 4) {
      const auto noise = number(right[3]);
      if (!noise) return;
      current_.overhead = *value;
      current_.noise = *noise;
      have_time_ = false;
      output_.kernels.push_back(current_);
    } else if (what == "median_ovrhd" && statistic_ == Statistic::kMedian && !output_.kernels.empty() &&
               output_.kernels.back().kernel == kernel) {
      output_.kernels.back().overhead = *value;
      const auto noise = right.size() >= 4 ? number(right[3]) : std::nullopt;
      if (noise) output_.kernels.back().noise = *noise;
    }
  }

  const Statistic statistic_;
  Output output_;
  Figures current_;
  bool have_time_ = false;
  std::optional<double> median_;
  std::vector<std::string_view> columns_;  // of the table whose value line comes next
};

}  // namespace

Output parse_output(std::string_view text, Statistic statistic) {
  Reader reader(statistic);
  while (!text.empty()) {
    const size_t length = std::min(text.find('\n'), text.size());
    reader.line(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return reader.take();
}

}  // namespace smelt::epcc
