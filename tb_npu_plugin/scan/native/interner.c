#define _DEFAULT_SOURCE /* for madvise */
#include "interner.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_SLOTS 1024
#define LARGE (1 << 20) /* smaller tables grow fourfold, as rehashing takes most of their time */
#define HUGE_PAGE ((size_t)2 << 20)
#define MAX_TEXTS (INT32_MAX - 1)

void interner_init(Interner *self, uint64_t seed) {
    memset(self, 0, sizeof *self);
    self->seed = seed;
    interner_truncate(self, 0);
}

void interner_free(Interner *self) {
    free(self->arena);
    free(self->ends);
    free(self->slots);
    interner_init(self, self->seed);
}

static inline uint64_t load8(const uint8_t *at) {
    uint64_t value;
    memcpy(&value, at, 8);
    return value;
}

static inline uint64_t load4(const uint8_t *at) {
    uint32_t value;
    memcpy(&value, at, 4);
    return value;
}

/* Length, head and tail identify a text of at most 16 bytes. */
#define SHORT 16

static inline Recent brief(const uint8_t *text, size_t length) {
    Recent out = {0, 0, (uint32_t)length, -1};
    if (length >= 8) {
        out.head = load8(text);
        out.tail = load8(text + length - 8);
    } else if (length >= 4) {
        out.head = load4(text) << 32 | load4(text + length - 4);
    } else {
        for (size_t i = 0; i < length; i++) out.head = out.head << 8 | text[i];
    }
    return out;
}

static inline size_t recent_slot(const Interner *self, const Recent *text) {
    return (text->head ^ (text->tail << 1)) * (self->seed | 1) >> (64 - RECENT_BITS);
}

int32_t interner_recent(const Interner *self, const uint8_t *text, size_t length) {
    if (length > SHORT) return -1;
    Recent wanted = brief(text, length);
    const Recent *known = &self->recent[recent_slot(self, &wanted)];
    int same = known->head == wanted.head && known->tail == wanted.tail && known->length == wanted.length;
    return same ? known->index : -1;
}

/* The seed is random per scan, so that no file can force collisions. */
uint32_t interner_hash(const Interner *self, const uint8_t *text, size_t length) {
    const uint64_t factor = self->seed | 1;
    const uint8_t *end = text + length;
    uint64_t hash = length;
    if (length >= 8) {
        for (; end - text > 8; text += 8) hash = ((hash << 7 | hash >> 57) ^ load8(text)) * factor;
        hash ^= load8(end - 8);
    } else if (length >= 4) {
        hash ^= load4(text) << 32 | load4(end - 4);
    } else {
        for (; text < end; text++) hash = hash << 8 | *text;
    }
    hash *= factor;
    hash ^= hash >> 32;
    hash *= UINT64_C(0xD6E8FEB86659FD93);
    if (self->slot_count) __builtin_prefetch(&self->slots[hash >> 32 & (self->slot_count - 1)]);
    return (uint32_t)(hash >> 32);
}

/* Zeroed slots. A large table uses huge pages: access is random, and TLB misses would take longer than the reads. */
static uint64_t *new_slots(size_t count) {
    size_t size = count * sizeof(uint64_t);
    if (size < HUGE_PAGE) return calloc(count, sizeof(uint64_t));
    uint64_t *slots = aligned_alloc(HUGE_PAGE, size); /* both are powers of two */
    if (!slots) return NULL;
#ifdef MADV_HUGEPAGE
    madvise(slots, size, MADV_HUGEPAGE);
#endif
    memset(slots, 0, size);
    return slots;
}

static int grow_slots(Interner *self) {
    size_t count = FIRST_SLOTS;
    if (self->slot_count) count = self->slot_count * (self->slot_count < LARGE ? 4 : 2);
    size_t mask = count - 1;
    uint64_t *slots = new_slots(count);
    if (!slots) return 0;
    for (size_t old = 0; old < self->slot_count; old++) {
        if (!self->slots[old]) continue;
        size_t slot = self->slots[old] >> 32 & mask;
        while (slots[slot]) slot = (slot + 1) & mask;
        slots[slot] = self->slots[old];
    }
    free(self->slots);
    self->slots = slots;
    self->slot_count = count;
    return 1;
}

void interner_truncate(Interner *self, size_t count) {
    size_t mask = self->slot_count - 1;
    if (self->slot_count) memset(self->slots, 0, self->slot_count * sizeof *self->slots);
    self->count = count;
    for (int i = 0; i < RECENT; i++) self->recent[i].index = -1;
    for (size_t i = 0; i < count; i++) {
        uint32_t hash = interner_hash(self, self->arena + self->ends[i], self->ends[i + 1] - self->ends[i]);
        size_t slot = hash & mask;
        while (self->slots[slot]) slot = (slot + 1) & mask;
        self->slots[slot] = (uint64_t)hash << 32 | (i + 1);
    }
}

/* Room for one more text of this length. realloc of large blocks moves pages and copies nothing. */
static int reserve(Interner *self, size_t length) {
    if (self->count >= MAX_TEXTS) return 0;
    if (self->count + 1 >= self->size) {
        size_t size = self->size + self->size / 2 + 256;
        uint64_t *ends = realloc(self->ends, size * sizeof *ends);
        if (!ends) return 0;
        ends[0] = 0;
        self->ends = ends;
        self->size = size;
    }
    size_t used = self->ends[self->count];
    if (!self->arena || self->arena_size - used < length) { /* an empty text needs an address, too */
        size_t size = self->arena_size + self->arena_size / 2 + length + 4096;
        uint8_t *arena = realloc(self->arena, size);
        if (!arena) return 0;
        self->arena = arena;
        self->arena_size = size;
    }
    return (self->count + 1) * 4 <= self->slot_count * 3 || grow_slots(self);
}

static int equal(const Interner *self, int32_t index, const uint8_t *text, size_t length) {
    uint64_t start = self->ends[index];
    return self->ends[index + 1] - start == length && (!length || memcmp(self->arena + start, text, length) == 0);
}

static int32_t find_or_add(Interner *self, const uint8_t *text, size_t length, uint32_t hash) {
    if (!reserve(self, length)) return -1;
    size_t mask = self->slot_count - 1, slot = hash & mask;
    for (uint64_t found; (found = self->slots[slot]); slot = (slot + 1) & mask) {
        int32_t index = (int32_t)(uint32_t)found - 1;
        if (found >> 32 == hash && equal(self, index, text, length)) return index;
    }
    uint64_t start = self->ends[self->count];
    if (length) memcpy(self->arena + start, text, length);
    self->slots[slot] = (uint64_t)hash << 32 | ++self->count;
    self->ends[self->count] = start + length;
    return (int32_t)self->count - 1;
}

int32_t interner_index(Interner *self, const uint8_t *text, size_t length, uint32_t hash) {
    int32_t index = find_or_add(self, text, length, hash);
    if (index >= 0 && length <= SHORT) {
        Recent added = brief(text, length);
        added.index = index;
        self->recent[recent_slot(self, &added)] = added;
    }
    return index;
}
