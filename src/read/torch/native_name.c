/* SPDX-License-Identifier: MIT */
/* The Itanium C++ ABI's names, as far as a stack needs them. The C++ runtime's own function would give
 * parameters and template arguments too, but those make a line of hundreds of characters, and names built
 * for the purpose make it use any amount of time and memory: not for a file of unknown origin. */
#include "read/torch/native_name.h"

#include <string.h>

#include "base/core/str.h"

#define DEPTH_MAX 128

typedef struct demangler {
    const char *at, *end;
    char *out;
    size_t used; /* at most SL_NATIVE_NAME_CAP */
    sl_str last; /* the last plain name, for constructors */
    bool is_bad;
} demangler;

static char peek(const demangler *d, size_t ahead) {
    return (size_t)(d->end - d->at) > ahead ? d->at[ahead] : '\0';
}

static bool take(demangler *d, char wanted) {
    if (peek(d, 0) != wanted)
        return false;
    d->at++;
    return true;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static void put(demangler *d, sl_str text) {
    if (text.len > SL_NATIVE_NAME_CAP - d->used) {
        d->is_bad = true;
        return;
    }
    memcpy(d->out + d->used, text.ptr, text.len);
    d->used += text.len;
}

static size_t take_number(demangler *d) {
    size_t value = 0;
    while (is_digit(peek(d, 0)) && value < SL_NATIVE_NAME_CAP * 16)
        value = value * 10 + (size_t)(*d->at++ - '0');
    return value;
}

/* "6native": the length, then the text. */
static sl_str take_source_name(demangler *d) {
    size_t len = take_number(d);
    if (!len || (size_t)(d->end - d->at) < len) {
        d->is_bad = true;
        return SL_STR("");
    }
    sl_str text = {d->at, len};
    d->at += len;
    return text;
}

/* "_", "0_", "1A_": the number of a substitution, of a template parameter or of a lambda. */
static void skip_sequence(demangler *d) {
    while (is_digit(peek(d, 0)) || (peek(d, 0) >= 'A' && peek(d, 0) <= 'Z'))
        d->at++;
    if (!take(d, '_'))
        d->is_bad = true;
}

/* --- What is left out: template arguments and parameters ------------------------------------------ */

/* Every bracket open, by the letter that opened it. 'N' and 'Z' hold names, the rest types and values. */
typedef struct brackets {
    char at[DEPTH_MAX];
    unsigned cnt;
} brackets;

static void open_bracket(demangler *d, brackets *open, char letter) {
    if (open->cnt == DEPTH_MAX)
        d->is_bad = true;
    else
        open->at[open->cnt++] = letter;
}

/* A literal: "Lb1E", "LN3c1010DeviceTypeE1E", "L_Z3foovE". In a name, L is before a local one. */
static void skip_literal(demangler *d, brackets *open) {
    char next = peek(d, 0);
    if (is_digit(next) && open->cnt && open->at[open->cnt - 1] == 'N')
        return;
    if (next >= 'a' && next <= 'z') { /* a value of a built-in type: digits, not a name's length */
        while (peek(d, 0) && peek(d, 0) != 'E')
            d->at++;
        if (!take(d, 'E'))
            d->is_bad = true;
        return;
    }
    /* A value of an enumeration: its name, then a number; the others are rare and not followed. */
    if (next == 'N')
        open_bracket(d, open, 'L');
    else
        d->is_bad = true;
}

/* E ends what the last bracket opened. A lambda's parameters are followed by its number, an enumeration's
 * name in a literal by the value and another E. */
static void close_bracket(demangler *d, brackets *open) {
    if (open->at[--open->cnt] == 'l')
        skip_sequence(d);
    if (open->cnt && open->at[open->cnt - 1] == 'L') {
        take(d, 'n');
        take_number(d);
        open->cnt--;
        d->is_bad |= !take(d, 'E');
    }
}

static void skip_d(demangler *d) {
    char kind = peek(d, 0);
    d->at += kind != '\0';
    if (kind == 'T' || kind == 't' || kind == 'O' || kind == 'w')
        d->is_bad = true; /* they hold expressions */
    else if (kind == 'v') {
        take_number(d);
        take(d, '_');
    }
}

static void skip_u(demangler *d, brackets *open) {
    if (take(d, 'l'))
        open_bracket(d, open,
                     'l'); /* a lambda's parameters; its number is skipped where they end */
    else if (take(d, 't'))
        skip_sequence(d);
}

static void skip_s(demangler *d) {
    if (peek(d, 0) >= 'a' && peek(d, 0) <= 'z')
        d->at++;
    else
        skip_sequence(d);
}

static void skip_token(demangler *d, brackets *open) {
    char c = *d->at++;
    switch (c) {
    case 'I':
    case 'J':
    case 'N':
    case 'F':
    case 'Z': open_bracket(d, open, c); break;
    case 'E': close_bracket(d, open); break;
    case 'L': skip_literal(d, open); break;
    case 'X': d->is_bad = true; break;
    case 'S': skip_s(d); break;
    case 'T': skip_sequence(d); break;
    case 'D': skip_d(d); break;
    case 'U': skip_u(d, open); break;
    case 'A':
        take_number(d);
        d->is_bad |= !take(d, '_');
        break;
    default:
        if (is_digit(c)) {
            d->at--;
            take_source_name(d);
        }
        break;
    }
}

/* From after an opening letter to after its E. */
static void skip_to_end(demangler *d, char letter) {
    brackets open = {.at = {letter}, .cnt = 1};
    while (open.cnt && !d->is_bad) {
        if (d->at == d->end)
            d->is_bad = true;
        else
            skip_token(d, &open);
    }
}

/* --- Names ------------------------------------------------------------------------------------- */

typedef struct code_row {
    char code[3];
    sl_str text;
} code_row;

static const code_row operators[] = {
    {"nw", SL_STR("operator new")},    {"na", SL_STR("operator new[]")},
    {"dl", SL_STR("operator delete")}, {"da", SL_STR("operator delete[]")},
    {"ps", SL_STR("operator+")},       {"ng", SL_STR("operator-")},
    {"ad", SL_STR("operator&")},       {"de", SL_STR("operator*")},
    {"co", SL_STR("operator~")},       {"pl", SL_STR("operator+")},
    {"mi", SL_STR("operator-")},       {"ml", SL_STR("operator*")},
    {"dv", SL_STR("operator/")},       {"rm", SL_STR("operator%")},
    {"an", SL_STR("operator&")},       {"or", SL_STR("operator|")},
    {"eo", SL_STR("operator^")},       {"aS", SL_STR("operator=")},
    {"pL", SL_STR("operator+=")},      {"mI", SL_STR("operator-=")},
    {"mL", SL_STR("operator*=")},      {"dV", SL_STR("operator/=")},
    {"rM", SL_STR("operator%=")},      {"aN", SL_STR("operator&=")},
    {"oR", SL_STR("operator|=")},      {"eO", SL_STR("operator^=")},
    {"ls", SL_STR("operator<<")},      {"rs", SL_STR("operator>>")},
    {"lS", SL_STR("operator<<=")},     {"rS", SL_STR("operator>>=")},
    {"eq", SL_STR("operator==")},      {"ne", SL_STR("operator!=")},
    {"lt", SL_STR("operator<")},       {"gt", SL_STR("operator>")},
    {"le", SL_STR("operator<=")},      {"ge", SL_STR("operator>=")},
    {"ss", SL_STR("operator<=>")},     {"nt", SL_STR("operator!")},
    {"aa", SL_STR("operator&&")},      {"oo", SL_STR("operator||")},
    {"pp", SL_STR("operator++")},      {"mm", SL_STR("operator--")},
    {"cm", SL_STR("operator,")},       {"pm", SL_STR("operator->*")},
    {"pt", SL_STR("operator->")},      {"cl", SL_STR("operator()")},
    {"ix", SL_STR("operator[]")},
};

static const code_row abbreviations[] = {
    {"St", SL_STR("std")},
    {"Sa", SL_STR("std::allocator")},
    {"Sb", SL_STR("std::basic_string")},
    {"Ss", SL_STR("std::string")},
    {"Si", SL_STR("std::istream")},
    {"So", SL_STR("std::ostream")},
    {"Sd", SL_STR("std::iostream")},
};

static const code_row *take_code(demangler *d, const code_row *rows, size_t cnt) {
    for (size_t i = 0; i < cnt; i++)
        if (peek(d, 0) == rows[i].code[0] && peek(d, 1) == rows[i].code[1]) {
            d->at += 2;
            return &rows[i];
        }
    return NULL;
}

static void put_source_name(demangler *d) {
    sl_str name = take_source_name(d);
    d->last = name;
    bool is_anonymous = sl_str_starts_with(name, SL_STR("_GLOBAL__N"));
    put(d, is_anonymous ? SL_STR("(anonymous namespace)") : name);
}

static void put_structor(demangler *d) {
    bool is_destructor = *d->at == 'D';
    d->at += 2;
    if (is_destructor)
        put(d, SL_STR("~"));
    put(d, d->last);
}

static void put_closure(demangler *d) {
    d->at++;
    if (take(d, 'l')) {
        skip_to_end(d, 'l');
        put(d, SL_STR("{lambda}"));
    } else if (take(d, 't')) {
        skip_sequence(d);
        put(d, SL_STR("{unnamed type}"));
    } else {
        d->is_bad = true;
    }
}

/* One part between two "::". */
static void put_part(demangler *d) {
    const code_row *row;
    if (peek(d, 0) == 'L' && is_digit(peek(d, 1)))
        d->at++;
    if (is_digit(peek(d, 0)))
        put_source_name(d);
    else if ((peek(d, 0) == 'C' || peek(d, 0) == 'D') && is_digit(peek(d, 1)) && d->last.len)
        put_structor(d);
    else if (peek(d, 0) == 'U')
        put_closure(d);
    else if ((row = take_code(d, abbreviations, SL_COUNT_OF(abbreviations))))
        put(d, row->text);
    else if ((row = take_code(d, operators, SL_COUNT_OF(operators))))
        put(d, row->text);
    else
        d->is_bad = true;
    while (!d->is_bad && take(d, 'B')) { /* "[abi:cxx11]" */
        put(d, SL_STR("[abi:"));
        put(d, take_source_name(d));
        put(d, SL_STR("]"));
    }
    if (!d->is_bad && take(d, 'I')) {
        skip_to_end(d, 'I');
        put(d, SL_STR("<...>"));
    }
}

static void put_nested(demangler *d) {
    while (peek(d, 0) == 'K' || peek(d, 0) == 'V' || peek(d, 0) == 'R' || peek(d, 0) == 'O')
        d->at++;
    put_part(d);
    while (!d->is_bad && !take(d, 'E')) {
        put(d, SL_STR("::"));
        put_part(d);
    }
}

/* A name outside any other: nested, in std, or plain. */
static void put_name(demangler *d) {
    if (take(d, 'N')) {
        put_nested(d);
        return;
    }
    if (peek(d, 0) == 'S' && peek(d, 1) == 't') {
        d->at += 2;
        put(d, SL_STR("std::"));
    }
    put_part(d);
}

/* A name, or one inside a function: "Z<function>E<name>", functions in functions included. */
static void put_encoding(demangler *d) {
    unsigned inside = 0;
    while (take(d, 'Z') && ++inside < DEPTH_MAX)
        ;
    put_name(d);
    for (; inside > 0 && !d->is_bad; inside--) {
        skip_to_end(d, 'Z');
        put(d, SL_STR("::"));
        put_name(d);
        if (take(d, '_') && !take(d, '_')) /* which of several of that name */
            take_number(d);
    }
}

sl_str sl_native_name(sl_str text, char buf[SL_NATIVE_NAME_CAP]) {
    /* What is after the name: a compiler's mark (".cold") and the place in the function. */
    size_t len = 0;
    while (len < text.len && text.ptr[len] != '.' && text.ptr[len] != '+')
        len++;
    if (len < 3 || memcmp(text.ptr, "_Z", 2) != 0)
        return text;
    demangler d = {.at = text.ptr + 2, .end = text.ptr + len, .out = buf};
    put_encoding(&d);
    put(&d, (sl_str){text.ptr + len, text.len - len});
    return d.is_bad ? text : (sl_str){buf, d.used};
}
