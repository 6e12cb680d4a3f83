/* Scans blocks of a file separately and merges their rows. */
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "walker.h"

#define AHEAD 16 /* texts hashed before the first lookup, while their slots are fetched into the cache */

static const uint8_t *skip_blanks_back(const uint8_t *start, const uint8_t *at) {
    while (at > start && (at[-1] == ' ' || at[-1] == '\n' || at[-1] == '\r' || at[-1] == '\t')) at--;
    return at;
}

const uint8_t *likely_cut(const uint8_t *at, const uint8_t *end) {
    for (const uint8_t *p = at; p < end && (p = memchr(p, '{', (size_t)(end - p))); p++) {
        const uint8_t *comma = skip_blanks_back(at, p), *key = skip_blanks(p + 1, end);
        if (comma == at || comma[-1] != ',' || key == end || *key != '"') continue;
        const uint8_t *brace = skip_blanks_back(at, comma - 1);
        if (brace > at && brace[-1] == '}') return p;
    }
    return NULL;
}

/* Indices in `self` of the texts of `other`. */
static int adopt_texts(Interner *self, const Interner *other, int32_t *indices) {
    uint32_t hash[AHEAD];
    for (size_t first = 0; first < other->count; first += AHEAD) {
        size_t count = other->count - first < AHEAD ? other->count - first : AHEAD;
        const uint64_t *ends = other->ends + first;
        for (size_t i = 0; i < count; i++)
            hash[i] = interner_hash(self, other->arena + ends[i], (size_t)(ends[i + 1] - ends[i]));
        for (size_t i = 0; i < count; i++) {
            int32_t index = interner_index(self, other->arena + ends[i], (size_t)(ends[i + 1] - ends[i]), hash[i]);
            if (index < 0) return 0;
            indices[first + i] = index;
        }
    }
    return 1;
}

int walker_adopt(Walker *self, Walker *other) {
    for (int kind = 0; kind < TEXTS; kind++) {
        size_t count = other->texts[kind].count;
        if (!count) continue;
        int32_t *indices = malloc(count * sizeof *indices), *codes = other->columns.text[kind];
        int good = indices && adopt_texts(&self->texts[kind], &other->texts[kind], indices);
        for (size_t row = 0; good && row < other->columns.count; row++)
            if (codes[row] >= 0) codes[row] = indices[codes[row]];
        free(indices);
        if (!good) return 0;
    }
    return 1;
}
