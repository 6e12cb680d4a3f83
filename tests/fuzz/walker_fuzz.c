/* libFuzzer target for the native scanner: any bytes, read as the scanner reads a chunk. Sanitizers watch the bounds;
 * the checks here watch what the columns say. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "walker.h"

#define ROWS 64 /* small, so that STOP_FULL is met */

static void check(int holds) {
    if (!holds) abort();
}

static void allocate(Columns *columns) {
    memset(columns, 0, sizeof *columns);
    columns->capacity = ROWS;
    columns->phase = malloc(ROWS);
    columns->enclosing = malloc(ROWS);
    columns->ts = malloc(ROWS * sizeof *columns->ts);
    columns->dur = malloc(ROWS * sizeof *columns->dur);
    columns->dur_rest = malloc(ROWS * sizeof *columns->dur_rest);
    columns->args_offset = malloc(ROWS * sizeof *columns->args_offset);
    columns->args_length = malloc(ROWS * sizeof *columns->args_length);
    for (int kind = 0; kind < TEXTS; kind++) columns->text[kind] = malloc(ROWS * sizeof *columns->text[kind]);
}

static void release(Columns *columns) {
    free(columns->phase);
    free(columns->enclosing);
    free(columns->ts);
    free(columns->dur);
    free(columns->dur_rest);
    free(columns->args_offset);
    free(columns->args_length);
    for (int kind = 0; kind < TEXTS; kind++) free(columns->text[kind]);
}

static void check_rows(const Walker *walker, const uint8_t *data, size_t size) {
    const Columns *columns = &walker->columns;
    check(columns->count <= columns->capacity);
    for (size_t row = 0; row < columns->count; row++) {
        for (int kind = 0; kind < TEXTS; kind++) {
            int32_t code = columns->text[kind][row];
            check(code >= -1 && code < (int64_t)walker->texts[kind].count);
        }
        check(columns->dur_rest[row] >= -0.5f && columns->dur_rest[row] <= 0.5f);
        int64_t start = columns->args_offset[row], length = columns->args_length[row];
        if (start < 0) continue;
        check(length > 0 && (uint64_t)start + (uint64_t)length <= (walker->mode == ARGS_GATHERED ? walker->gathered_count : size));
        if (walker->mode == ARGS_IN_FILE) check(data[start] != ' ' && data[start + length - 1] != ' ');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (!size) return 0;
    Walker walker;
    walker_init(&walker, 12345);
    allocate(&walker.columns);
    walker.mode = (ArgsMode)(input[0] % 3);
    size--;
    uint8_t *data = malloc(size ? size : 1); /* of its own: nothing readable follows */
    memcpy(data, input + 1, size);
    size_t position = 0, event_end = 0;
    for (;;) {
        size_t before = position;
        Stop stop = walker_walk(&walker, data, size, &position, &event_end);
        check(position >= before && position <= size && stop != STOP_MEMORY);
        check_rows(&walker, data, size);
        if (stop == STOP_FULL) {
            walker.columns.count = 0;
            walker.gathered_count = 0;
        } else if (stop == STOP_ODD) {
            check(event_end > position && event_end <= size && data[event_end - 1] == '}');
            position = event_end;
        } else if (stop == STOP_BROKEN || stop == STOP_ENDED) {
            position++;
        } else {
            break;
        }
    }
    release(&walker.columns);
    walker_free(&walker);
    free(data);
    return 0;
}
