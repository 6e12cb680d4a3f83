#include "json.h"

#include <string.h>

#define MAX_DEPTH 64 /* one bit each */

/* Returns the position after one non-ASCII character; NULL if it is not UTF-8. The closing quote bounds the reading. */
static const uint8_t *wide_end(const uint8_t *at, const uint8_t *end) {
    uint8_t first = *at, low = 0x80, high = 0xBF;
    int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4 || end - at <= more) return NULL;
    if (first == 0xE0) low = 0xA0;  /* overlong */
    if (first == 0xED) high = 0x9F; /* surrogates */
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F; /* beyond U+10FFFF */
    if (at[1] < low || at[1] > high) return NULL;
    for (int i = 2; i <= more; i++)
        if (at[i] < 0x80 || at[i] > 0xBF) return NULL;
    return at + more + 1;
}

static int is_hex(uint8_t byte) {
    return (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f');
}

static int is_unit(const uint8_t *at) {
    return at[0] == '\\' && at[1] == 'u' && is_hex(at[2]) && is_hex(at[3]) && is_hex(at[4]) && is_hex(at[5]);
}

/* At \uXXXX: moves *at after it, or after the surrogate pair. Python handles lone surrogates. */
static JsonStatus unit_end(const uint8_t **at, const uint8_t *end) {
    const uint8_t *p = *at;
    if (end - p < 6) return JSON_SHORT;
    if (!is_unit(p)) return JSON_ODD;
    *at = p + 6;
    if ((p[2] | 0x20) != 'd' || p[3] < '8') return JSON_OK;
    if ((p[3] | 0x20) >= 'c') return JSON_ODD;
    if (end - p < 12) return JSON_SHORT;
    *at = p + 12;
    return is_unit(p + 6) && (p[8] | 0x20) == 'd' && (p[9] | 0x20) >= 'c' ? JSON_OK : JSON_ODD;
}

static JsonStatus escape_end(const uint8_t **at, const uint8_t *end) {
    if (end - *at < 2) return JSON_SHORT;
    switch ((*at)[1]) {
    case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
        *at += 2;
        return JSON_OK;
    case 'u':
        return unit_end(at, end);
    default:
        return JSON_ODD;
    }
}

JsonStatus json_string_rest(const uint8_t **at, const uint8_t *end, int *escaped) {
    const uint8_t *p = *at;
    for (;; p = plain_end(p, end)) {
        if (p == end) return JSON_SHORT;
        if (*p == '"') break;
        if (*p == '\\') {
            JsonStatus status = escape_end(&p, end);
            if (status != JSON_OK) return status;
            *escaped = 1;
        } else if (*p >= 0x80) {
            if (!(p = wide_end(p, end))) return JSON_ODD;
        } else {
            return JSON_ODD;
        }
    }
    *at = p;
    return JSON_OK;
}

static unsigned unit_at(const uint8_t *at) {
    unsigned unit = 0;
    for (int i = 2; i < 6; i++) unit = unit << 4 | (at[i] <= '9' ? at[i] - (unsigned)'0' : (at[i] | 0x20u) - 'a' + 10);
    return unit;
}

static uint8_t *put_utf8(uint8_t *out, unsigned point) {
    int more = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const uint8_t FIRST[] = {0, 0xC0, 0xE0, 0xF0};
    *out++ = (uint8_t)(FIRST[more] | point >> 6 * more);
    while (more--) *out++ = (uint8_t)(0x80 | (point >> 6 * more & 0x3F));
    return out;
}

size_t json_unescape(Span content, uint8_t *out) {
    static const char LETTERS[] = "bfnrt", MEANT[] = "\b\f\n\r\t";
    uint8_t *start = out;
    for (const uint8_t *p = content.start; p < content.end;) {
        if (*p != '\\') {
            *out++ = *p++;
        } else if (p[1] == 'u') {
            unsigned point = unit_at(p);
            p += 6;
            if (point >> 11 == 0x1B) { /* the first half of a pair; its second half was checked */
                point = 0x10000 + ((point & 0x3FF) << 10) + (unit_at(p) & 0x3FF);
                p += 6;
            }
            out = put_utf8(out, point);
        } else {
            const char *letter = strchr(LETTERS, p[1]);
            *out++ = letter ? (uint8_t)MEANT[letter - LETTERS] : p[1];
            p += 2;
        }
    }
    return (size_t)(out - start);
}

static const uint8_t *skip_digits(const uint8_t *at, const uint8_t *end) {
    while (at < end && *at >= '0' && *at <= '9') at++;
    return at;
}

JsonStatus json_number(const uint8_t **at, const uint8_t *end, Span *text) {
    const uint8_t *p = *at, *digits;
    if (*p == '-') p++;
    digits = p;
    p = skip_digits(p, end);
    if (p == end) return JSON_SHORT;
    if (p == digits || (*digits == '0' && p - digits > 1)) return JSON_ODD;
    if (*p == '.') {
        digits = ++p;
        p = skip_digits(p, end);
        if (p == end) return JSON_SHORT;
        if (p == digits) return JSON_ODD;
    }
    if ((*p | 0x20) == 'e') {
        p++;
        if (p < end && (*p == '+' || *p == '-')) p++;
        digits = p;
        p = skip_digits(p, end);
        if (p == end) return JSON_SHORT;
        if (p == digits) return JSON_ODD;
    }
    text->start = *at;
    text->end = *at = p;
    return JSON_OK;
}

JsonStatus json_word(const uint8_t **at, const uint8_t *end) {
    const char *word = **at == 't' ? "true" : **at == 'f' ? "false" : "null";
    size_t length = strlen(word);
    if ((size_t)(end - *at) <= length) return JSON_SHORT;
    if (memcmp(*at, word, length) != 0) return JSON_ODD;
    *at += length;
    return JSON_OK;
}

static JsonStatus scalar(const uint8_t **at, const uint8_t *end) {
    Span span;
    int escaped;
    switch (**at) {
    case '"':
        return json_string(at, end, &span, &escaped);
    case 't': case 'f': case 'n':
        return json_word(at, end);
    case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        return json_number(at, end, &span);
    default:
        return JSON_ODD;
    }
}

/* At an expected key: moves *at after the colon and blanks. */
static JsonStatus key_end(const uint8_t **at, const uint8_t *end) {
    Span key;
    int escaped;
    if (*at == end) return JSON_SHORT;
    if (**at != '"') return JSON_ODD;
    JsonStatus status = json_string(at, end, &key, &escaped);
    if (status != JSON_OK) return status;
    *at = skip_blanks(*at, end);
    if (*at == end) return JSON_SHORT;
    if (**at != ':') return JSON_ODD;
    *at = skip_blanks(*at + 1, end);
    return JSON_OK;
}

JsonStatus json_value(const uint8_t **at, const uint8_t *end) {
    uint64_t objects = 0; /* stack of open brackets: 1 for an object, lowest bit innermost */
    int depth = 0;
    const uint8_t *p = *at;
    JsonStatus status;
    for (;;) { /* p is at an expected value */
        if (p == end) return JSON_SHORT;
        if (*p == '{' || *p == '[') {
            int object = *p == '{';
            if (depth == MAX_DEPTH) return JSON_ODD;
            p = skip_blanks(p + 1, end);
            if (p == end) return JSON_SHORT;
            if (*p == (object ? '}' : ']')) {
                p++;
            } else {
                objects = objects << 1 | (uint64_t)object;
                depth++;
                if (object && (status = key_end(&p, end)) != JSON_OK) return status;
                continue;
            }
        } else if ((status = scalar(&p, end)) != JSON_OK) {
            return status;
        }
        for (;; p++) { /* p is after a value */
            if (!depth) {
                *at = p;
                return JSON_OK;
            }
            p = skip_blanks(p, end);
            if (p == end) return JSON_SHORT;
            if (*p != (objects & 1 ? '}' : ']')) break;
            objects >>= 1;
            depth--;
        }
        if (*p != ',') return JSON_ODD;
        p = skip_blanks(p + 1, end);
        if ((objects & 1) && (status = key_end(&p, end)) != JSON_OK) return status;
    }
}

JsonStatus json_rough_object(const uint8_t **at, const uint8_t *end) {
    int64_t depth = 0;
    for (const uint8_t *p = *at; p < end; p++) {
        if (*p == '"') {
            for (p++; p < end && *p != '"'; p++)
                if (*p == '\\' && ++p == end) break;
            if (p == end) return JSON_SHORT;
        } else if (*p == '{' || *p == '[') {
            depth++;
        } else if (*p == '}' || *p == ']') {
            if (--depth == 0) {
                *at = p + 1;
                return *p == '}' ? JSON_OK : JSON_ODD;
            }
        } else if (*p > ' ' && !strchr(",:0123456789+-.eEtrufalsnNIiy", *p)) {
            return JSON_ODD;
        }
    }
    return JSON_SHORT;
}
