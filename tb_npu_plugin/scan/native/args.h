/* Reads chosen keys of the args of many events: integers, and texts as indices. */
#ifndef TB_NPU_ARGS_H
#define TB_NPU_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include "json.h"

#define MAX_KEYS 8 /* one bit each in the mask of a row */
#define NO_VALUE INT64_MIN /* as NULL_INT in tables.py */

/* 128-bit hash that identifies a text after it was taken; the seed is random per use. */
typedef struct {
    uint64_t low, high;
} Print;

/* Maps texts to indices in order of first use. New texts are gathered until they are taken. */
typedef struct {
    uint64_t seed;
    Print *prints;
    int64_t *ends; /* end offset of each text among all gathered so far */
    size_t count, size;
    uint32_t *slots; /* open addressing: index + 1, 0 for free; a power of two of them */
    size_t slot_count;
    uint8_t *gathered;
    size_t gathered_count, gathered_size;
} Texts;

typedef struct {
    char *name;
    size_t length;
    int is_text;
    Texts texts;
} Key;

typedef struct {
    Key keys[MAX_KEYS];
    int count;
    uint8_t *scratch; /* an unescaped text */
    size_t scratch_size;
} Args;

typedef enum {
    ARGS_OK,
    ARGS_ODD, /* invalid, or not supported here: Python reads it */
    ARGS_MEMORY,
} ArgsStatus;

/* Index of a text, added if new; -1 if out of memory. */
int32_t texts_index(Texts *self, const uint8_t *text, size_t length);

/* values: per key of `wanted` (bits) the integer, or the index of the text; NO_VALUE without one. */
ArgsStatus args_read(Args *self, const uint8_t *data, size_t length, unsigned wanted, int64_t *values);

void args_free(Args *self);

#endif
