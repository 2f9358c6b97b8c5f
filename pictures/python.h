// Pictures and pages are drawn by draw.py, of the documents that --json prints.
#pragma once

#include <string>

#include "cli/table.h"

namespace smelt {

// Hands a document to draw.py, which writes `output` ("-": standard output) in the form that its name says.
// `what` is the kind of the document: a picture of smelt draw, plots, report. Throws UserError where Python or the
// program is missing; returns the exit code, after a line that says what is wrong.
int draw_document(const std::string& what, const std::string& output, const Document& document);

}  // namespace smelt
