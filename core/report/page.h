// One HTML file that needs nothing else: style, script and pictures are inside, and its policy forbids it to fetch,
// send or run anything but its own script, so that a profile's text cannot either.
#pragma once

#include <string>
#include <vector>

namespace smelt {

struct ReportSection {
  std::string id;     // of letters and hyphens
  std::string title;  // text, as the next ones
  std::string html;
};

struct ReportPage {
  std::string title, subtitle;
  std::vector<ReportSection> sections;
  std::string data;    // JSON for the script
  std::string footer;  // text
};

std::string html_page(const ReportPage& page);

}  // namespace smelt
