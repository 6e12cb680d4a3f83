#include <stdlib.h>
#include <string.h>

#include "walker.h"

void columns_list(Columns *self, Column out[COLUMNS]) {
    const Column all[COLUMNS] = {
        {(void **)&self->phase, sizeof *self->phase},
        {(void **)&self->text[NAME], sizeof *self->text[NAME]},
        {(void **)&self->text[CATEGORY], sizeof *self->text[CATEGORY]},
        {(void **)&self->text[PID], sizeof *self->text[PID]},
        {(void **)&self->text[TID], sizeof *self->text[TID]},
        {(void **)&self->ts, sizeof *self->ts},
        {(void **)&self->dur, sizeof *self->dur},
        {(void **)&self->dur_rest, sizeof *self->dur_rest},
        {(void **)&self->text[FLOW], sizeof *self->text[FLOW]},
        {(void **)&self->enclosing, sizeof *self->enclosing},
        {(void **)&self->args_offset, sizeof *self->args_offset},
        {(void **)&self->args_length, sizeof *self->args_length},
    };
    memcpy(out, all, sizeof all);
}

int columns_init(Columns *self, size_t capacity) {
    Column list[COLUMNS];
    memset(self, 0, sizeof *self);
    columns_list(self, list);
    for (int i = 0; i < COLUMNS; i++)
        if (!(*list[i].at = calloc(capacity, list[i].width))) return 0;
    self->capacity = capacity;
    return 1;
}

void columns_free(Columns *self) {
    Column list[COLUMNS];
    columns_list(self, list);
    for (int i = 0; i < COLUMNS; i++) free(*list[i].at);
    memset(self, 0, sizeof *self);
}
