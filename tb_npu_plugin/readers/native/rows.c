#include "rows.h"

#include <stdlib.h>
#include <string.h>

#define NULL_INT INT64_MIN
/* Python's decimals have 28 digits: larger products would be rounded twice there. */
#define PRODUCT_DIGITS 28

int rows_init(Rows *self, RowsColumn *columns, size_t width, size_t capacity, size_t max_bytes) {
    memset(self, 0, sizeof *self);
    self->columns = columns;
    self->width = width;
    self->capacity = capacity;
    self->max_bytes = max_bytes;
    int good = 1;
    for (size_t i = 0; i < width; i++) {
        if (columns[i].kind == CELL_SKIP) continue;
        columns[i].values = calloc(capacity, rows_value_size(&columns[i]));
        if (!columns[i].values) good = 0;
    }
    return good;
}

void rows_free(Rows *self) {
    for (size_t i = 0; i < self->width; i++) {
        free(self->columns[i].values);
        free(self->columns[i].header);
    }
    free(self->columns);
    free(self->scratch);
    memset(self, 0, sizeof *self);
}

size_t rows_value_size(const RowsColumn *column) { return column->kind == CELL_TEXT ? 4 : 8; }

static int is_blank(uint8_t byte) { return byte == ' ' || byte == '\t'; }

/* exponent: at most 19. */
static uint64_t power_of_ten(int exponent) {
    uint64_t result = 1;
    while (exponent-- > 0) result *= 10;
    return result;
}

static int scaled(const Decimal *value, double factor, int64_t *out) {
    if (factor == 1000) return decimal_thousandfold(value, out);
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 Wide;
    Wide product = (Wide)value->mantissa * (uint64_t)factor; /* at most 2^64 * 2^30 */
    if (product / power_of_ten(19) >= power_of_ten(PRODUCT_DIGITS - 19)) return 0;
    uint64_t divisor = power_of_ten(value->decimals), half = divisor / 2;
    Wide quotient = product / divisor, rest = product % divisor;
    if (quotient >= INT64_MAX) return 0;
    int64_t result = (int64_t)quotient;
    if (divisor > 1 && (rest > half || (rest == half && (result & 1)))) result++;
    *out = value->negative ? -result : result;
    return 1;
#else
    return 0;
#endif
}

static int whole(const Decimal *value, int64_t *out) {
    uint64_t divisor = power_of_ten(value->decimals), result = value->mantissa / divisor;
    if (value->mantissa % divisor || result > INT64_MAX) return 0;
    *out = value->negative ? -(int64_t)result : (int64_t)result;
    return 1;
}

/* 0 for a cell that is odd: neither a plain figure nor a plain "no value". */
static int put_figure(RowsColumn *column, size_t row, const uint8_t *start, const uint8_t *end) {
    int64_t *ints = column->values;
    double *floats = column->values;
    while (start < end && is_blank(*start)) start++;
    while (start < end && is_blank(end[-1])) end--;
    if (start == end || (end - start == 3 && memcmp(start, "N/A", 3) == 0)) {
        if (column->required) return 0;
        if (column->kind == CELL_FLOAT)
            floats[row] = __builtin_nan("");
        else
            ints[row] = NULL_INT;
        return 1;
    }
    Decimal value;
    Span text = {start, end};
    if (!decimal_of(text, &value)) return 0;
    if (column->kind == CELL_WHOLE) return whole(&value, &ints[row]);
    if (column->kind == CELL_INT) return scaled(&value, column->factor, &ints[row]);
    if (!decimal_double(&value, &floats[row])) return 0;
    floats[row] *= column->factor;
    return 1;
}

