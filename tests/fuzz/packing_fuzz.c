/* libFuzzer target for depth packing: any bytes as slices, in the order that packing wants. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "packing.h"

#define MOST 64
#define ROWS 6 /* small, so that slices without a row are met */

typedef struct {
    int64_t start, dur;
} Slice;

static void check(int holds) {
    if (!holds) abort();
}

static int by_start(const void *a, const void *b) {
    const Slice *one = a, *two = b;
    if (one->start != two->start) return one->start < two->start ? -1 : 1;
    return one->dur > two->dur ? -1 : one->dur < two->dur;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    size_t count = size / 3 < MOST ? size / 3 : MOST;
    Slice slices[MOST];
    for (size_t i = 0; i < count; i++) {
        slices[i].start = input[3 * i] % 64;
        slices[i].dur = (int64_t)(input[3 * i + 1] % 32) << input[3 * i + 2] % 59; /* as far as int64 goes */
        if (input[3 * i + 2] >= 250) slices[i].start = INT64_MAX - input[3 * i];
    }
    qsort(slices, count, sizeof *slices, by_start);
    /* Of their own and of the exact size: nothing readable follows. */
    int64_t *start = malloc(count * 8 + 1), *dur = malloc(count * 8 + 1), *own = malloc(count * 8 + 1);
    int32_t *depth = malloc(count * 4 + 1), *parent = malloc(count * 4 + 1);
    for (size_t i = 0; i < count; i++) start[i] = slices[i].start, dur[i] = slices[i].dur;
    check(pack_slices(start, dur, count, ROWS, depth, parent));
    check(self_times(start, dur, parent, count, own));
    for (size_t i = 0; i < count; i++) {
        check(depth[i] >= -1 && depth[i] < ROWS && parent[i] >= -1 && parent[i] < (int32_t)i);
        check(parent[i] < 0 || depth[i] < 0 || depth[parent[i]] < depth[i]);
        for (size_t j = 0; j < i && depth[i] >= 0; j++) {
            uint64_t end = (uint64_t)start[j] + (uint64_t)(dur[j] > 1 ? dur[j] : 1);
            if (depth[i] == depth[j] && end <= INT64_MAX) check(start[i] >= (int64_t)end);
        }
    }
    free(start), free(dur), free(own), free(depth), free(parent);
    return 0;
}
