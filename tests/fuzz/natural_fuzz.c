/* libFuzzer target for the natural order: lines of any bytes as texts. */
#include <stdlib.h>
#include <string.h>

#include "natural.h"

enum { MOST = 1000 };

static void check(int holds) {
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    int64_t ends[MOST + 1] = {0};
    size_t count = 0;
    uint8_t *blob = malloc(size + 1); /* of the exact size: nothing readable follows */
    check(blob != NULL);
    int64_t used = 0;
    for (size_t at = 0; at < size && count < MOST; at++) {
        if (input[at] == '\n')
            ends[++count] = used;
        else
            blob[used++] = input[at];
    }
    blob = realloc(blob, ends[count] ? (size_t)ends[count] : 1);
    int32_t *order = malloc((count + 1) * sizeof *order);
    check(blob != NULL && order != NULL);
    TextBlob texts = {blob, ends};
    check(natural_order(texts, texts, count, order));
    uint8_t seen[MOST] = {0};
    for (size_t i = 0; i < count; i++) {
        check(order[i] >= 0 && (size_t)order[i] < count && !seen[order[i]]++);
        if (!i) continue;
        int64_t one = ends[order[i - 1]], other = ends[order[i]], length = ends[order[i] + 1] - other;
        int same = ends[order[i - 1] + 1] - one == length && memcmp(blob + one, blob + other, (size_t)length) == 0;
        if (same) check(order[i - 1] < order[i]);
    }
    free(blob);
    free(order);
    return 0;
}
