#include <math.h>

#include "json.h"

#define MAX_DIGITS 19 /* always fit 64 bits */
#define DOUBLE_EXACT (UINT64_C(1) << 53)

static const uint64_t POWERS[MAX_DIGITS + 1] = {
    UINT64_C(1), UINT64_C(10), UINT64_C(100), UINT64_C(1000), UINT64_C(10000), UINT64_C(100000), UINT64_C(1000000),
    UINT64_C(10000000), UINT64_C(100000000), UINT64_C(1000000000), UINT64_C(10000000000), UINT64_C(100000000000),
    UINT64_C(1000000000000), UINT64_C(10000000000000), UINT64_C(100000000000000), UINT64_C(1000000000000000),
    UINT64_C(10000000000000000), UINT64_C(100000000000000000), UINT64_C(1000000000000000000),
    UINT64_C(10000000000000000000),
};

/* Parses eight digits together; 0 if one is not a digit. */
static int eight_digits(const uint8_t *at, uint64_t *out) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t word;
    memcpy(&word, at, 8);
    word ^= UINT64_C(0x3030303030303030); /* a digit becomes its value, others at least 10 */
    if (((word + UINT64_C(0x7676767676767676)) | word) & UINT64_C(0x8080808080808080)) return 0;
    word = (word * 10 + (word >> 8)) & UINT64_C(0x00FF00FF00FF00FF);    /* pairs */
    word = (word * 100 + (word >> 16)) & UINT64_C(0x0000FFFF0000FFFF);  /* fours */
    *out = (word * 10000 + (word >> 32)) & UINT64_C(0x00000000FFFFFFFF);
    return 1;
#else
    (void)at, (void)out;
    return 0;
#endif
}

int decimal_of(Span text, Decimal *out) {
    const uint8_t *p = text.start, *point = NULL;
    uint64_t mantissa = 0;
    int digits = 0;
    out->negative = p < text.end && *p == '-';
    if (out->negative) p++;
    for (uint64_t value; text.end - p >= 8 && digits <= MAX_DIGITS - 8 && eight_digits(p, &value); p += 8, digits += 8)
        mantissa = mantissa * 100000000 + value;
    for (; p < text.end; p++) {
        if (*p == '.' && !point && digits) {
            point = p;
            continue;
        }
        if (*p < '0' || *p > '9' || digits == MAX_DIGITS) return 0;
        mantissa = mantissa * 10 + (*p - '0');
        digits++;
    }
    out->mantissa = mantissa;
    out->decimals = point ? (int)(text.end - point - 1) : 0;
    return digits && (!point || out->decimals);
}

int decimal_thousandfold(const Decimal *value, int64_t *out) {
    uint64_t result;
    if (value->decimals <= 3) {
        if (__builtin_mul_overflow(value->mantissa, POWERS[3 - value->decimals], &result)) return 0;
    } else {
        uint64_t divisor = POWERS[value->decimals - 3];
        uint64_t rest = value->mantissa % divisor, half = divisor / 2; /* a power of ten is even */
        result = value->mantissa / divisor;
        if (rest > half || (rest == half && (result & 1))) result++;
    }
    if (result > INT64_MAX) return 0;
    *out = value->negative ? -(int64_t)result : (int64_t)result;
    return 1;
}

/* mantissa / 10^decimals for a mantissa of more than 53 bits: more bits than a double holds, then rounded once. */
static int long_division(const Decimal *value, double *out) {
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 Wide;
    Wide dividend = (Wide)value->mantissa << 64, divisor = POWERS[value->decimals];
    Wide quotient = dividend / divisor;
    uint64_t high = (uint64_t)(quotient >> 64), low = (uint64_t)quotient; /* at least 54 bits in all */
    int shift = (high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll(low)) - 53;
    int inexact = dividend % divisor != 0;
    uint64_t kept = (uint64_t)(quotient >> shift);
    Wide rest = quotient & (((Wide)1 << shift) - 1), half = (Wide)1 << (shift - 1);
    if (rest > half || (rest == half && (inexact || (kept & 1)))) kept++;
    *out = ldexp((double)kept, shift - 64);
    return 1;
#else
    (void)value, (void)out;
    return 0;
#endif
}

int decimal_double(const Decimal *value, double *out) {
    double result;
    if (value->mantissa <= DOUBLE_EXACT)
        result = (double)value->mantissa / (double)POWERS[value->decimals]; /* both exact: one rounding */
    else if (!long_division(value, &result))
        return 0;
    *out = value->negative ? -result : result;
    return 1;
}
