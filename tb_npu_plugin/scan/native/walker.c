#include "walker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define AHEAD 8
#define CLOSE 1099511627776.0 /* 2^40 us: longer durations have no rest, as in time_values.py */

/* One event before it is stored. Spans are texts without quotes, or numbers. */
typedef struct {
    uint8_t phase, enclosing;
    Span text[TEXTS];
    int32_t code[TEXTS]; /* index of the text; -1 without one; UNKNOWN if not looked up */
    uint32_t hash[TEXTS];
    unsigned escaped; /* a bit per text with escapes, which has no hash yet */
    int64_t ts, dur;
    float dur_rest;
    Span args;
} Row;

#define UNKNOWN (-2)

/* Bits of the known keys. Python reads events with duplicate keys. */
enum { SEEN_PH = 1 << TEXTS, SEEN_TS = 2 << TEXTS, SEEN_DUR = 4 << TEXTS, SEEN_BP = 8 << TEXTS, SEEN_ARGS = 16 << TEXTS };

int walker_init(Walker *self, uint64_t seed, size_t rows) {
    memset(self, 0, sizeof *self);
    for (int kind = 0; kind < TEXTS; kind++) interner_init(&self->texts[kind], seed);
    return columns_init(&self->columns, rows);
}

void walker_free(Walker *self) {
    for (int kind = 0; kind < TEXTS; kind++) interner_free(&self->texts[kind]);
    columns_free(&self->columns);
    free(self->gathered);
    free(self->scratch);
    self->gathered = self->scratch = NULL;
}

void walker_clear(Walker *self) {
    for (int kind = 0; kind < TEXTS; kind++) interner_truncate(&self->texts[kind], 0);
    self->columns.count = 0;
}

/* null or a string. Keeps the escapes. */
static JsonStatus read_text(const uint8_t **at, const uint8_t *end, Span *out, int *escaped) {
    *escaped = 0;
    out->start = NULL;
    if (**at == 'n') return json_word(at, end);
    return **at == '"' ? json_string(at, end, out, escaped) : JSON_ODD;
}

static JsonStatus read_name(const uint8_t **at, const uint8_t *end, int kind, Row *row) {
    int escaped;
    JsonStatus status = read_text(at, end, &row->text[kind], &escaped);
    row->escaped |= (unsigned)escaped << kind;
    return status;
}

/* The characters of a text or an integer. Python handles -0 and very long integers. */
static JsonStatus read_id(const uint8_t **at, const uint8_t *end, int kind, Row *row) {
    Span *out = &row->text[kind];
    if (**at != '-' && (**at < '0' || **at > '9')) return read_name(at, end, kind, row);
    JsonStatus status = json_number(at, end, out);
    if (status != JSON_OK || kind == FLOW) return status;
    if (out->end - out->start > 18 || (*out->start == '-' && out->start[1] == '0')) return JSON_ODD;
    for (const uint8_t *p = out->start + 1; p < out->end; p++)
        if (*p < '0' || *p > '9') return JSON_ODD;
    return JSON_OK;
}

/* null or a plain number, with or without quotes. bare: without quotes. */
static JsonStatus read_time(const uint8_t **at, const uint8_t *end, int64_t *out, Decimal *value, int *bare) {
    Span span;
    int escaped;
    *bare = **at == '-' || (**at >= '0' && **at <= '9');
    JsonStatus status = *bare ? json_number(at, end, &span) : read_text(at, end, &span, &escaped);
    if (status != JSON_OK || !span.start) return status; /* null: unknown, as it was set */
    return decimal_of(span, value) && decimal_thousandfold(value, out) ? JSON_OK : JSON_ODD;
}

