/* libFuzzer target for the reader of args: any bytes as the args of an event, some known keys wanted of them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"

static const struct {
    const char *name;
    int is_text;
} KEYS[] = {{"Sequence number", 0}, {"Call stack", 1}, {"a", 0}, {"", 1}};
enum { COUNT = sizeof KEYS / sizeof *KEYS };

static void check(int holds) {
    if (!holds) abort();
}

static void add_keys(Args *args) {
    memset(args, 0, sizeof *args);
    for (; args->count < COUNT; args->count++) {
        Key *key = &args->keys[args->count];
        key->length = strlen(KEYS[args->count].name);
        key->name = malloc(key->length + 1);
        check(key->name != NULL);
        memcpy(key->name, KEYS[args->count].name, key->length + 1);
        key->is_text = KEYS[args->count].is_text;
        key->texts.seed = 12345;
    }
}

static void check_values(const Args *args, const int64_t *values, size_t size) {
    for (int i = 0; i < COUNT; i++) {
        const Texts *texts = &args->keys[i].texts;
        if (KEYS[i].is_text) check(values[i] == NO_VALUE || (values[i] >= 0 && values[i] < (int64_t)texts->count));
        check(texts->gathered_count <= 2 * size);
        if (texts->count) check(texts->ends[texts->count - 1] == (int64_t)texts->gathered_count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (!size) return 0;
    unsigned wanted = input[0] % (1u << COUNT);
    Args args;
    int64_t values[MAX_KEYS], again[MAX_KEYS];
    size--;
    uint8_t *data = malloc(size ? size : 1); /* of its own: nothing readable follows */
    check(data != NULL);
    memcpy(data, input + 1, size);
    add_keys(&args);
    ArgsStatus status = args_read(&args, data, size, wanted, values);
    check(status != ARGS_MEMORY);
    check_values(&args, values, size);
    check(args_read(&args, data, size, wanted, again) == status);
    if (status == ARGS_OK) check(memcmp(values, again, COUNT * sizeof *values) == 0); /* known texts get no new index */
    args_free(&args);
    free(data);
    return 0;
}
