/* Texts to indices in order of first use. */
#ifndef TB_NPU_INTERNER_H
#define TB_NPU_INTERNER_H

#include <stddef.h>
#include <stdint.h>

/* A short text, its first and last bytes overlapping, and its index. */
typedef struct {
    uint64_t head, tail;
    uint32_t length;
    int32_t index;
} Recent;

enum { RECENT_BITS = 6, RECENT = 1 << RECENT_BITS };

typedef struct {
    uint64_t seed;
    uint8_t *arena; /* all texts, concatenated */
    size_t arena_size;
    uint64_t *ends; /* of the texts in the arena; ends[0] is 0, text i is [ends[i], ends[i + 1]) */
    size_t count, size;
    uint64_t *slots; /* open addressing: hash and index + 1, 0 for free; a power of two of them */
    size_t slot_count;
    Recent recent[RECENT]; /* cache of recent short texts; index -1: empty */
} Interner;

void interner_init(Interner *self, uint64_t seed);
void interner_free(Interner *self);
/* Removes all texts but the first `count`, and keeps the memory. */
void interner_truncate(Interner *self, size_t count);

/* Index of a text if it is in the cache of recent short texts, else -1. */
int32_t interner_recent(const Interner *self, const uint8_t *text, size_t length);
/* The hash for interner_index. Prefetches its slot in the table. */
uint32_t interner_hash(const Interner *self, const uint8_t *text, size_t length);
/* Index of the text, added if new; -1 if out of memory or of indices. */
int32_t interner_index(Interner *self, const uint8_t *text, size_t length, uint32_t hash);

#endif
