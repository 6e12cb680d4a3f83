/* The events of a trace to columns: the strict fast path. What it does not fully understand it leaves to Python. */
#ifndef TB_NPU_WALKER_H
#define TB_NPU_WALKER_H

#include <stddef.h>
#include <stdint.h>

#include "interner.h"

enum { NAME, CATEGORY, PID, TID, FLOW, TEXTS };

#define NULL_INT INT64_MIN /* as in tables.py */

/* Rows as TraceEvents has them; `count` are filled of `capacity`. */
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
/* Nonzero if memory sufficed. To be freed in either case. */
int columns_init(Columns *self, size_t capacity);
void columns_free(Columns *self);

typedef enum {
    STOP_WAIT,   /* the data end between two events, or in one */
    STOP_ENDED,  /* at the list's closing bracket */
    STOP_ODD,    /* at an event that Python must read; it ends at event_end */
    STOP_BROKEN, /* at what is no event */
    STOP_FULL,   /* the columns are */
    STOP_MEMORY,
} Stop;

typedef enum {
    ARGS_IN_FILE, /* their offsets count in the file */
    ARGS_GATHERED,
    ARGS_LEFT_OUT,
} ArgsMode;

typedef struct {
    Columns columns;
    Interner texts[TEXTS];
    ArgsMode mode;
    int64_t base; /* offset of the data in the file, or of the gathered bytes in what they are appended to */
    uint8_t *gathered;
    size_t gathered_count, gathered_size;
    uint8_t *scratch; /* for one text without its escapes */
    size_t scratch_size;
} Walker;

/* `rows`: so many are kept at most, then it stops. Nonzero if memory sufficed. To be freed in either case. */
int walker_init(Walker *self, uint64_t seed, size_t rows);
void walker_free(Walker *self);
/* Forgets rows and texts. */
void walker_clear(Walker *self);

/* Reads events from data + *position, a place between two events, up to where it stops; *position is moved there. */
Stop walker_walk(Walker *self, const uint8_t *data, size_t size, size_t *position, size_t *event_end);

/* First place from `at` on, and before `end`, that looks like the brace of an event behind another event; NULL if none
 * does. It may stand in a string or in a list of args: only a walk that ends there proves it. */
const uint8_t *likely_cut(const uint8_t *at, const uint8_t *end);

/* Gives the texts of `other`'s rows their indices in `self`, which takes up those it does not know. The seeds must be
 * the same. Nonzero if memory sufficed. */
int walker_adopt(Walker *self, Walker *other);

#endif
