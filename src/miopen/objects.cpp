// SPDX-License-Identifier: MIT
#include "miopen/objects.hpp"

#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace fuseplan::miopen {
namespace {

struct Registry {
  struct Entry {
    Tag tag;
    std::shared_ptr<void> object;
  };
  std::shared_mutex mutex;
  std::unordered_map<Token, Entry> entries;
  Token last = 0;

  auto locate(Token token, Tag tag, std::string_view argument) {
    const auto found = entries.find(token);
    require(found != entries.end() && found->second.tag == tag, miopenStatusBadParm, "{} is {}",
            argument, token == 0 ? "NULL" : "no live object of its type");
    return found;
  }
};

// Never destroyed: programs end plans from static destructors, after this library's own would run.
Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

}  // namespace

Token insert_object(Tag tag, std::shared_ptr<void> object) {
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  // Odd, so that it is never the address of anything either.
  const Token token = (all.last += 2) | 1;
  all.entries.emplace(token, Registry::Entry{tag, std::move(object)});
  return token;
}

std::shared_ptr<void> find_object(Token token, Tag tag, std::string_view argument) {
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  return all.locate(token, tag, argument)->second.object;
}

void erase_object(Token token, Tag tag, std::string_view argument) {
  std::shared_ptr<void> last;  // destroyed outside the lock
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  const auto found = all.locate(token, tag, argument);
  last = std::move(found->second.object);
  all.entries.erase(found);
}

}  // namespace fuseplan::miopen
