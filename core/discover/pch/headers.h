// What most files of the offline half include, compiled once where -Db_pch=true says so. Nobody includes this file.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
