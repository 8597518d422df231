// SPDX-License-Identifier: MIT
#include "api_declarations.hpp"

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace fuseplan::test {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> parameter_names(const std::string& list) {
  std::vector<std::string> names;
  if (list == "void") return names;
  std::stringstream parameters(list);
  for (std::string parameter; std::getline(parameters, parameter, ',');)
    names.push_back(parameter.substr(parameter.find_last_of(" *\n") + 1));
  return names;
}

std::vector<Declaration> read_declarations() {
  std::vector<Declaration> found;
  const std::regex declaration(R"(FUSEPLAN_API\s[\w\s\*]*?(fuseplan\w+)\(([^;]*)\);)");
  for (const auto& entry : std::filesystem::directory_iterator(FUSEPLAN_HEADER_DIR)) {
    if (entry.path().extension() != ".h") continue;
    const std::string text = read(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it)
      found.push_back({(*it)[1], parameter_names((*it)[2])});
  }
  return found;
}

}  // namespace

const std::vector<Declaration>& declarations() {
  static const std::vector<Declaration> all = read_declarations();
  return all;
}

const Declaration& declaration_of(const std::string& function) {
  for (const Declaration& declaration : declarations())
    if (declaration.name == function) return declaration;
  throw std::invalid_argument("no declaration of " + function);
}

}  // namespace fuseplan::test