/* The duration and what rounding took off, with the double arithmetic of time_values.durations. */
static JsonStatus read_duration(const uint8_t **at, const uint8_t *end, Row *row) {
    Decimal value;
    int bare;
    double micros;
    JsonStatus status = read_time(at, end, &row->dur, &value, &bare);
    if (status != JSON_OK || !bare) return status;
    if (!decimal_double(&value, &micros)) return JSON_ODD;
    if (fabs(micros) < CLOSE) row->dur_rest = (float)(micros * 1000.0 - (double)row->dur);
    return JSON_OK;
}

static JsonStatus read_phase(const uint8_t **at, const uint8_t *end, Row *row) {
    Span span;
    int escaped;
    if (**at != '"') return JSON_ODD;
    JsonStatus status = json_string(at, end, &span, &escaped);
    if (status != JSON_OK) return status;
    if (span.end - span.start == 1) row->phase = *span.start;
    return escaped ? JSON_ODD : JSON_OK;
}

static JsonStatus read_binding(const uint8_t **at, const uint8_t *end, Row *row) {
    Span span;
    int escaped;
    JsonStatus status = read_text(at, end, &span, &escaped);
    if (status != JSON_OK) return status;
    row->enclosing = span.start && span.end - span.start == 1 && *span.start == 'e';
    return escaped ? JSON_ODD : JSON_OK;
}

static JsonStatus read_args(const uint8_t **at, const uint8_t *end, Row *row) {
    row->args.start = *at;
    JsonStatus status = json_value(at, end);
    row->args.end = *at;
    return status;
}

static int is_key(Span key, const char *wanted, size_t length) {
    return (size_t)(key.end - key.start) == length && memcmp(key.start, wanted, length) == 0;
}
#define IS_KEY(key, wanted) is_key(key, wanted, sizeof wanted - 1)

static int bit_of(Span key) {
    switch (key.end - key.start) {
    case 2:
        return IS_KEY(key, "ph") ? SEEN_PH : IS_KEY(key, "ts") ? SEEN_TS : IS_KEY(key, "id") ? 1 << FLOW
             : IS_KEY(key, "bp") ? SEEN_BP : 0;
    case 3:
        return IS_KEY(key, "pid") ? 1 << PID : IS_KEY(key, "tid") ? 1 << TID : IS_KEY(key, "dur") ? SEEN_DUR
             : IS_KEY(key, "cat") ? 1 << CATEGORY : 0;
    case 4:
        return IS_KEY(key, "name") ? 1 << NAME : IS_KEY(key, "args") ? SEEN_ARGS : 0;
    default:
        return 0;
    }
}

#define FOUR(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/* At a quote: the bit of the key, 0 if unknown. Moves *at after the key. */
static JsonStatus read_key(const uint8_t **at, const uint8_t *end, int *bit) {
    const uint8_t *p = *at;
    Span key;
    int escaped;
    if (end - p >= 6) { /* four bytes identify most keys */
        switch (FOUR(p[1], p[2], p[3], p[4])) {
        case FOUR('p', 'i', 'd', '"'): *bit = 1 << PID, *at = p + 5; return JSON_OK;
        case FOUR('t', 'i', 'd', '"'): *bit = 1 << TID, *at = p + 5; return JSON_OK;
        case FOUR('d', 'u', 'r', '"'): *bit = SEEN_DUR, *at = p + 5; return JSON_OK;
        case FOUR('c', 'a', 't', '"'): *bit = 1 << CATEGORY, *at = p + 5; return JSON_OK;
        case FOUR('p', 'h', '"', ':'): *bit = SEEN_PH, *at = p + 4; return JSON_OK;
        case FOUR('t', 's', '"', ':'): *bit = SEEN_TS, *at = p + 4; return JSON_OK;
        case FOUR('n', 'a', 'm', 'e'):
            if (p[5] != '"') break;
            *bit = 1 << NAME, *at = p + 6;
            return JSON_OK;
        case FOUR('a', 'r', 'g', 's'):
            if (p[5] != '"') break;
            *bit = SEEN_ARGS, *at = p + 6;
            return JSON_OK;
        }
    }
    JsonStatus status = json_string(at, end, &key, &escaped);
    if (status != JSON_OK) return status;
    *bit = bit_of(key);
    return escaped ? JSON_ODD : JSON_OK; /* an escape may spell a known key */
}

