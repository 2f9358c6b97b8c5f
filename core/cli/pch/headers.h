// What nearly every file of the program includes, compiled once where -Db_pch=true says so. Nobody includes this file.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
