#include "args.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 1024
#define MAX_TEXTS (INT32_MAX - 1)

static void texts_free(Texts *self) {
    free(self->prints);
    free(self->ends);
    free(self->slots);
    free(self->gathered);
    memset(self, 0, sizeof *self);
}

void args_free(Args *self) {
    for (int i = 0; i < self->count; i++) {
        free(self->keys[i].name);
        texts_free(&self->keys[i].texts);
    }
    free(self->scratch);
    memset(self, 0, sizeof *self);
}

static inline uint64_t load(const uint8_t *at, size_t length) {
    uint64_t value = 0;
    memcpy(&value, at, length);
    return value;
}

/* Both halves of a 128-bit product, folded. */
static inline uint64_t mix(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 Wide;
    Wide product = (Wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t low = a * b, cross = (a >> 32) * (b & UINT32_MAX), other = (a & UINT32_MAX) * (b >> 32);
    return low ^ ((a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32)) ^ (cross << 32) ^ (other << 7);
#endif
}

static Print print_of(uint64_t seed, const uint8_t *text, size_t length) {
    const uint64_t one = seed | 1, two = (seed ^ UINT64_C(0x9E3779B97F4A7C15)) | 1;
    Print out = {mix(seed ^ length, one), mix(~seed ^ length, two)};
    for (; length; ) {
        size_t step = length < 8 ? length : 8;
        uint64_t word = load(text, step);
        out.low = mix(out.low ^ word, one) + (out.low << 17 | out.low >> 47);
        out.high = mix(out.high + word, two) ^ (out.high << 29 | out.high >> 35);
        text += step;
        length -= step;
    }
    out.low = mix(out.low ^ UINT64_C(0xD6E8FEB86659FD93), one);
    out.high = mix(out.high ^ UINT64_C(0xA0761D6478BD642F), two);
    return out;
}

static int grow_slots(Texts *self) {
    size_t count = self->slot_count ? self->slot_count * 2 : FIRST_SLOTS, mask = count - 1;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots) return 0;
    for (size_t index = 0; index < self->count; index++) {
        size_t slot = (size_t)self->prints[index].low & mask;
        while (slots[slot]) slot = (slot + 1) & mask;
        slots[slot] = (uint32_t)index + 1;
    }
    free(self->slots);
    self->slots = slots;
    self->slot_count = count;
    return 1;
}

/* Grows a block to `used` + `more` items; NULL if out of memory, and the old block stays valid. */
static void *larger(void *block, size_t used, size_t more, size_t *size, size_t width) {
    if (*size - used >= more) return block;
    size_t wanted = *size + *size / 2 + more + 256;
    void *found = realloc(block, wanted * width);
    if (found) *size = wanted;
    return found;
}

static int reserve(Texts *self, size_t length) {
    if (self->count >= MAX_TEXTS) return 0;
    if (self->count == self->size) {
        size_t size = self->size, same = self->size;
        Print *prints = larger(self->prints, self->count, 1, &size, sizeof *prints);
        if (!prints) return 0;
        self->prints = prints;
        int64_t *ends = larger(self->ends, self->count, 1, &same, sizeof *ends);
        if (!ends) return 0;
        self->ends = ends;
        self->size = size;
    }
    uint8_t *gathered = larger(self->gathered, self->gathered_count, length + 1, &self->gathered_size, 1);
    if (!gathered) return 0;
    self->gathered = gathered;
    return (self->count + 1) * 4 <= self->slot_count * 3 || grow_slots(self);
}

int32_t texts_index(Texts *self, const uint8_t *text, size_t length) {
    if (!reserve(self, length)) return -1;
    Print print = print_of(self->seed, text, length);
    size_t mask = self->slot_count - 1, slot = (size_t)print.low & mask;
    for (uint32_t found; (found = self->slots[slot]); slot = (slot + 1) & mask) {
        const Print *known = &self->prints[found - 1];
        if (known->low == print.low && known->high == print.high) return (int32_t)(found - 1);
    }
    if (length) memcpy(self->gathered + self->gathered_count, text, length);
    self->gathered_count += length;
    self->prints[self->count] = print;
    self->ends[self->count] = (self->count ? self->ends[self->count - 1] : 0) + (int64_t)length;
    self->slots[slot] = (uint32_t)++self->count;
    return (int32_t)self->count - 1;
}