static JsonStatus read_member(int bit, const uint8_t **at, const uint8_t *end, Row *row) {
    Decimal value;
    int flag;
    switch (bit) {
    case SEEN_PH: return read_phase(at, end, row);
    case SEEN_TS: return read_time(at, end, &row->ts, &value, &flag);
    case SEEN_DUR: return read_duration(at, end, row);
    case SEEN_BP: return read_binding(at, end, row);
    case SEEN_ARGS: return read_args(at, end, row);
    case 1 << NAME: return read_name(at, end, NAME, row);
    case 1 << CATEGORY: return read_name(at, end, CATEGORY, row);
    case 1 << PID: return read_id(at, end, PID, row);
    case 1 << TID: return read_id(at, end, TID, row);
    case 1 << FLOW: return read_id(at, end, FLOW, row);
    default: return json_value(at, end);
    }
}

/* At a brace: reads the event. Moves *at after it. */
static JsonStatus read_event(const uint8_t **at, const uint8_t *end, Row *row) {
    const uint8_t *p = skip_blanks(*at + 1, end);
    JsonStatus status;
    int bit, seen = 0;
    memset(row, 0, sizeof *row);
    row->ts = row->dur = NULL_INT;
    if (p == end) return JSON_SHORT;
    if (*p == '}') {
        *at = p + 1;
        return JSON_OK;
    }
    for (;;) {
        if (*p != '"') return JSON_ODD;
        if ((status = read_key(&p, end, &bit)) != JSON_OK) return status;
        if (seen & bit) return JSON_ODD;
        seen |= bit;
        if ((p = skip_blanks(p, end)) == end) return JSON_SHORT;
        if (*p != ':') return JSON_ODD;
        if ((p = skip_blanks(p + 1, end)) == end) return JSON_SHORT;
        if ((status = read_member(bit, &p, end, row)) != JSON_OK) return status;
        if ((p = skip_blanks(p, end)) == end) return JSON_SHORT;
        if (*p == '}') break;
        if (*p != ',') return JSON_ODD;
        if ((p = skip_blanks(p + 1, end)) == end) return JSON_SHORT;
    }
    *at = p + 1;
    return JSON_OK;
}

static void hash_texts(const Walker *self, Row *row) {
    for (int kind = 0; kind < TEXTS; kind++) {
        const Interner *interner = &self->texts[kind];
        const uint8_t *text = row->text[kind].start;
        size_t length = (size_t)(row->text[kind].end - text);
        row->code[kind] = text ? UNKNOWN : -1;
        if (!text || row->escaped >> kind & 1) continue;
        int32_t index = interner_recent(interner, text, length);
        if (index >= 0)
            row->code[kind] = index;
        else
            row->hash[kind] = interner_hash(interner, text, length);
    }
}

/* Grows *at to `size` bytes; its content may move. */
static int grow(uint8_t **at, size_t *room, size_t size) {
    if (*room >= size) return 1;
    size_t wanted = *room + *room / 2 + size + 4096;
    uint8_t *grown = realloc(*at, wanted);
    if (!grown) return 0;
    *at = grown;
    *room = wanted;
    return 1;
}

static int gather(Walker *self, Span args) {
    size_t length = (size_t)(args.end - args.start);
    if (!grow(&self->gathered, &self->gathered_size, self->gathered_count + length)) return 0;
    memcpy(self->gathered + self->gathered_count, args.start, length);
    self->gathered_count += length;
    return 1;
}

