/* Strict JSON values in a bounded buffer, nothing decoded. */
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
    JSON_SHORT, /* the data end first */
    JSON_ODD,   /* not strictly valid, or not worth knowing here */
} JsonStatus;

/* [start, end) in the buffer; start is NULL where there is none. */
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

/* First byte from `at` on that is a quote, a backslash, a control character or not ASCII; `end` if there is none. */
static inline const uint8_t *plain_end(const uint8_t *at, const uint8_t *end) {
#if defined(__SSE2__) && !defined(TB_NPU_NO_SIMD)
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), space = _mm_set1_epi8(' ');
    for (; end - at >= 16; at += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)at);
        __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash));
        found = _mm_or_si128(found, _mm_cmplt_epi8(bytes, space)); /* signed: not ASCII is below, too */
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
        /* A borrow may mark the byte after a find as well, never a word without one. */
        if (((bytes - ones * ' ') | (quote - ones) | (backslash - ones) | bytes) & high) break;
    }
#endif
    while (at < end && *at != '"' && *at != '\\' && *at >= ' ' && *at < 0x80) at++;
    return at;
}

/* The rest of json_string, from the first byte on that is not plain; *at is moved to the closing quote. */
JsonStatus json_string_rest(const uint8_t **at, const uint8_t *end, int *escaped);

/* Each moves *at behind what it reads; *at is undefined unless the answer is JSON_OK. */

/* At a quote: the content, valid UTF-8 without control characters, escapes well-formed but kept. */
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
/* Writes a string's content with its escapes resolved, which is never longer; returns its length. */
size_t json_unescape(Span content, uint8_t *out);
/* At a minus or digit: the number's text, by JSON's grammar. */
JsonStatus json_number(const uint8_t **at, const uint8_t *end, Span *text);
/* Any value, nested at most 64 deep. */
JsonStatus json_value(const uint8_t **at, const uint8_t *end);
/* true, false or null. */
JsonStatus json_word(const uint8_t **at, const uint8_t *end);

/* At a brace: behind the object by its strings and brackets alone, as tokens.Ends finds it. JSON_ODD: none. */
JsonStatus json_rough_object(const uint8_t **at, const uint8_t *end);

/* Text of digits with an optional fraction, at most 19 digits: nonzero if it is of that form. */
int decimal_of(Span text, Decimal *out);
/* The decimal times 1000, rounded half to even: nonzero if it fits. */
int decimal_thousandfold(const Decimal *value, int64_t *out);
/* The nearest double, ties to even: nonzero if that could be told. */
int decimal_double(const Decimal *value, double *out);

#endif
