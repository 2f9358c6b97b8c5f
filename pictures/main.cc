// smelt-pictures: the verbs that draw. People call them as smelt's (core/cli/houses.h).
#include "cli/program.h"
#include "pictures/documents.h"
#include "pictures/python.h"
#include "pictures/verbs.h"

namespace smelt {
namespace {

// smelt tree --format dot.
int put_dot(const Picture& picture) {
  return draw_document("dot", "-", picture.is_tree ? picture_document(picture) : rounds_document(picture));
}

void add_verbs(CLI::App& app, Action& chosen, std::vector<std::string>&) {
  add_draw(app, chosen);
  add_report(app, chosen);
  add_tree(app, chosen, put_dot);
}

}  // namespace
}  // namespace smelt

int main(int argc, char** argv) { return smelt::run_program({smelt::add_verbs}, argc, argv); }