/* Looks up the index of a text of the row; -1 if out of memory. */
static int32_t index_of(Walker *self, const Row *row, int kind) {
    Interner *interner = &self->texts[kind];
    const uint8_t *text = row->text[kind].start;
    size_t length = (size_t)(row->text[kind].end - text);
    uint32_t hash = row->hash[kind];
    if (row->escaped >> kind & 1) {
        if (!grow(&self->scratch, &self->scratch_size, length)) return -1;
        length = json_unescape(row->text[kind], self->scratch);
        text = self->scratch;
        hash = interner_hash(interner, text, length);
    }
    return interner_index(interner, text, length, hash);
}

/* Adds the row; 0 if out of memory. */
static int keep(Walker *self, const Row *row, const uint8_t *data) {
    Columns *columns = &self->columns;
    size_t index = columns->count;
    for (int kind = 0; kind < TEXTS; kind++) {
        int32_t code = row->code[kind];
        if (code == UNKNOWN && (code = index_of(self, row, kind)) < 0) return 0;
        columns->text[kind][index] = code;
    }
    columns->phase[index] = row->phase;
    columns->enclosing[index] = row->enclosing;
    columns->ts[index] = row->ts;
    columns->dur[index] = row->dur;
    columns->dur_rest[index] = row->dur_rest;
    columns->args_offset[index] = -1;
    columns->args_length[index] = row->args.end - row->args.start;
    if (row->args.start && self->mode == ARGS_IN_FILE)
        columns->args_offset[index] = self->base + (row->args.start - data);
    if (row->args.start && self->mode == ARGS_GATHERED) {
        columns->args_offset[index] = self->base + (int64_t)self->gathered_count;
        if (!gather(self, row->args)) return 0;
    }
    columns->count++;
    return 1;
}

/* Adds the rows; 0 if out of memory. */
static int keep_all(Walker *self, const Row *rows, int count, const uint8_t *data) {
    for (int index = 0; index < count; index++)
        if (!keep(self, &rows[index], data)) return 0;
    return 1;
}

/* At a brace: reads one event. STOP_FULL means "continue". */
static Stop read_one(const uint8_t **at, const uint8_t *end, Row *row, const uint8_t **odd_end) {
    const uint8_t *start = *at;
    JsonStatus status = read_event(at, end, row);
    if (status == JSON_OK) return STOP_FULL;
    if (status == JSON_ODD) {
        *at = *odd_end = start;
        status = json_rough_object(odd_end, end);
        if (status == JSON_OK) return STOP_ODD;
    }
    *at = start;
    return status == JSON_SHORT ? STOP_WAIT : STOP_BROKEN;
}

/* Several events are read before the first is stored: meanwhile, their hash table slots are fetched into the cache.
 * With many distinct names, waiting for memory would take most of a scan. */
Stop walker_walk(Walker *self, const uint8_t *data, size_t size, size_t *position, size_t *event_end) {
    const uint8_t *p = data + *position, *end = data + size, *odd_end = p;
    Row rows[AHEAD];
    int count = 0;
    Stop stop = STOP_FULL;
    self->commas = 0;
    while (stop == STOP_FULL) {
        for (; p < end && (*p == ' ' || *p == ',' || *p == '\n' || *p == '\r' || *p == '\t'); p++)
            self->commas += *p == ',';
        if (p == end) {
            stop = STOP_WAIT;
        } else if (*p == ']') {
            stop = STOP_ENDED;
        } else if (*p != '{') {
            stop = STOP_BROKEN;
        } else if (self->columns.count + (size_t)count == self->columns.capacity) {
            break;
        } else {
            stop = read_one(&p, end, &rows[count], &odd_end);
            if (stop == STOP_FULL) hash_texts(self, &rows[count++]);
        }
        if (count == AHEAD || stop != STOP_FULL) {
            if (!keep_all(self, rows, count, data)) return STOP_MEMORY;
            count = 0;
        }
    }
    if (!keep_all(self, rows, count, data)) return STOP_MEMORY;
    *position = (size_t)(p - data);
    *event_end = (size_t)(odd_end - data);
    return stop;
}