/* Bytes of the character of white space at `at`, as str.strip knows them; 0 for another character. */
static int space_length(const uint8_t *at, const uint8_t *end) {
    static const char WIDE[][4] = {"\xE1\x9A\x80", "\xE2\x80\xA8", "\xE2\x80\xA9",
                                   "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};
    if (*at <= ' ') return *at == ' ' || (*at >= '\t' && *at <= '\r') || (*at >= 0x1C && *at <= 0x1F);
    if (*at < 0x80) return 0;
    if (end - at >= 2 && *at == 0xC2) return at[1] == 0x85 || at[1] == 0xA0 ? 2 : 0;
    if (end - at < 3) return 0;
    if (*at == 0xE2 && at[1] == 0x80 && at[2] >= 0x80 && at[2] <= 0x8A) return 3;
    for (size_t i = 0; i < sizeof WIDE / sizeof *WIDE; i++)
        if (memcmp(at, WIDE[i], 3) == 0) return 3;
    return 0;
}

static Span stripped(const uint8_t *start, const uint8_t *end) {
    for (int length; start < end && (length = space_length(start, end)); start += length) {}
    while (start < end) {
        const uint8_t *last = end - 1;
        while (last > start && end - last < 3 && (*last & 0xC0) == 0x80) last--;
        if (!space_length(last, end)) break;
        end = last;
    }
    return (Span){start, end};
}

int32_t texts_code(Texts *self, const uint8_t *text, size_t length) {
    int32_t index = interner_recent(&self->interner, text, length);
    if (index < 0)
        index = interner_index(&self->interner, text, length, interner_hash(&self->interner, text, length));
    return index < 0 || index > INT32_MAX - self->first ? -1 : self->first + index;
}

static RowsStatus put_cell(Rows *self, size_t at, const uint8_t *start, const uint8_t *end) {
    RowsColumn *column = &self->columns[at];
    if (column->kind == CELL_SKIP) return ROWS_FULL;
    if (column->kind != CELL_TEXT) return put_figure(column, self->count, start, end) ? ROWS_FULL : ROWS_ODD;
    Span text = stripped(start, end);
    size_t length = (size_t)(text.end - text.start);
    int32_t *code = (int32_t *)column->values + self->count;
    *code = -1;
    if (!length || (length == 3 && memcmp(text.start, "N/A", 3) == 0)) return column->required ? ROWS_ODD : ROWS_FULL;
    if (column->is_quoted && length > 1 && *text.start == '"' && text.end[-1] == '"') {
        text.start++;
        length -= 2;
    }
    *code = texts_code(column->texts, text.start, length);
    return *code < 0 ? ROWS_MEMORY : ROWS_FULL;
}

static int is_header_cell(const RowsColumn *column, const uint8_t *start, const uint8_t *end) {
    size_t length = (size_t)(end - start);
    return column->header && column->header_length == length && memcmp(column->header, start, length) == 0;
}

/* A quoted cell, *at behind its first quote; *at is moved behind the last one. The content is in the data, or in the
 * scratch where quotes are doubled. */
static RowsStatus quoted_cell(Rows *self, const uint8_t **at, const uint8_t *end, Span *content) {
    const uint8_t *p = *at, *part = p;
    size_t used = 0;
    for (;; p++) {
        if (p == end) return ROWS_SHORT;
        if (*p == '\n' || (*p == '\r' && p + 1 < end && p[1] != '\n')) self->lines++;
        if (*p != '"') continue;
        if (p + 1 == end) return ROWS_SHORT;
        if (p[1] != '"' && !used) {
            content->start = part;
            content->end = p;
            break;
        }
        size_t length = (size_t)(p - part) + (p[1] == '"'); /* one quote of two is kept */
        if (self->scratch_size - used < length || !self->scratch) {
            size_t size = (used + length) * 2 + 256;
            uint8_t *scratch = realloc(self->scratch, size);
            if (!scratch) return ROWS_MEMORY;
            self->scratch = scratch;
            self->scratch_size = size;
        }
        memcpy(self->scratch + used, part, length);
        used += length;
        if (p[1] != '"') {
            content->start = self->scratch;
            content->end = self->scratch + used;
            break;
        }
        part = ++p + 1;
    }
    *at = p + 1;
    return ROWS_FULL;
}

/* One row; *at is moved behind its line break. */
static RowsStatus read_row(Rows *self, const uint8_t **at, const uint8_t *end) {
    const uint8_t *p = *at;
    int repeats_header = 1;
    if (p == end) return ROWS_SHORT;
    if (*p == '\n' || *p == '\r') return ROWS_ODD;
    for (size_t cell = 0;; cell++) {
        Span content = {p, p};
        if (cell == self->width) return ROWS_ODD;
        if (p < end && *p == '"') {
            p++;
            RowsStatus status = quoted_cell(self, &p, end, &content);
            if (status != ROWS_FULL) return status;
        } else {
            while (p < end && *p != ',' && *p != '\n' && *p != '\r') p++;
            content.end = p;
        }
        if (p == end) return ROWS_SHORT;
        if (*p == '\r' && p + 1 == end) return ROWS_SHORT;
        if (*p != ',' && *p != '\n' && (*p != '\r' || p[1] != '\n')) return ROWS_ODD;
        repeats_header = repeats_header && is_header_cell(&self->columns[cell], content.start, content.end);
        RowsStatus status = put_cell(self, cell, content.start, content.end);
        if (status != ROWS_FULL) return status;
        if (*p++ == ',') continue;
        if (p[-1] == '\r') p++;
        if (cell + 1 != self->width || repeats_header) return ROWS_ODD;
        break;
    }
    if ((size_t)(p - *at) > self->max_bytes) return ROWS_ODD;
    self->lines++;
    *at = p;
    return ROWS_FULL;
}

/* Bytes of the UTF-8 sequence at `at`; 0 where Python finds none, and for NUL. */
static int sequence(const uint8_t *at, const uint8_t *end) {
    uint8_t lead = *at, low = 0x80, high = 0xBF;
    int length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (!lead || !length || end - at < length) return 0;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    if (length > 1 && (at[1] < low || at[1] > high)) return 0;
    for (int i = 2; i < length; i++)
        if (at[i] < 0x80 || at[i] > 0xBF) return 0;
    return length;
}

static int is_text(const uint8_t *at, const uint8_t *end) {
    const uint64_t ones = UINT64_C(0x0101010101010101), high = UINT64_C(0x8080808080808080);
    while (at < end) {
        uint64_t bytes;
        for (; end - at >= 8; at += 8) {
            memcpy(&bytes, at, 8);
            if (((bytes - ones) | bytes) & high) break; /* NUL or not ASCII, at least in the first of such words */
        }
        int length = at < end ? sequence(at, end) : 0;
        if (at < end && !length) return 0;
        at += length;
    }
    return 1;
}

RowsStatus rows_read(Rows *self, const uint8_t **at, const uint8_t *end) {
    const uint8_t *start = *at;
    RowsStatus status = ROWS_FULL;
    self->count = self->lines = 0;
    while (self->count < self->capacity) {
        size_t lines = self->lines;
        status = read_row(self, at, end);
        if (status == ROWS_SHORT) self->lines = lines;
        if (status != ROWS_FULL) break;
        self->count++;
    }
    if (status == ROWS_SHORT && (size_t)(end - *at) > self->max_bytes) return ROWS_ODD;
    if (status != ROWS_ODD && status != ROWS_MEMORY && !is_text(start, *at)) return ROWS_ODD;
    return status;
}
