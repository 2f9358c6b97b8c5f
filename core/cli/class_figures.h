// A calibration's findings beside the matrices: the classes of pairs, and the winners of its races.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/table.h"
#include "model/cost_model.h"
#include "model/distance.h"
#include "profile/measured.h"
#include "profile/text/image.h"

namespace smelt {

// "same core", "other package (2)": of several classes of one distance, which.
std::string class_name(const ClassFigures& figures, const std::vector<ClassFigures>& all);
std::string marks_text(uint32_t marks);  // "unsteady, wide", "" for none

Document conditions_document(uint32_t conditions);  // a profile's: ["beside other work", "unsteady"]

Document classes_document(const std::vector<ClassFigures>& classes);
Table classes_table(const Document& rows, const std::string& unit);

Document winners_document(const ProfileImage& image);
// Says which pattern won for which CPUs; `cpus` as in MachineFile.
Document winners_document(const std::vector<Winner>& winners, const std::vector<std::vector<uint32_t>>& cpus);
Table winners_table(Document rows);

// The hop matrix in a few lines, nearest first: the cost of a message per class of distance; no line for one CPU.
Document hops_document(const Costs& costs, const std::vector<uint16_t>& package, const std::vector<uint16_t>& core);
Table hops_table(const Document& rows, const std::string& unit);  // of that document

}  // namespace smelt
