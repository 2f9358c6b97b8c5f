# Sourced with $programs set: without programs that clang built there is nothing to test (meson.build says what is needed).
if [ ! -x "$programs/constructs" ]; then
  echo "skip: clang, or its OpenMP (Debian: clang, libomp-dev), is not installed"
  exit 77
fi
