/* SPDX-License-Identifier: MIT */
#include "agent/agent_labels.h"

#include <inttypes.h>
#include <string.h>

#include "base/core/str.h"
#include "base/text/utf8.h"

/* A copy that may be shown anywhere; NULL when memory ran out. */
static char *clean(sl_str value) {
    char *copy = malloc(SL_AGENT_LABEL_MAX + 1);
    size_t used = 0;
    if (!copy)
        return NULL;
    for (size_t i = 0; i < value.len;) {
        sl_utf8_char c = sl_utf8_next(value.ptr + i, value.len - i);
        size_t len = c.is_safe ? c.len : 1;
        if (used + len > SL_AGENT_LABEL_MAX)
            break;
        if (c.is_safe)
            memcpy(copy + used, value.ptr + i, len);
        else
            copy[used] = '?';
        used += len;
        i += c.len;
    }
    copy[used] = '\0';
    return copy;
}

static size_t find(const sl_agent_labels *labels, const char *name, bool *is_there) {
    size_t i = 0;
    while (i < labels->list.cnt && strcmp(labels->list.at[i].name, name) < 0)
        i++;
    *is_there = i < labels->list.cnt && strcmp(labels->list.at[i].name, name) == 0;
    return i;
}

static void remove_at(sl_agent_labels *labels, size_t i) {
    sl_agent_label *at = labels->list.at + i;
    free(at->name);
    free(at->value);
    memmove(at, at + 1, (labels->list.cnt - i - 1) * sizeof *at);
    labels->list.cnt--;
}

/* Takes both texts over. */
static bool insert_at(sl_agent_labels *labels, size_t i, sl_agent_label label) {
    if (!label.name || !label.value || !sl_vec_reserve(&labels->list, 1)) {
        free(label.name);
        free(label.value);
        return false;
    }
    sl_agent_label *at = labels->list.at + i;
    memmove(at + 1, at, (labels->list.cnt - i) * sizeof *at);
    *at = label;
    labels->list.cnt++;
    return true;
}

bool sl_agent_labels_set(sl_agent_labels *labels, const char *name, sl_str value) {
    bool is_there;
    size_t i = find(labels, name, &is_there);
    if (is_there)
        remove_at(labels, i);
    if (value.len == 0)
        return true;
    return insert_at(labels, i, (sl_agent_label){strdup(name), clean(value)});
}

bool sl_agent_labels_set_number(sl_agent_labels *labels, const char *name, int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    return sl_agent_labels_set(labels, name, sl_str_of(text));
}

bool sl_agent_labels_join(sl_agent_labels *labels, const sl_agent_labels *from) {
    for (size_t i = 0; i < from->list.cnt; i++)
        if (!sl_agent_labels_set(labels, from->list.at[i].name, sl_str_of(from->list.at[i].value)))
            return false;
    return true;
}

const char *sl_agent_labels_get(const sl_agent_labels *labels, const char *name) {
    bool is_there;
    size_t i = find(labels, name, &is_there);
    return is_there ? labels->list.at[i].value : NULL;
}

void sl_agent_labels_fini(sl_agent_labels *labels) {
    while (labels->list.cnt)
        remove_at(labels, labels->list.cnt - 1);
    sl_vec_free(&labels->list);
}

bool sl_agent_label_is_name(sl_str name) {
    if (name.len == 0 || name.len > 128 || sl_str_starts_with(name, SL_STR("__")))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return true;
}

/* Control characters are gone already, but for those that a caller did not clean. */
static void write_value(const char *value, FILE *to) {
    for (const char *at = value; *at; at++) {
        if (*at == '\\' || *at == '"')
            putc('\\', to);
        if (*at == '\n')
            fputs("\\n", to);
        else
            putc(*at, to);
    }
}

void sl_agent_labels_write(const sl_agent_labels *labels, FILE *to) {
    for (size_t i = 0; i < labels->list.cnt; i++) {
        fprintf(to, "%s%s=\"", i ? "," : "", labels->list.at[i].name);
        write_value(labels->list.at[i].value, to);
        putc('"', to);
    }
}
