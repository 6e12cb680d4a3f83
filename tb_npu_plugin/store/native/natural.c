#include "natural.h"

#include <stdlib.h>
#include <string.h>

/* As in texts.py. */
enum { END = 1, NUMBER = 2, LENGTHS = 3, LONGEST = 0xD000 };

/* The next 8 bytes of a text's key, the first one highest. */
typedef struct {
    uint64_t word;
    int32_t index;
} Entry;

typedef struct {
    TextBlob texts;
    uint8_t *parts;  /* keys without the texts at their ends */
    size_t *starts; /* of the parts; one more than texts */
} Keys;

static int is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

static uint8_t *put_character(uint8_t *out, unsigned character) {
    if (character < 0x80) {
        *out++ = (uint8_t)character;
    } else if (character < 0x800) {
        *out++ = (uint8_t)(0xC0 | character >> 6);
        *out++ = (uint8_t)(0x80 | (character & 0x3F));
    } else {
        *out++ = (uint8_t)(0xE0 | character >> 12);
        *out++ = (uint8_t)(0x80 | (character >> 6 & 0x3F));
        *out++ = (uint8_t)(0x80 | (character & 0x3F));
    }
    return out;
}

/* Writes the part of a text, and returns its end. */
static uint8_t *put_part(uint8_t *out, const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        if (!is_digit(*at)) {
            *out++ = *at >= 'A' && *at <= 'Z' ? *at | 0x20 : *at;
            at++;
            continue;
        }
        while (at < end && *at == '0') at++;
        const uint8_t *first = at;
        while (at < end && is_digit(*at)) at++;
        size_t digits = (size_t)(at - first);
        *out++ = NUMBER;
        out = put_character(out, LENGTHS + (unsigned)(digits < LONGEST ? digits : LONGEST));
        memcpy(out, first, digits);
        out += digits;
    }
    *out++ = END;
    return out;
}

/* Bytes that the parts take at most. */
static size_t size_of_parts(TextBlob folded, size_t count) {
    size_t size = count;
    for (size_t i = 0; i < count; i++) {
        int was_digit = 0;
        for (int64_t at = folded.ends[i]; at < folded.ends[i + 1]; at++) {
            int digit = is_digit(folded.blob[at]);
            size += digit && !was_digit ? 5 : 1;
            was_digit = digit;
        }
    }
    return size;
}

static uint64_t word_at(const Keys *keys, int32_t index, size_t depth) {
    const uint8_t *part = keys->parts + keys->starts[index];
    size_t length = keys->starts[index + 1] - keys->starts[index];
    uint64_t word = 0;
    if (depth + 8 <= length) {
        for (int i = 0; i < 8; i++) word = word << 8 | part[depth + (size_t)i];
        return word;
    }
    const uint8_t *text = keys->texts.blob + keys->texts.ends[index];
    size_t all = length + (size_t)(keys->texts.ends[index + 1] - keys->texts.ends[index]);
    for (size_t at = depth; at < depth + 8; at++)
        word = word << 8 | (at < length ? part[at] : at < all ? text[at - length] : 0);
    return word;
}

static size_t length_of(const Keys *keys, int32_t index) {
    return keys->starts[index + 1] - keys->starts[index] +
           (size_t)(keys->texts.ends[index + 1] - keys->texts.ends[index]);
}

/* Whether one key is below the other; both are equal before `depth`, where their words are. */
static int is_below(const Keys *keys, const Entry *one, const Entry *other, size_t depth) {
    if (one->word != other->word) return one->word < other->word;
    size_t left = length_of(keys, one->index), right = length_of(keys, other->index);
    for (depth += 8; depth < left && depth < right; depth += 8) {
        uint64_t mine = word_at(keys, one->index, depth), theirs = word_at(keys, other->index, depth);
        if (mine != theirs) return mine < theirs;
    }
    return left != right ? left < right : one->index < other->index;
}

static void heap_sort(const Keys *keys, Entry *entries, size_t count, size_t depth) {
    for (size_t start = count / 2, end = count; end > 1;) {
        Entry moved;
        if (start) {
            moved = entries[--start];
        } else {
            moved = entries[--end];
            entries[end] = entries[0];
        }
        size_t at = start;
        for (size_t child; (child = 2 * at + 1) < end; at = child) {
            if (child + 1 < end && is_below(keys, &entries[child], &entries[child + 1], depth)) child++;
            if (!is_below(keys, &moved, &entries[child], depth)) break;
            entries[at] = entries[child];
        }
        entries[at] = moved;
    }
}

static void swap(Entry *one, Entry *other) {
    Entry kept = *one;
    *one = *other;
    *other = kept;
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Quicksort in three parts by the words; those with equal words go on with the next 8 bytes. After `rounds` parts in one
 * another, a heap sorts what is left: no text can make this slow or deep. */
static void sort(const Keys *keys, Entry *entries, size_t count, size_t depth, int rounds) {
    while (count > 16 && rounds-- > 0) {
        uint64_t pivot = median(entries[0].word, entries[count / 2].word, entries[count - 1].word);
        size_t below = 0, above = count;
        for (size_t at = 0; at < above;) {
            if (entries[at].word < pivot)
                swap(&entries[at++], &entries[below++]);
            else if (entries[at].word > pivot)
                swap(&entries[at], &entries[--above]);
            else
                at++;
        }
        sort(keys, entries, below, depth, rounds);
        sort(keys, entries + above, count - above, depth, rounds);
        entries += below;
        count = above - below;
        depth += 8;
        for (size_t at = 0; at < count; at++) entries[at].word = word_at(keys, entries[at].index, depth);
    }
    heap_sort(keys, entries, count, depth);
}

int natural_order(TextBlob texts, TextBlob folded, size_t count, int32_t *order) {
    int rounds = 32;
    for (size_t left = count; left; left /= 2) rounds += 2;
    Keys keys = {texts, malloc(size_of_parts(folded, count) + 1), malloc((count + 1) * sizeof *keys.starts)};
    Entry *entries = malloc((count + 1) * sizeof *entries);
    int good = keys.parts && keys.starts && entries;
    if (good) {
        uint8_t *out = keys.parts;
        for (size_t i = 0; i < count; i++) {
            keys.starts[i] = (size_t)(out - keys.parts);
            out = put_part(out, folded.blob + folded.ends[i], folded.blob + folded.ends[i + 1]);
        }
        keys.starts[count] = (size_t)(out - keys.parts);
        for (size_t i = 0; i < count; i++) entries[i] = (Entry){word_at(&keys, (int32_t)i, 0), (int32_t)i};
        sort(&keys, entries, count, 0, rounds);
        for (size_t i = 0; i < count; i++) order[i] = entries[i].index;
    }
    free(keys.parts);
    free(keys.starts);
    free(entries);
    return good;
}
