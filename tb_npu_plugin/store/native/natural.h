/* The natural order of texts: see natural_key in texts.py, whose keys this builds and sorts. */
#ifndef TB_NPU_NATURAL_H
#define TB_NPU_NATURAL_H

#include <stddef.h>
#include <stdint.h>

/* Texts in UTF-8: text i is blob[ends[i], ends[i + 1]). */
typedef struct {
    const uint8_t *blob;
    const int64_t *ends;
} TextBlob;

/* Writes the indices of `count` texts in natural order; equal texts keep their order. `folded`: the same texts with
 * case folded, but for ASCII letters, which need not be. 0 when memory does not suffice. */
int natural_order(TextBlob texts, TextBlob folded, size_t count, int32_t *order);

#endif
