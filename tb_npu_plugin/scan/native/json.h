/* Strict JSON values in a bounded buffer, nothing decoded. */
#ifndef TB_NPU_JSON_H
#define TB_NPU_JSON_H

#include <stddef.h>
#include <stdint.h>

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

/* Each moves *at behind what it reads; *at is undefined unless the answer is JSON_OK. */

/* At a quote: the content, valid UTF-8 without control characters, escapes well-formed but kept. */
JsonStatus json_string(const uint8_t **at, const uint8_t *end, Span *content, int *escaped);
/* At a minus or digit: the number's text, by JSON's grammar. */
JsonStatus json_number(const uint8_t **at, const uint8_t *end, Span *text);
/* Any value, nested at most 64 deep. */
JsonStatus json_value(const uint8_t **at, const uint8_t *end);
/* true, false or null. */
JsonStatus json_word(const uint8_t **at, const uint8_t *end);

/* At a brace: behind the object by its strings and brackets alone, as tokens.object_end finds it. JSON_ODD: none. */
JsonStatus json_rough_object(const uint8_t **at, const uint8_t *end);

/* Text of digits with an optional fraction, at most 19 digits: nonzero if it is of that form. */
int decimal_of(Span text, Decimal *out);
/* The decimal times 1000, rounded half to even: nonzero if it fits. */
int decimal_thousandfold(const Decimal *value, int64_t *out);
/* The nearest double, ties to even: nonzero if that could be told. */
int decimal_double(const Decimal *value, double *out);

#endif
