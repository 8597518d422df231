// SPDX-License-Identifier: MIT
#include "api/tokens.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "base/status.hpp"

namespace fuseplan::api {

// One word tells which object a slot has, whether it is alive and how many calls are using it, so
// that pinning is one compare-and-swap and an object is freed exactly once, by whoever leaves last.
struct Slot {
  std::atomic<std::uint64_t> state{0};  // tag << 53 | generation << 33 | live << 32 | pins
  void* object = nullptr;
  Deleter deleter = nullptr;
  std::atomic<std::uint32_t> next_free{0};
  std::uint32_t number = 0;
};

namespace {

static_assert(sizeof(void*) == sizeof(Token), "tokens are handed out as pointers");

constexpr unsigned kSlotBits = 24, kGenerationBits = 20, kTagBits = 4;
constexpr std::uint64_t kLive = std::uint64_t{1} << 32;
constexpr std::uint64_t kPins = kLive - 1;
constexpr std::uint32_t kLastGeneration = (1u << kGenerationBits) - 1;

std::uint32_t generation_of_state(std::uint64_t state) {
  return static_cast<std::uint32_t>(state >> 33) & kLastGeneration;
}

std::uint32_t tag_of_state(std::uint64_t state) {
  return static_cast<std::uint32_t>(state >> (33 + kGenerationBits));
}

std::uint64_t live_state(std::uint32_t generation, Tag tag) {
  return (std::uint64_t{static_cast<unsigned>(tag)} << kGenerationBits | generation) << 33 | kLive;
}

struct Fields {
  std::uint32_t slot, generation, tag, salt;

  explicit Fields(Token token)
      : slot(token & ((1u << kSlotBits) - 1)),
        generation(token >> kSlotBits & kLastGeneration),
        tag(token >> (kSlotBits + kGenerationBits) & ((1u << kTagBits) - 1)),
        salt(static_cast<std::uint32_t>(token >> (kSlotBits + kGenerationBits + kTagBits))) {}
};

Token make_token(std::uint32_t slot, std::uint32_t generation, Tag tag, std::uint32_t salt) {
  Token token = salt;
  token = token << kTagBits | static_cast<unsigned>(tag);
  token = token << kGenerationBits | generation;
  return token << kSlotBits | slot;
}

// Grows in chunks that never move; free slots are a stack whose head carries a counter, so that a
// slot that left and came back between a load and a swap is noticed. No locks: a child of a fork
// finds a table it can use.
class Table {
 public:
  Table() {
    std::uint16_t random = 0;
    // Where there is no randomness, foreign tokens are caught by chance and not for sure.
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
      random = static_cast<std::uint16_t>(getpid());
    salt_ = random | 1u;  // not 0, so that no token is NULL
  }

  std::uint32_t salt() const { return salt_; }
  std::atomic<long>& live() { return live_; }

