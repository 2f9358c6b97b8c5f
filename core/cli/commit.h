// The commit that this program was built of: "c283179a12", with a plus where the tree differed from it; "none" where
// nobody knows, because it was built of a tarball.
#pragma once

namespace smelt {

const char* commit_built();

}  // namespace smelt
