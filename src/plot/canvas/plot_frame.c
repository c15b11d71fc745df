/* SPDX-License-Identifier: MIT */
#include "plot/canvas/plot_frame.h"

#include <math.h>
#include <string.h>

#include "base/text/human.h"
#include "base/text/term.h"

#define MARGIN     20.0
#define TITLE_SIZE 16.0
#define TITLE_STEP 21.0
#define TITLE_ROWS 3

/* Series colours that can be told apart with the common kinds of colour blindness and have a
 * contrast of at least 3:1 on both backgrounds. */
#define SERIES_COLORS                                                                             \
    {                                                                                             \
        0x4269d0, 0xe0a010, 0xf0614c, 0x3fae9a, 0x3c9a4b, 0xe56da0, 0x9556e0, 0x6fa3ea, 0x9c6b4e, \
            0x7f8fa6                                                                              \
    }

static const sl_plot_theme_colors light = {
    .background = 0xffffff,
    .text = 0x1f2328,
    .muted = 0x59636e,
    .grid = 0xe3e7ec,
    .alarm = 0xcf222e,
    .warning = 0xb35900,
    .other = 0xb4bcc6,
    .series = SERIES_COLORS,
};

static const sl_plot_theme_colors dark = {
    .background = 0x0d1117,
    .text = 0xe6edf3,
    .muted = 0x9aa4af,
    .grid = 0x252c35,
    .alarm = 0xff6b62,
    .warning = 0xe3a04b,
    .other = 0x55606d,
    .series = SERIES_COLORS,
};

const sl_plot_theme_colors *sl_plot_theme(bool is_dark) {
    return is_dark ? &dark : &light;
}

sl_text_style sl_plot_small(const sl_plot *plot) {
    return (sl_text_style){.size = 11.0, .paint = sl_solid(plot->theme->muted)};
}

sl_text_style sl_plot_normal(const sl_plot *plot) {
    return (sl_text_style){.size = 12.0, .paint = sl_solid(plot->theme->text)};
}

