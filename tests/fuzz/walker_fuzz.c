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

/* The same text: codes of two walkers, -1 for none. */
static int same_text(const Interner *one, int32_t code, const Interner *two, int32_t other) {
    if (code < 0 || other < 0) return code == other;
    uint64_t start = one->ends[code], length = one->ends[code + 1] - start, from = two->ends[other];
    return two->ends[other + 1] - from == length && (!length || !memcmp(one->arena + start, two->arena + from, length));
}

/* Hands the rows to `all`, as the blocks of a file are put together; its texts must stay what they are. */
static void check_adoption(Walker *all, Walker *walker) {
    static int32_t codes[TEXTS][ROWS];
    for (int kind = 0; kind < TEXTS; kind++)
        memcpy(codes[kind], walker->columns.text[kind], walker->columns.count * sizeof **codes);
    check(walker_adopt(all, walker));
    for (int kind = 0; kind < TEXTS; kind++)
        for (size_t row = 0; row < walker->columns.count; row++)
            check(same_text(&walker->texts[kind], codes[kind][row], &all->texts[kind], walker->columns.text[kind][row]));
    walker_clear(walker);
}

/* A likely cut: a place from which events can be read. */
static size_t cut(const uint8_t *data, size_t size, size_t from) {
    const uint8_t *found = likely_cut(data + from, data + size);
    if (!found) return size;
    check(found > data + from && found < data + size && *found == '{');
    return (size_t)(found - data);
}

/* Reads to the end; whatever is wrong costs an event or a byte. */
static void read_all(Walker *walker, Walker *all, const uint8_t *data, size_t position, size_t size) {
    size_t event_end = 0;
    for (;;) {
        size_t before = position;
        Stop stop = walker_walk(walker, data, size, &position, &event_end);
        check(position >= before && position <= size && stop != STOP_MEMORY);
        check_rows(walker, data, size);
        if (stop == STOP_FULL) {
            check_adoption(all, walker);
            walker->gathered_count = 0;
        } else if (stop == STOP_ODD) {
            check(event_end > position && event_end <= size && data[event_end - 1] == '}');
            position = event_end;
        } else if (stop == STOP_BROKEN || stop == STOP_ENDED) {
            position++;
        } else {
            break;
        }
    }
    check_adoption(all, walker);
    walker->gathered_count = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (!size) return 0;
    Walker walker, all;
    check(walker_init(&walker, 12345, ROWS) && walker_init(&all, 12345, 1));
    walker.mode = (ArgsMode)(input[0] % 3);
    size--;
    uint8_t *data = malloc(size ? size : 1); /* of its own: nothing readable follows */
    memcpy(data, input + 1, size);
    size_t middle = cut(data, size, size / 2);
    read_all(&walker, &all, data, middle, size);
    read_all(&walker, &all, data, 0, middle);
    walker_free(&walker);
    walker_free(&all);
    free(data);
    return 0;
}
