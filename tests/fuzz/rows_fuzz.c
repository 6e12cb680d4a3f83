/* libFuzzer target for the rows of CSV files: any bytes as a file of several kinds of columns, also in pieces. */
#include <stdlib.h>
#include <string.h>

#include "rows.h"

enum { MOST_COLUMNS = 8 };

static void check(int holds) {
    if (!holds) abort();
}

/* What a pass over all data found: rows and a sum over their values. */
typedef struct {
    size_t rows, lines, end;
    uint64_t sum;
    RowsStatus status;
} Found;

static Rows *new_rows(size_t width, size_t capacity) {
    static const double FACTORS[] = {1, 1000, 1000000, 1 << 30};
    Rows *rows = malloc(sizeof *rows);
    RowsColumn *columns = calloc(width, sizeof *columns);
    for (size_t i = 0; i < width; i++) {
        columns[i].kind = i ? (CellKind)((i + 1) % 5) : CELL_TEXT;
        columns[i].factor = FACTORS[(i + width) % 4];
        columns[i].required = i == 1 || (i == 0 && width % 2);
        columns[i].header = malloc(1);
        columns[i].header[0] = 'k';
        columns[i].header_length = 1;
        columns[i].is_quoted = (int)(i % 3 == 0);
        columns[i].texts = calloc(1, sizeof *columns[i].texts);
        interner_init(&columns[i].texts->interner, 12345);
    }
    check(rows_init(rows, columns, width, capacity, 1000));
    return rows;
}

/* Forgets the texts of all columns but the first half, which are then found by the codes that they had. */
static void forget_half(Rows *rows) {
    for (size_t i = 0; i < rows->width; i++) {
        Interner *texts = &rows->columns[i].texts->interner;
        size_t count = texts->count / 2;
        interner_truncate(texts, count);
        for (size_t at = 0; at < count; at++) {
            uint64_t start = texts->ends[at];
            check(texts_code(rows->columns[i].texts, texts->arena + start, texts->ends[at + 1] - start) == (int32_t)at);
        }
        check(texts->count == count);
    }
}

static void free_rows(Rows *rows) {
    for (size_t i = 0; i < rows->width; i++) {
        interner_free(&rows->columns[i].texts->interner);
        free(rows->columns[i].texts);
    }
    rows_free(rows);
    free(rows);
}

static void add(Found *found, const Rows *rows) {
    for (size_t i = 0; i < rows->width; i++) {
        const RowsColumn *column = &rows->columns[i];
        if (column->kind == CELL_SKIP) continue;
        for (size_t row = 0; row < rows->count; row++) {
            int64_t value = 0;
            memcpy(&value, (char *)column->values + row * rows_value_size(column), rows_value_size(column));
            if (column->kind == CELL_TEXT) {
                value = ((int32_t *)column->values)[row];
                check(value >= -1 && value < (int64_t)column->texts->interner.count);
            }
            found->sum = found->sum * 31 + (uint64_t)value * (i + 1);
        }
    }
}

/* Reads all rows; `given` bytes at first, then so many more each time. The data are of the exact size. */
static Found read_all(const uint8_t *data, size_t size, size_t width, size_t given, size_t capacity) {
    Rows *rows = new_rows(width, capacity);
    Found found = {0, 0, 0, 0, ROWS_FULL};
    size_t have = given < size ? given : size;
    for (;;) {
        uint8_t *copy = malloc(have - found.end + 1);
        memcpy(copy, data + found.end, have - found.end);
        const uint8_t *at = copy;
        found.status = rows_read(rows, &at, copy + (have - found.end));
        check(found.status != ROWS_MEMORY && rows->count <= capacity && at <= copy + (have - found.end));
        if (found.status == ROWS_FULL || (found.status == ROWS_SHORT && have == size)) {
            add(&found, rows);
            found.rows += rows->count;
            found.lines += rows->lines;
            found.end += (size_t)(at - copy);
        }
        free(copy);
        if (found.status == ROWS_ODD || (found.status == ROWS_SHORT && have == size)) break;
        if (found.status == ROWS_SHORT) have = size - have < given ? size : have + given;
    }
    forget_half(rows);
    free_rows(rows);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (size < 1) return 0;
    size_t width = 1 + input[0] % MOST_COLUMNS, piece = 1 + input[0] / MOST_COLUMNS * 3;
    Found whole = read_all(input + 1, size - 1, width, size, 2), pieces = read_all(input + 1, size - 1, width, piece, 2);
    check(whole.rows == pieces.rows && whole.sum == pieces.sum && whole.end == pieces.end);
    check(whole.lines == pieces.lines && whole.status == pieces.status && whole.lines >= whole.rows);
    return 0;
}
