/* SPDX-License-Identifier: MIT */
#include "page/page_out.h"

#include <assert.h>
#include <string.h>

#include "base/text/base64.h"
#include "page/page_deflate.h"

typedef enum encoding { PLAIN, DELTA, BYTES } encoding;

static const struct {
    const char *name;
} sections[] = {
#define ROW(name, scope) {#name},
    SL_PAGE_SECTION_MAP(ROW)
#undef ROW
};

static const struct {
    sl_page_section section;
    const char *name;
    encoding encoding;
} columns_table[] = {
#define ROW(section, name, encoding, meaning) {SL_PAGE_##section, #name, encoding},
    SL_PAGE_COLUMN_MAP(ROW)
#undef ROW
};

static void put_varint(sl_page_columns *columns, sl_page_bytes *to, uint64_t value) {
    if (!sl_vec_reserve(&to->bytes, 10)) {
        columns->has_failed = true;
        return;
    }
    while (value >= 0x80) {
        to->bytes.at[to->bytes.cnt++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    to->bytes.at[to->bytes.cnt++] = (uint8_t)value;
}

void sl_page_put(sl_page_columns *columns, sl_page_column column, int64_t value) {
    sl_page_bytes *to = &columns->at[column];
    to->cnt++;
    if (columns_table[column].encoding == PLAIN) {
        assert(value >= 0);
        put_varint(columns, to, (uint64_t)value);
        return;
    }
    /* Unsigned: the difference of two distant values wraps, and wraps back when it is added. */
    uint64_t delta = (uint64_t)value - (uint64_t)to->previous;
    to->previous = value;
    put_varint(columns, to, (delta << 1) ^ (delta >> 63 ? UINT64_MAX : 0));
}

void sl_page_put_bytes(sl_page_columns *columns, sl_page_column column, sl_str bytes) {
    sl_page_bytes *to = &columns->at[column];
    if (!sl_vec_reserve(&to->bytes, bytes.len)) {
        columns->has_failed = true;
        return;
    }
    if (bytes.len > 0)
        memcpy(to->bytes.at + to->bytes.cnt, bytes.ptr, bytes.len);
    to->bytes.cnt += bytes.len;
    to->cnt += bytes.len;
}

void sl_page_put_addr(sl_page_columns *columns, sl_page_column high, uint64_t addr) {
    sl_page_put(columns, high, (int64_t)(addr >> 32));
    sl_page_put(columns, (sl_page_column)(high + 1), (int64_t)(addr & UINT32_MAX));
}

typedef SL_VEC(uint8_t) byte_vec;

/* Joins all columns of a section and notes where each begins. */
static bool join_columns(const sl_page_columns *columns, sl_page_section section, byte_vec *out,
                         sl_page_written *written) {
    for (size_t i = 0; i < SL_PAGE_COLUMN_CNT; i++) {
        const sl_page_bytes *from = &columns->at[i];
        if (columns_table[i].section != section || from->cnt == 0)
            continue;
        if (!sl_vec_reserve(out, from->bytes.cnt))
            return false;
        written->columns[i].offset = out->cnt;
        written->columns[i].bytes = from->bytes.cnt;
        written->columns[i].cnt = from->cnt;
        memcpy(out->at + out->cnt, from->bytes.at, from->bytes.cnt);
        out->cnt += from->bytes.cnt;
    }
    written->bytes = out->cnt;
    return true;
}

static void print_id(FILE *to, sl_page_section section, int lane) {
    for (const char *c = sections[section].name; *c; c++)
        putc(*c | 0x20, to); /* the table's names are upper case letters */
    if (lane >= 0)
        fprintf(to, "-%d", lane);
}

static void print_section(FILE *to, const sl_page_written *written, const uint8_t *bytes,
                          size_t cnt) {
    fputs("<script type=\"application/octet-stream\" id=\"", to);
    print_id(to, written->section, written->lane);
    fputs("\">", to);
    sl_base64_write(to, bytes, cnt);
    fputs("</script>\n", to);
}

static sl_status write_section(const sl_page_columns *columns, sl_page_written *written, FILE *to,
                               sl_error *err) {
    byte_vec joined = {0};
    uint8_t *packed = NULL;
    size_t packed_cnt = 0;
    sl_status status = SL_OK;
    if (!join_columns(columns, written->section, &joined, written)) {
        status = sl_fail_no_memory(err, "the page's columns");
    } else if (joined.cnt > 0) {
        written->is_deflated = sl_page_deflate(joined.at, joined.cnt, &packed, &packed_cnt);
        print_section(to, written, packed ? packed : joined.at, packed ? packed_cnt : joined.cnt);
    }
    free(packed);
    sl_vec_free(&joined);
    return status;
}

static sl_status add_section(sl_page_columns *columns, sl_page_section section, int lane, FILE *to,
                             sl_page_index *index, sl_error *err) {
    sl_page_written *written = calloc(1, sizeof *written);
    if (!written || !sl_vec_push(index, written)) {
        free(written);
        return sl_fail_no_memory(err, "the page's index");
    }
    written->section = section;
    written->lane = lane;
    SL_TRY(write_section(columns, written, to, err));
    if (written->bytes == 0) {
        index->cnt--;
        free(written);
    }
    return SL_OK;
}

sl_status sl_page_write(sl_page_columns *columns, int lane, FILE *to, sl_page_index *index,
                        sl_error *err) {
    if (columns->has_failed)
        return sl_fail_no_memory(err, "the page's columns");
    for (int i = 0; i < SL_PAGE_SECTION_CNT; i++)
        SL_TRY(add_section(columns, (sl_page_section)i, lane, to, index, err));
    return ferror(to) ? sl_fail_errno(err, SL_E_WRITE, "cannot write the page") : SL_OK;
}

static void lower_key(sl_json_out *json, const char *name, int lane) {
    char key[48];
    size_t len = 0;
    for (; len < 32 && name[len]; len++)
        key[len] = name[len] == '_' ? '_' : (char)(name[len] | 0x20);
    if (lane >= 0)
        snprintf(key + len, sizeof key - len, "-%d", lane);
    else
        key[len] = '\0';
    sl_json_key(json, key);
}

static void column_json(const sl_page_written *written, size_t column, sl_json_out *json) {
    lower_key(json, columns_table[column].name, -1);
    sl_json_begin_array(json);
    sl_json_u64(json, written->columns[column].offset);
    sl_json_u64(json, written->columns[column].bytes);
    sl_json_u64(json, written->columns[column].cnt);
    sl_json_end_array(json);
}

static void section_json(const sl_page_written *written, sl_json_out *json) {
    lower_key(json, sections[written->section].name, written->lane);
    sl_json_begin_object(json);
    sl_json_key(json, "deflate");
    sl_json_bool(json, written->is_deflated);
    sl_json_key(json, "bytes");
    sl_json_u64(json, written->bytes);
    sl_json_key(json, "columns");
    sl_json_begin_object(json);
    for (size_t i = 0; i < SL_PAGE_COLUMN_CNT; i++)
        if (written->columns[i].cnt > 0)
            column_json(written, i, json);
    sl_json_end_object(json);
    sl_json_end_object(json);
}

void sl_page_index_json(const sl_page_index *index, sl_json_out *json) {
    sl_json_begin_object(json);
    for (size_t i = 0; i < index->cnt; i++)
        section_json(index->at[i], json);
    sl_json_end_object(json);
}

void sl_page_index_fini(sl_page_index *index) {
    for (size_t i = 0; i < index->cnt; i++)
        free(index->at[i]);
    sl_vec_free(index);
}

void sl_page_columns_fini(sl_page_columns *columns) {
    for (size_t i = 0; i < SL_PAGE_COLUMN_CNT; i++)
        sl_vec_free(&columns->at[i].bytes);
    *columns = (sl_page_columns){0};
}
