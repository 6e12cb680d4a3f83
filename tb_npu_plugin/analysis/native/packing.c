#include "packing.h"

#include <stdlib.h>
#include <string.h>

/* Sums wrap as NumPy's do: times at the ends of int64 give nonsense, and no crash. */
static inline int64_t plus(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t minus(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* The last slice of each row. Rows from `count` on are free. */
typedef struct {
    int64_t *end;
    int32_t *slice;
    int32_t count;
} Open;

/* The deepest row whose slice is open at `begin` and encloses up to `end`; -1 without one. */
static int32_t enclosing(const Open *rows, int64_t begin, int64_t end) {
    int32_t row = rows->count - 1;
    while (row >= 0 && !(rows->end[row] > begin && rows->end[row] >= end)) row--;
    return row;
}

int pack_slices(const int64_t *start, const int64_t *dur, size_t count, int32_t max_depth, int32_t *depth,
                int32_t *parent) {
    size_t most = count < (size_t)max_depth ? count : (size_t)max_depth;
    Open rows = {malloc((most + 1) * sizeof *rows.end), malloc((most + 1) * sizeof *rows.slice), 0};
    int good = rows.end && rows.slice;
    for (size_t i = 0; good && i < count; i++) {
        int64_t begin = start[i], end = plus(begin, dur[i] > 1 ? dur[i] : 1);
        int32_t above = enclosing(&rows, begin, end), row = above + 1;
        parent[i] = above < 0 ? -1 : rows.slice[above];
        while (row < rows.count && rows.end[row] > begin) row++;
        depth[i] = row < max_depth ? row : -1;
        if (row >= max_depth) continue;
        rows.end[row] = end;
        rows.slice[row] = (int32_t)i;
        if (row == rows.count) rows.count++;
        while (rows.count && rows.end[rows.count - 1] <= begin) rows.count--;
    }
    free(rows.end);
    free(rows.slice);
    return good;
}

int self_times(const int64_t *start, const int64_t *dur, const int32_t *parent, size_t count, int64_t *own) {
    int64_t *reach = malloc((count + 1) * sizeof *reach); /* up to where children so far cover their parent */
    int good = reach != NULL;
    if (good && count) memcpy(own, dur, count * sizeof *own);
    for (size_t i = 0; good && i < count; i++) reach[i] = INT64_MIN;
    for (size_t i = 0; good && i < count; i++) {
        if (parent[i] < 0) continue;
        size_t above = (size_t)parent[i];
        good = above < count;
        if (!good) break;
        int64_t begin = start[i], end = plus(begin, dur[i]);
        int64_t from = begin > reach[above] ? begin : reach[above];
        if (end > from) own[above] = minus(own[above], minus(end, from));
        if (end > reach[above]) reach[above] = end;
    }
    free(reach);
    return good;
}
