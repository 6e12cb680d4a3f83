/* Rows of a CSV file, the excel dialect read strictly, to columns. */
#ifndef TB_NPU_ROWS_H
#define TB_NPU_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "interner.h"
#include "json.h"

typedef enum {
    CELL_SKIP,
    CELL_TEXT,  /* int32: code of the text without white space around it; -1: no value */
    CELL_WHOLE, /* int64; figures with a fraction are odd */
    CELL_INT,   /* int64 of the figure times the factor, rounded half to even */
    CELL_FLOAT, /* double of the figure times the factor */
} CellKind;

/* Distinct texts in order of first use; the first one has the code `first`. */
typedef struct {
    Interner interner;
    int32_t first;
} Texts;

typedef struct {
    CellKind kind;
    int required; /* a cell that says that there is no value is odd */
    double factor;
    void *values;   /* of the rows read last */
    Texts *texts;   /* of a CELL_TEXT; the caller's */
    int is_quoted;  /* a pair of quotation marks around the text is left out */
    uint8_t *header; /* NULL where no cell can equal it */
    size_t header_length;
} RowsColumn;

typedef struct {
    RowsColumn *columns;
    size_t width;     /* columns */
    size_t capacity;  /* rows that are read at once */
    size_t max_bytes; /* of a row; longer ones are odd */
    size_t count;     /* rows read last */
    size_t lines;     /* that these stand on */
    uint8_t *scratch; /* a cell without its doubled quotes */
    size_t scratch_size;
} Rows;

typedef enum {
    ROWS_FULL,  /* as many as are read at once */
    ROWS_SHORT, /* the data end first; *at is behind the last whole row */
    ROWS_ODD,   /* something is not fully understood; nothing of these rows may be used, nor the texts they added */
    ROWS_MEMORY,
} RowsStatus;

/* The columns must be filled in, all else of them zero. 0 when memory does not suffice. */
int rows_init(Rows *self, RowsColumn *columns, size_t width, size_t capacity, size_t max_bytes);
void rows_free(Rows *self);
/* Code of a text, added if new; -1 if out of memory or of codes. */
int32_t texts_code(Texts *self, const uint8_t *text, size_t length);
/* Bytes of one value of a column. */
size_t rows_value_size(const RowsColumn *column);
/* Reads rows from *at on, and moves *at behind them. */
RowsStatus rows_read(Rows *self, const uint8_t **at, const uint8_t *end);

#endif