  Slot* find(std::uint32_t number) const {
    if (number >= used_.load(std::memory_order_acquire)) return nullptr;
    Slot* chunk = chunks_[number / kChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : chunk + number % kChunk;
  }

  Slot& take() {
    std::uint64_t head = free_.load(std::memory_order_acquire);
    while ((head & kNumber) != 0) {
      Slot& slot = *find(static_cast<std::uint32_t>(head & kNumber) - 1);
      const std::uint64_t next = slot.next_free.load(std::memory_order_relaxed);
      if (free_.compare_exchange_weak(head, next_head(head, next), std::memory_order_acq_rel))
        return slot;
    }
    return fresh();
  }

  void give_back(Slot& slot) {
    std::uint64_t head = free_.load(std::memory_order_relaxed);
    do {
      slot.next_free.store(static_cast<std::uint32_t>(head & kNumber), std::memory_order_relaxed);
    } while (!free_.compare_exchange_weak(head, next_head(head, slot.number + 1),
                                          std::memory_order_acq_rel));
  }

 private:
  static constexpr std::uint32_t kChunk = 1u << 11, kChunks = (1u << kSlotBits) / kChunk;
  static constexpr std::uint64_t kNumber = 0xffffffff;  // of `free_`: slot number + 1, 0: none

  static std::uint64_t next_head(std::uint64_t head, std::uint64_t number) {
    return ((head >> 32) + 1) << 32 | number;
  }

  Slot& fresh() {
    std::uint32_t number = used_.load(std::memory_order_acquire);
    do {
      require(number < kChunks * kChunk, Status::AllocFailed,
              "{} objects are alive, there can be no more; are they destroyed after use?", number);
      ensure_chunk(number / kChunk);
    } while (!used_.compare_exchange_weak(number, number + 1, std::memory_order_acq_rel));
    Slot& slot = chunks_[number / kChunk].load(std::memory_order_acquire)[number % kChunk];
    slot.number = number;
    return slot;
  }

  void ensure_chunk(std::uint32_t index) {
    if (chunks_[index].load(std::memory_order_acquire) != nullptr) return;
    auto chunk = std::make_unique<Slot[]>(kChunk);
    Slot* expected = nullptr;
    if (chunks_[index].compare_exchange_strong(expected, chunk.get(), std::memory_order_acq_rel))
      (void)chunk.release();
  }

  std::uint32_t salt_ = 0;
  std::atomic<long> live_{0};
  std::atomic<std::uint32_t> used_{0};
  std::atomic<std::uint64_t> free_{0};
  std::array<std::atomic<Slot*>, kChunks> chunks_{};
};

// Leaked: objects may be destroyed by destructors that run after main.
Table& table() {
  static Table& instance = *new Table;
  return instance;
}

void reclaim(Slot& slot) noexcept {
  slot.deleter(slot.object);
  slot.object = nullptr;
  const std::uint32_t generation =
      generation_of_state(slot.state.load(std::memory_order_relaxed)) + 1;
  table().live().fetch_sub(1, std::memory_order_relaxed);
  if (generation > kLastGeneration) return;  // its numbers are used up: the slot retires
  slot.state.store(std::uint64_t{generation} << 33, std::memory_order_release);
  table().give_back(slot);
}

// Whether a token of these fields may have been handed out: one whose slot has got no further than
// its generation is that of the slot's own type.
bool may_have_been(const Fields& fields) {
  const Slot* slot = table().find(fields.slot);
  if (fields.salt != table().salt() || slot == nullptr) return false;
  const std::uint64_t state = slot->state.load(std::memory_order_relaxed);
  const std::uint32_t generation = generation_of_state(state);
  return fields.generation < generation ||
         (fields.generation == generation && fields.tag == tag_of_state(state));
}

[[noreturn]] void refuse(Token token, Tag tag, std::string_view argument) {
  const Fields fields(token);
  if (token == 0) fail(Status::BadParm, "{} is NULL, expected a {}", argument, name_of(tag));
  const char* other = name_of(static_cast<Tag>(fields.tag));
  if (!may_have_been(fields) || other[0] == '\0')
    fail(Status::BadParm, "{} ({:#x}) is no object of this library, expected a {}", argument, token,
         name_of(tag));
  if (fields.tag != static_cast<unsigned>(tag))
    fail(Status::BadParm, "{} is a {}, expected a {}", argument, other, name_of(tag));
  fail(Status::BadParm, "{} is a {} that was destroyed", argument, name_of(tag));
}

bool is_alive(std::uint64_t state, const Fields& fields) {
  return (state & kLive) != 0 && generation_of_state(state) == fields.generation &&
         tag_of_state(state) == fields.tag;
}

// The slot of a token whose salt and tag are right, or nullptr.
Slot* slot_of(const Fields& fields, Tag tag) {
  if (fields.salt != table().salt() || fields.tag != static_cast<unsigned>(tag)) return nullptr;
  return table().find(fields.slot);
}

}  // namespace

const char* name_of(Tag tag) {
  switch (tag) {
    case Tag::none:
      break;
#define FUSEPLAN_OBJECT(tag, c_type, object) \
  case Tag::tag:                             \
    return #c_type;
#include "api/objects.def"
#undef FUSEPLAN_OBJECT
  }
  return "";
}

Token insert_object(Tag tag, void* object, Deleter deleter) {
  Slot* slot = nullptr;
  try {
    slot = &table().take();
  } catch (...) {
    deleter(object);
    throw;
  }
  slot->object = object;
  slot->deleter = deleter;
  const std::uint32_t generation = generation_of_state(slot->state.load(std::memory_order_relaxed));
  slot->state.store(live_state(generation, tag), std::memory_order_release);
  table().live().fetch_add(1, std::memory_order_relaxed);
  return make_token(slot->number, generation, tag, table().salt());
}

Slot* pin_object(Token token, Tag tag, std::string_view argument) {
  const Fields fields(token);
  Slot* slot = slot_of(fields, tag);
  if (slot == nullptr) refuse(token, tag, argument);
  std::uint64_t state = slot->state.load(std::memory_order_relaxed);
  do {
    if (!is_alive(state, fields)) refuse(token, tag, argument);
  } while (!slot->state.compare_exchange_weak(state, state + 1, std::memory_order_acquire,
                                              std::memory_order_relaxed));
  return slot;
}

void* object_of(const Slot* slot) noexcept { return slot->object; }

void unpin_object(Slot* slot) noexcept {
  const std::uint64_t before = slot->state.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & kPins) == 1 && (before & kLive) == 0) reclaim(*slot);
}

void destroy_object(Token token, Tag tag, std::string_view argument) {
  const Fields fields(token);
  Slot* slot = slot_of(fields, tag);
  if (slot == nullptr) refuse(token, tag, argument);
  std::uint64_t state = slot->state.load(std::memory_order_relaxed);
  do {
    if (!is_alive(state, fields)) refuse(token, tag, argument);
  } while (!slot->state.compare_exchange_weak(state, state & ~kLive, std::memory_order_acq_rel,
                                              std::memory_order_relaxed));
  if ((state & kPins) == 0) reclaim(*slot);
}

long live_objects() noexcept { return table().live().load(std::memory_order_relaxed); }

}  // namespace fuseplan::api
