/* The events of a trace to columns: the strict fast path. What it does not fully understand it leaves to Python. */
#ifndef TB_NPU_WALKER_H
#define TB_NPU_WALKER_H

#include <stddef.h>
#include <stdint.h>

#include "interner.h"

enum { NAME, CATEGORY, PID, TID, FLOW, TEXTS };

#define NULL_INT INT64_MIN /* as in tables.py */

/* As TraceEvents has them; `count` rows are filled of `capacity`. */
typedef struct {
    uint8_t *phase;
    int32_t *text[TEXTS];
    int64_t *ts, *dur;
    float *dur_rest;
    uint8_t *enclosing;
    int64_t *args_offset, *args_length;
    size_t count, capacity;
} Columns;

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

void walker_init(Walker *self, uint64_t seed);
void walker_free(Walker *self);

/* Reads events from data + *position, a place between two events, up to where it stops; *position is moved there. */
Stop walker_walk(Walker *self, const uint8_t *data, size_t size, size_t *position, size_t *event_end);

#endif