static int64_t whole(Span text) {
    const uint8_t *p = text.start;
    uint64_t value = 0;
    int negative = *p == '-';
    for (p += negative; p < text.end; p++) {
        if (*p < '0' || *p > '9') return NO_VALUE; /* a fraction or an exponent */
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *p - '0', &value)) return NO_VALUE;
    }
    if (value > INT64_MAX) return NO_VALUE;
    return negative ? -(int64_t)value : (int64_t)value;
}

/* Finds one requested value; both spans are NULL for another type. */
typedef struct {
    Span text, number;
    int escaped;
} Value;

static JsonStatus read_value(const uint8_t **at, const uint8_t *end, int is_text, Value *out) {
    memset(out, 0, sizeof *out);
    if (is_text && **at == '"') return json_string(at, end, &out->text, &out->escaped);
    if (!is_text && (**at == '-' || (**at >= '0' && **at <= '9'))) return json_number(at, end, &out->number);
    return json_value(at, end);
}

static int key_of(const Args *self, Span name, unsigned wanted) {
    size_t length = (size_t)(name.end - name.start);
    for (int i = 0; i < self->count; i++)
        if (wanted >> i & 1 && self->keys[i].length == length && memcmp(self->keys[i].name, name.start, length) == 0)
            return i;
    return -1;
}

/* Finds the requested values of one object, the last of duplicate keys. Nonzero if the data are exactly one object. */
static int find_values(const Args *self, const uint8_t *p, const uint8_t *end, unsigned wanted, Value *values) {
    int escaped;
    Span name;
    Value ignored;
    p = skip_blanks(p, end);
    if (p == end || *p != '{') return 0;
    p = skip_blanks(p + 1, end);
    if (p < end && *p == '}') return skip_blanks(p + 1, end) == end;
    for (;;) {
        if (p == end || *p != '"' || json_string(&p, end, &name, &escaped) != JSON_OK || escaped) return 0;
        p = skip_blanks(p, end);
        if (p == end || *p != ':') return 0;
        p = skip_blanks(p + 1, end);
        if (p == end) return 0;
        int key = key_of(self, name, wanted);
        Value *value = key < 0 ? &ignored : &values[key];
        if (read_value(&p, end, key >= 0 && self->keys[key].is_text, value) != JSON_OK) return 0;
        p = skip_blanks(p, end);
        if (p < end && *p == '}') return skip_blanks(p + 1, end) == end;
        if (p == end || *p != ',') return 0;
        p = skip_blanks(p + 1, end);
    }
}

static ArgsStatus text_index(Args *self, Texts *texts, const Value *value, int64_t *out) {
    const uint8_t *start = value->text.start;
    size_t length = (size_t)(value->text.end - start);
    if (!length) return ARGS_OK; /* no value */
    if (value->escaped) {
        uint8_t *scratch = larger(self->scratch, 0, length, &self->scratch_size, 1);
        if (!scratch) return ARGS_MEMORY;
        self->scratch = scratch;
        length = json_unescape(value->text, scratch);
        start = scratch;
    }
    int32_t index = texts_index(texts, start, length);
    *out = index;
    return index < 0 ? ARGS_MEMORY : ARGS_OK;
}

ArgsStatus args_read(Args *self, const uint8_t *data, size_t length, unsigned wanted, int64_t *values) {
    Value found[MAX_KEYS];
    memset(found, 0, sizeof found);
    for (int i = 0; i < self->count; i++) values[i] = NO_VALUE;
    if (!wanted) return ARGS_OK;
    if (!find_values(self, data, data + length, wanted, found)) return ARGS_ODD;
    for (int i = 0; i < self->count; i++) {
        if (found[i].number.start) values[i] = whole(found[i].number);
        if (!found[i].text.start) continue;
        ArgsStatus status = text_index(self, &self->keys[i].texts, &found[i], &values[i]);
        if (status != ARGS_OK) return status;
    }
    return ARGS_OK;
}
