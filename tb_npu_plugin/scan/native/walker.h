/* The fast path of the scanner: reads events of the usual form into columns and leaves all others to Python. */
#ifndef TB_NPU_WALKER_H
#define TB_NPU_WALKER_H

#include <stddef.h>
#include <stdint.h>

#include "interner.h"

enum { NAME, CATEGORY, PID, TID, FLOW, TEXTS };

#define NULL_INT INT64_MIN /* as in tables.py */

/* Rows of TraceEvents; `count` of `capacity` are filled. */
typedef struct {
    uint8_t *phase;
    int32_t *text[TEXTS];
    int64_t *ts, *dur;
    float *dur_rest;
    uint8_t *enclosing;
    int64_t *args_offset, *args_length;
    size_t count, capacity;
} Columns;

/* The columns in the order of events.DTYPES. */
enum { COLUMNS = 12 };
typedef struct {
    void **at;
    size_t width; /* bytes of one value */
} Column;
void columns_list(Columns *self, Column out[COLUMNS]);
/* Nonzero on success, 0 if out of memory. Free it in either case. */
int columns_init(Columns *self, size_t capacity);
void columns_free(Columns *self);

typedef enum {
    STOP_WAIT,   /* the data end between or within events */
    STOP_ENDED,  /* at the list's closing bracket */
    STOP_ODD,    /* at an event that Python must read; it ends at event_end */
    STOP_BROKEN, /* at text that is not an event */
    STOP_FULL,   /* the columns are full */
    STOP_MEMORY,
} Stop;

typedef enum {
    ARGS_IN_FILE, /* offsets count in the file */
    ARGS_GATHERED,
    ARGS_LEFT_OUT,
} ArgsMode;

typedef struct {
    Columns columns;
    Interner texts[TEXTS];
    ArgsMode mode;
    int64_t base; /* offset of the data in the file, or of the gathered bytes in the blob */
    uint8_t *gathered;
    size_t gathered_count, gathered_size;
    uint8_t *scratch; /* one unescaped text */
    size_t scratch_size;
    size_t commas; /* between the events of the last walk, and before and behind them */
} Walker;

/* rows: capacity; the walker stops when it is full. Nonzero on success. Free it in either case. */
int walker_init(Walker *self, uint64_t seed, size_t rows);
void walker_free(Walker *self);
/* Removes rows and texts. */
void walker_clear(Walker *self);

/* Reads events from data + *position, between two events, and moves *position to where it stops. */
Stop walker_walk(Walker *self, const uint8_t *data, size_t size, size_t *position, size_t *event_end);

/* First position in [at, end) that looks like the brace of an event after another event; else NULL. It may be within a
 * string or a list of args: only a walk that ends there proves it. */
const uint8_t *likely_cut(const uint8_t *at, const uint8_t *end);

/* Converts text indices of `other`'s rows to those of `self`, which adds new texts. The seeds must be equal. Nonzero on
 * success. */
int walker_adopt(Walker *self, Walker *other);

#endif
