/* Reads strict JSON values in a bounded buffer without decoding them. */
#ifndef TB_NPU_JSON_H
#define TB_NPU_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) && !defined(TB_NPU_NO_SIMD)
#include <emmintrin.h>
#endif

typedef enum {
    JSON_OK,
    JSON_SHORT, /* the data end within the value */
    JSON_ODD,   /* invalid, or not supported here */
} JsonStatus;

/* [start, end) in the buffer; start is NULL without a value. */
typedef struct {
    const uint8_t *start, *end;
} Span;

/* mantissa / 10^decimals, negated if negative. */
typedef struct {
    uint64_t mantissa;
    int decimals;
    int negative;
} Decimal;

static inline const uint8_t *skip_blanks(const uint8_t *at, const uint8_t *end) {
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) at++;
    return at;
}

/* First byte from `at` on that is a quote, backslash, control character or not ASCII; else `end`. */
static inline const uint8_t *plain_end(const uint8_t *at, const uint8_t *end) {
#if defined(__SSE2__) && !defined(TB_NPU_NO_SIMD)
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), space = _mm_set1_epi8(' ');
    for (; end - at >= 16; at += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)at);
        __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash));
        found = _mm_or_si128(found, _mm_cmplt_epi8(bytes, space)); /* signed: bytes above ASCII are negative */
        int mask = _mm_movemask_epi8(found);
        if (mask) return at + __builtin_ctz((unsigned)mask);
    }
#else
    const uint64_t ones = UINT64_C(0x0101010101010101), high = UINT64_C(0x8080808080808080);
    for (; end - at >= 8; at += 8) {
        uint64_t bytes, quote, backslash;
        memcpy(&bytes, at, 8);
        quote = bytes ^ (ones * '"');
        backslash = bytes ^ (ones * '\\');
        /* A borrow may also mark the byte after a match, but never a word without a match. */
        if (((bytes - ones * ' ') | (quote - ones) | (backslash - ones) | bytes) & high) break;
    }
#endif
    while (at < end && *at != '"' && *at != '\\' && *at >= ' ' && *at < 0x80) at++;
    return at;
}

/* The rest of json_string, from the first special byte on. Moves *at to the closing quote. */
JsonStatus json_string_rest(const uint8_t **at, const uint8_t *end, int *escaped);

/* Each function moves *at after the value; *at is undefined unless it returns JSON_OK. */

/* At a quote: the content, checked for UTF-8, control characters and escapes, which are kept. */
static inline JsonStatus json_string(const uint8_t **at, const uint8_t *end, Span *content, int *escaped) {
    JsonStatus status = JSON_OK;
    const uint8_t *p = plain_end(*at + 1, end);
    *escaped = 0;
    if ((p == end || *p != '"') && (status = json_string_rest(&p, end, escaped)) != JSON_OK) return status;
    content->start = *at + 1;
    content->end = p;
    *at = p + 1;
    return JSON_OK;
}
/* Writes the content of a string without escapes, which is never longer. Returns its length. */
size_t json_unescape(Span content, uint8_t *out);
/* At a minus or digit: the text of a number in JSON grammar. */
JsonStatus json_number(const uint8_t **at, const uint8_t *end, Span *text);
/* Any value, nested at most 64 deep. */
JsonStatus json_value(const uint8_t **at, const uint8_t *end);
/* true, false or null. */
JsonStatus json_word(const uint8_t **at, const uint8_t *end);

/* At a brace: finds the end of the object by strings and brackets, as tokens.TokenEnds. JSON_ODD: none. */
JsonStatus json_rough_object(const uint8_t **at, const uint8_t *end);

/* Parses at most 19 digits with an optional fraction. Nonzero on success. */
int decimal_of(Span text, Decimal *out);
/* The decimal times 1000, rounded half to even. Nonzero if it fits. */
int decimal_thousandfold(const Decimal *value, int64_t *out);
/* The nearest double, ties to even. Nonzero if it could be computed exactly. */
int decimal_double(const Decimal *value, double *out);

#endif
