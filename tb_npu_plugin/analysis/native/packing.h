/* Depth and self time of the slices of one track; see analysis/packing.py, whose results these are. */
#ifndef TB_NPU_PACKING_H
#define TB_NPU_PACKING_H

#include <stddef.h>
#include <stdint.h>

/* start, dur: ns, by start, longer first. depth, parent: `count` results. Zero when memory does not suffice. */
int pack_slices(const int64_t *start, const int64_t *dur, size_t count, int32_t max_depth, int32_t *depth,
                int32_t *parent);

/* own: the durations without the time in which direct children run. Zero when memory does not suffice, or a parent is
 * no slice. */
int self_times(const int64_t *start, const int64_t *dur, const int32_t *parent, size_t count, int64_t *own);

#endif
