// The measured parameters beside the matrices, in a few lines: queues, waiting, fans, copying.
#pragma once

#include <string>
#include <vector>

#include "cli/table.h"
#include "profile/measured.h"

namespace smelt {

// Adds "queues", "waiting", "fans" and "copying": null or empty where nothing was measured.
void add_other_figures(Document& out, const std::vector<QueueCurves>& queues, const WaitFigures& wait,
                       const std::vector<FanCurves>& fans, const std::vector<DistanceCurves>& distances);
Document queues_document(const std::vector<QueueCurves>& queues);

std::string queues_text(const Document& document);         // of those members: where messages queue
std::string other_figures_text(const Document& document);  // the rest

std::string time_text(double ns);  // "13.8 µs", three digits

}  // namespace smelt
