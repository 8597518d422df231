// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace fuseplan::api {

/// The types of public objects; a row each in objects.def.
enum class Tag : unsigned {
  none = 0,
#define FUSEPLAN_OBJECT(tag, c_type, object) tag,
#include "api/objects.def"
#undef FUSEPLAN_OBJECT
};
/// "fuseplanPlan_t".
const char* name_of(Tag tag);

/// What the C API hands out instead of pointers: slot (24 bits), generation of the slot (20), type
/// tag (4) and a salt of the process (16), in this order from the lowest bit. Never 0.
using Token = std::uint64_t;

/// Slot of a live object, held by a Pinned.
struct Slot;

using Deleter = void (*)(void* object) noexcept;
/// Takes ownership of `object` in any case. Throws Error(AllocFailed) when all slots are taken.
Token insert_object(Tag tag, void* object, Deleter deleter);
/// Throws Error(BadParm), naming `argument`, unless `token` is a live object of type `tag`. The
/// object is not freed before unpin_object. Takes no lock.
Slot* pin_object(Token token, Tag tag, std::string_view argument);
void* object_of(const Slot* slot) noexcept;
void unpin_object(Slot* slot) noexcept;
/// From now on the token is refused; the object is freed when nobody has it pinned. Throws as
/// pin_object.
void destroy_object(Token token, Tag tag, std::string_view argument);
/// Number of live objects.
long live_objects() noexcept;

/// A live object, kept alive.
template <typename Object>
class Pinned {
 public:
  explicit Pinned(Slot* slot) : slot_(slot) {}
  ~Pinned() {
    if (slot_ != nullptr) unpin_object(slot_);
  }
  Pinned(Pinned&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  Pinned& operator=(Pinned&&) = delete;

  Object& operator*() const { return *static_cast<Object*>(object_of(slot_)); }
  Object* operator->() const { return &**this; }

 private:
  Slot* slot_;
};

}  // namespace fuseplan::api
