/* json.h -- parses JSON text into cJSON trees, and writes answers as JSON text.  Uses neither
 * sockets nor requests. */
#ifndef DAEMON_JSON_H
#define DAEMON_JSON_H

#include <cjson/cJSON.h>
#include <dispatchd/dispatch.h>
#include <string.h>

/* values and elements that are integers below this magnitude are written as JSON numbers, in
 * requests and answers; others as strings */
#define JSON_EXACT_INT ((int64_t)1 << 53)

/* Return the length of the UTF-8 sequence at `s`, which has `n` > 0 bytes; 0: no valid sequence.
 * utf8.c */
size_t utf8_sequence(const char *s, size_t n);

/* -- read.c, and tree.c (json_free() and json_ref()) -- */

/* Count the bytes from `s` on, at most `n`, that need neither an escape nor a check in a JSON
 * string: ASCII characters other than quotes, backslashes and the control characters below 0x20. */
size_t plain_bytes(const char *s, size_t n);
/* Parse strictly.  `*out` is owned by the caller, who frees the whole tree by json_free().
 * DP_EVALUE: `s` is not valid; the message tells where.  DP_ERESOURCE: out of memory. */
int json_parse(const char *s, size_t n, cJSON **out, dp_error *err);
/* Free a tree that json_parse() made; trees made by functions of cJSON need cJSON_Delete().  `root`
 * may be NULL. */
void json_free(cJSON *root);
/* Add a reference: json_free() must be called once more, and the tree must not be changed. */
cJSON *json_ref(cJSON *root);

static inline int json_type(const cJSON *j) /* returns cJSON_Object, cJSON_Array, ... */
{
    return j->type & 0xff;
}
static inline bool json_is_bool(const cJSON *j)
{
    return json_type(j) == cJSON_True || json_type(j) == cJSON_False;
}
static inline bool json_is_int(const cJSON *j) /* is `j` an integer below 2^53 in magnitude? */
{
    double d = j->valuedouble, most = (double)JSON_EXACT_INT;

    return json_type(j) == cJSON_Number && d < most && d > -most && (double)(int64_t)d == d;
}
/* Compare two names.  A simple loop is faster than strcmp() here, because names are short and
 * usually differ in their first letters. */
static inline bool same_name(const char *a, const char *b)
{
    while (*a == *b && *a != '\0')
        a++, b++;
    return *a == *b;
}

/* -- write.c: a writer (jw) appends JSON text to a buffer that it owns, and inserts the commas
 * -- */

typedef struct jw {
    char *s;
    size_t len, cap;
    /* out of memory, over LIMIT_ANSWER_BYTES, refused by `account`, or nested too deep: nothing
     * more is written */
    bool failed;
    uint32_t depth; /* number of open objects and arrays */
    uint64_t comma; /* bit d: the next element at depth d needs a comma before it */
    /* Borrowed; NULL: none.  The account that is charged for a buffer of more than
     * LIMIT_INLINE_BYTES.  If the account refuses the charge, writing fails, `refused` is set and
     * `*err` tells the limit. */
    dp_account *account;
    dp_error *err;
    bool refused;
    /* counted reference to the account to which `charged_bytes` are charged until jw_fini(); NULL:
     * none */
    dp_account *charged_account;
    size_t charged_bytes;
} jw;
void jw_init(jw *w);
void jw_fini(jw *w);
/* Reserve memory for `n` more bytes: writing them cannot fail for want of memory.  false: writing
 * has failed. */
bool jw_reserve(jw *w, size_t n);
void jw_object(jw *w);
void jw_object_end(jw *w);
void jw_array(jw *w);
void jw_array_end(jw *w);
/* Write a member's name.  The name is one of the daemon's own names, which need no escapes. */
#define jw_key(w, name) jw_keyn(w, name, strlen(name))
void jw_keyn(jw *w, const char *name, size_t n);
/* Write a member's name, with escapes where necessary. */
void jw_name(jw *w, const char *name);
void jw_str(jw *w, const char *s); /* NULL is written as null; invalid UTF-8 as U+FFFD */
void jw_strn(jw *w, const char *s, size_t n);
void jw_int(jw *w, int64_t i); /* always a JSON number: for counts, sizes and ids */
void jw_bool(jw *w, bool b);
void jw_null(jw *w);
void jw_raw(jw *w, const char *s, size_t n);  /* write the text of one JSON value unchanged */
void jw_text(jw *w, const char *s, size_t n); /* write text unchanged, without a comma before it */
void jw_value_int(jw *w, int64_t i);          /* from a magnitude of 2^53 on: {"int":"..."} */
void jw_value_double(jw *w, double d);        /* written as {"float":2} if integral or not finite */
/* Write one element of a tensor, with the fewest digits that read back as the same value of
 * `dtype`. */
void jw_element(jw *w, dp_dtype dtype, const void *p);
/* Write `n` contiguous elements as text, separated by commas, without brackets and without a comma
 * before the first. */
void jw_elements(jw *w, dp_dtype dtype, const char *p, int64_t n);
/* Write a member of the object that is open. */
static inline void member_str(jw *w, const char *name, const char *s)
{
    jw_key(w, name);
    jw_str(w, s);
}
static inline void member_int(jw *w, const char *name, int64_t i)
{
    jw_key(w, name);
    jw_int(w, i);
}
static inline void member_bool(jw *w, const char *name, bool b)
{
    jw_key(w, name);
    jw_bool(w, b);
}
void member_strings(jw *w, const char *name, const char *const *strings, size_t n);

#endif
