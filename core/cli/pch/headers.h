// What nearly every file of the program includes, compiled once where -Db_pch=true says so. Nobody includes this file.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