const char *sl_plot_basename(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* The title, broken between words; returns the baseline of its last row. */
static double draw_title(sl_plot *plot, const char *title) {
    sl_text_style style = {
        .size = TITLE_SIZE, .is_bold = true, .paint = sl_solid(plot->theme->text)};
    double width = plot->options->width - 2 * MARGIN, y = MARGIN + 14;
    for (int row = 0; row < TITLE_ROWS - 1; row++) {
        char line[SL_WORDS_CAP];
        size_t len = sl_canvas_break(plot->canvas, title, width, style);
        if (!title[len])
            break;
        snprintf(line, sizeof line, "%.*s", (int)len, title);
        sl_canvas_text_fit(plot->canvas, (sl_point){MARGIN, y}, line, width, style);
        title += len + strspn(title + len, " ");
        y += TITLE_STEP;
    }
    sl_canvas_text_fit(plot->canvas, (sl_point){MARGIN, y}, title, width, style);
    return y;
}

sl_box sl_plot_begin(sl_plot *plot, const char *subtitle) {
    char title[SL_WORDS_CAP];
    sl_words_verdict(title, plot->report);
    return sl_plot_begin_as(plot, title, subtitle);
}

sl_box sl_plot_begin_as(sl_plot *plot, const char *title, const char *subtitle) {
    double width = plot->options->width, height = plot->options->height;
    sl_canvas_rect(plot->canvas, (sl_box){0, 0, width, height}, sl_solid(plot->theme->background));
    double y = draw_title(plot, title) + 20;
    sl_canvas_text_fit(plot->canvas, (sl_point){MARGIN, y}, subtitle, width - 2 * MARGIN,
                       sl_plot_small(plot));
    y += 16;
    return (sl_box){MARGIN, y, width - 2 * MARGIN, height - y - MARGIN};
}

sl_maybe_u64 sl_plot_steps(const sl_plot *plot, const sl_plot_input *input) {
    for (size_t i = 0; i < plot->report->devices.cnt; i++) {
        const sl_device_report *device = &plot->report->devices.at[i];
        if (device->trace == input->trace && device->device == input->device->events->device)
            return device->steps;
    }
    return (sl_maybe_u64){0};
}

void sl_plot_describe(char buf[SL_WORDS_CAP], const sl_plot *plot, const sl_plot_input *input) {
    char device[SL_WORDS_CAP], count[SL_HUMAN_CAP], span[SL_HUMAN_CAP];
    const sl_replay *replay = input->replay;
    sl_words_device(device, replay->device->device);
    snprintf(buf, SL_WORDS_CAP, "%.200s, %.60s", sl_plot_basename(input->trace->path), device);
    if (!replay->has_history)
        return;
    sl_words_append(buf, ", %s event%s", sl_human_count(count, replay->event_cnt),
                    sl_plural(replay->event_cnt));
    if (input->trace->has_time)
        sl_words_append(buf, " in %s",
                        sl_human_duration_us(
                            span, (int64_t)sl_replay_span_us(replay, 0, replay->event_cnt - 1)));
    sl_maybe_u64 steps = sl_plot_steps(plot, input);
    if (steps.known)
        sl_words_append(buf, ", %s step%s%s", sl_human_count(count, steps.value),
                        sl_plural(steps.value), input->steps->is_marked ? "" : " (inferred)");
}

#define LEGEND_ROW  18.0
#define LEGEND_PAIR 34.0 /* height of a row with a second line */

#define DETAIL_COLUMNS    34 /* characters of the second line that fit beside a picture */
#define DETAIL_FOLDER_MIN 10

static void draw_key(sl_plot *plot, sl_point at, const sl_legend_row *row) {
    sl_stroke stroke = {sl_solid(row->rgb), 2, row->dash};
    if (row->is_line)
        sl_canvas_segment(plot->canvas, (sl_point){at.x, at.y - 4}, (sl_point){at.x + 14, at.y - 4},
                          stroke);
    else
        sl_canvas_rect(plot->canvas, (sl_box){at.x + 2, at.y - 9, 10, 10}, sl_solid(row->rgb));
}

/* The width that a row leaves for its name. */
static double name_room(sl_plot *plot, double width, const sl_legend_row *row) {
    return width - 32 - sl_canvas_text_width(plot->canvas, row->value, sl_plot_normal(plot));
}

static void draw_legend_row(sl_plot *plot, sl_box box, const sl_legend_row *row) {
    sl_text_style normal = sl_plot_normal(plot), value = normal, small = sl_plot_small(plot);
    value.align = SL_ALIGN_RIGHT;
    draw_key(plot, (sl_point){box.x, box.y}, row);
    sl_canvas_text_fit(plot->canvas, (sl_point){box.x + 22, box.y}, row->name,
                       name_room(plot, box.w, row), normal);
    sl_canvas_text(plot->canvas, (sl_point){box.x + box.w, box.y}, row->value, value);
    sl_canvas_text_fit(plot->canvas, (sl_point){box.x + 22, box.y + 15}, row->detail, box.w - 22,
                       small);
}

/* A name that is too long continues in the second line if that is empty. */
static sl_legend_row broken_row(sl_plot *plot, double width, const sl_legend_row *row) {
    sl_legend_row broken = *row;
    sl_text_style style = sl_plot_normal(plot);
    double room = name_room(plot, width, row);
    if (row->detail[0] || sl_canvas_text_width(plot->canvas, row->name, style) <= room)
        return broken;
    size_t len = sl_canvas_break(plot->canvas, row->name, room, style);
    snprintf(broken.name, sizeof broken.name, "%.*s", (int)len, row->name);
    snprintf(broken.detail, sizeof broken.detail, "%s",
             row->name + len + strspn(row->name + len, " "));
    return broken;
}

/* Whether all rows fit with their second lines. */
static bool has_room(sl_plot *plot, sl_box box, const sl_legend_row *rows, size_t cnt) {
    double height = 0;
    for (size_t i = 0; i < cnt; i++)
        height += broken_row(plot, box.w, &rows[i]).detail[0] ? LEGEND_PAIR : LEGEND_ROW;
    return height <= box.h;
}

void sl_plot_legend(sl_plot *plot, sl_box box, const sl_legend_row *rows, size_t cnt) {
    double y = box.y + 10, end = box.y + box.h;
    bool has_details = has_room(plot, box, rows, cnt);
    for (size_t i = 0; i < cnt; i++) {
        sl_legend_row row = broken_row(plot, box.w, &rows[i]);
        if (!has_details && rows[i].detail[0])
            row.detail[0] = '\0';
        double step = row.detail[0] ? LEGEND_PAIR : LEGEND_ROW;
        char rest[48];
        if (y + step > end && i + 1 < cnt) {
            snprintf(rest, sizeof rest, "and %zu more", cnt - i);
            sl_canvas_text(plot->canvas, (sl_point){box.x + 22, y}, rest, sl_plot_small(plot));
            return;
        }
        draw_legend_row(plot, (sl_box){box.x, y, box.w, step}, &row);
        y += step;
    }
}

/* The end of a folder's path says more than its beginning. */
static void add_folder(sl_legend_row *row, const char *file, size_t len) {
    char folder[SL_WORDS_CAP], fitted[sizeof row->detail];
    size_t used = strlen(row->detail);
    snprintf(folder, sizeof folder, "%.*s", (int)(len < sizeof folder ? len : sizeof folder - 1),
             file);
    sl_term_fit_path(fitted, sizeof fitted, folder,
                     used + DETAIL_FOLDER_MIN < DETAIL_COLUMNS ? DETAIL_COLUMNS - used
                                                               : DETAIL_FOLDER_MIN);
    snprintf(row->detail + used, sizeof row->detail - used, ", %.40s", fitted);
}

void sl_plot_name_site(sl_legend_row *row, sl_site site) {
    sl_frame frame;
    if (!sl_site_frame(site, &frame)) {
        snprintf(row->name, sizeof row->name, "%.90s", sl_site_label(site));
        return;
    }
    const char *file = sl_strtab_get(&site.trace->strings, frame.file).ptr;
    const char *function = sl_strtab_get(&site.trace->strings, frame.function).ptr;
    const char *base = sl_plot_basename(file);
    int len = snprintf(row->name, sizeof row->name, "%.80s", base);
    if (frame.line)
        snprintf(row->name + len, sizeof row->name - (size_t)len, ":%u", frame.line);
    snprintf(row->detail, sizeof row->detail, "in %.45s", *function ? function : "??");
    if (base > file + 1)
        add_folder(row, file, (size_t)(base - file - 1));
}

uint32_t sl_plot_series_color(const sl_plot *plot, size_t nth) {
    uint32_t rgb = plot->theme->series[nth % SL_SERIES_COLORS], mixed = 0;
    if (nth < SL_SERIES_COLORS)
        return rgb;
    uint32_t with = nth < 2 * SL_SERIES_COLORS ? plot->theme->background : plot->theme->text;
    for (unsigned shift = 0; shift < 24; shift += 8)
        mixed |= (((rgb >> shift & 255) + (with >> shift & 255)) / 2) << shift;
    return mixed;
}

void sl_plot_name_rest(sl_legend_row *row, size_t cnt, uint64_t largest_bytes) {
    char human[SL_HUMAN_CAP];
    if (cnt > 1)
        snprintf(row->name, sizeof row->name, "%zu more, the largest %s", cnt,
                 sl_human_bytes(human, largest_bytes));
    else
        snprintf(row->name, sizeof row->name, "everything else");
}

void sl_plot_note(sl_plot *plot, sl_point at, const char *text, sl_text_style style) {
    sl_plot_notes *notes = plot->notes;
    if (notes->cnt == SL_NOTES_MAX)
        return;
    notes->at[notes->cnt].at = at;
    notes->at[notes->cnt].style = style;
    snprintf(notes->at[notes->cnt].text, SL_NOTE_CAP, "%s", text);
    notes->cnt++;
}

/* Whether a note that is already drawn is there. Notes are drawn from the last to the first, so
 * those have higher numbers than `first`. */
static bool is_taken(const sl_plot_notes *notes, size_t first, const sl_box *box) {
    for (size_t i = first + 1; i < notes->cnt; i++) {
        const sl_box *other = &notes->at[i].box;
        if (box->x < other->x + other->w && other->x < box->x + box->w &&
            box->y < other->y + other->h && other->y < box->y + box->h)
            return true;
    }
    return false;
}

static void draw_note(sl_plot *plot, size_t number) {
    static const double shares[] = {
        [SL_ALIGN_LEFT] = 0, [SL_ALIGN_CENTER] = 0.5, [SL_ALIGN_RIGHT] = 1};
    const char *text = plot->notes->at[number].text;
    sl_text_style style = plot->notes->at[number].style;
    sl_point at = plot->notes->at[number].at;
    double width = sl_canvas_text_width(plot->canvas, text, style);
    double left = at.x - shares[style.align] * width - 4, most = plot->options->width - width - 10;
    sl_box veil = {fmax(fmin(left, most), 2), at.y - style.size - 1, width + 8, style.size + 7};
    while (is_taken(plot->notes, number, &veil))
        veil.y += veil.h;
    if (veil.y + veil.h > plot->options->height)
        return;
    plot->notes->at[number].box = veil;
    style.align = SL_ALIGN_LEFT;
    sl_canvas_rect(plot->canvas, veil, (sl_paint){plot->theme->background, 0.82});
    sl_canvas_text(plot->canvas, (sl_point){veil.x + 4, veil.y + style.size + 1}, text, style);
}

void sl_plot_notes_draw(sl_plot *plot) {
    for (size_t i = plot->notes->cnt; i-- > 0;)
        draw_note(plot, i);
}
