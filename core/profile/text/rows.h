// The structs of a profile as JSON objects, by their tables in fields.h.
#pragma once

#include <string>
#include <vector>

#include "profile/fields.h"
#include "profile/text/json_checks.h"

namespace smelt {

std::string date_text(int64_t seconds);                   // since 1970: "2026-01-31T12:00:00Z"
std::string duration_text(double seconds);                // "250 ms", "1.5 s", "42 s", "3 min", "2.5 h"
std::string conditions_text(const PackedHeader& header);  // "beside other work (1.3 CPUs), unsteady"

// "name": value, for each field that the JSON form has, in its order. Floats are printed as the shortest decimal that
// reads back as the same float, so that both forms carry the same numbers.
std::vector<std::string> json_members(const Description& description, const void* row);

// The other way. `cpus`: how many the profile has. Throws UserError, one line.
void read_members(const nlohmann::json& object, const JsonChecks& checks, const Description& description, uint32_t cpus,
                  void* row);

// For the program's own reports: names, marks, texts and costs, but nothing that never changes.
nlohmann::ordered_json report_row(const Description& description, const void* row);
template <typename Row>
nlohmann::ordered_json report_row(const Row& row) {
  return report_row(kDescription<Row>, &row);
}

}  // namespace smelt
