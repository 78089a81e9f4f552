/* json.h -- JSON text to cJSON trees, and answers to JSON text.  Knows no sockets, no requests. */
#ifndef DAEMON_JSON_H
#define DAEMON_JSON_H

#include <cjson/cJSON.h>
#include <dispatchd/dispatch.h>
#include <string.h>

#define JSON_EXACT_INT ((int64_t)1 << 53) /* bare integers are smaller, in requests and answers */

/* Length of the UTF-8 sequence at s, which has n > 0 bytes; 0: there is no valid one.  utf8.c */
size_t utf8_sequence(const char *s, size_t n);

/* -- read.c; tree.c frees and counts -- */

/* Bytes from s on that mean themselves in a JSON string: ASCII, no control, '"' nor '\\'. */
size_t plain_bytes(const char *s, size_t n);
/* Strict parse: *out owned, freed whole by json_free().  DP_EVALUE says what is wrong and where;
 * DP_ERESOURCE: no memory. */
int json_parse(const char *s, size_t n, cJSON **out, dp_error *err);
void json_free(cJSON *root);  /* of json_parse(), never of cJSON; NULL is fine */
cJSON *json_ref(cJSON *root); /* json_free() is then to be called once more; nobody may change it */

static inline int json_type(const cJSON *j) /* cJSON_Object ... */
{
    return j->type & 0xff;
}
static inline bool json_is_bool(const cJSON *j)
{
    return json_type(j) == cJSON_True || json_type(j) == cJSON_False;
}
static inline bool json_is_int(const cJSON *j) /* an integral number that may stand bare */
{
    double d = j->valuedouble, most = (double)JSON_EXACT_INT;

    return json_type(j) == cJSON_Number && d < most && d > -most && (double)(int64_t)d == d;
}
/* Names are short, and most that are not the same differ in their first letters. */
static inline bool same_name(const char *a, const char *b)
{
    while (*a == *b && *a != '\0')
        a++, b++;
    return *a == *b;
}

/* -- write.c: a writer appends to a buffer that it owns, and puts the commas itself -- */

typedef struct jw {
    char *s;
    size_t len, cap;
    bool failed; /* out of memory, or over LIMIT_ANSWER_BYTES: nothing more is written */
    uint32_t depth;
    uint64_t comma; /* bit d is set when level d already has an element */
    /* Who pays for a buffer of more than LIMIT_INLINE_BYTES until jw_fini(), borrowed; NULL:
     * nobody.  What is too much for it fails, and *err says why. */
    dp_account *account;
    dp_error *err;
    bool refused;
    dp_account *charged_account; /* counted; NULL: nobody has paid */
    size_t charged_bytes;
} jw;
void jw_init(jw *w);
void jw_fini(jw *w);
void jw_object(jw *w);
void jw_object_end(jw *w);
void jw_array(jw *w);
void jw_array_end(jw *w);
/* Names are the daemon's own, and plain. */
#define jw_key(w, name) jw_keyn(w, name, strlen(name))
void jw_keyn(jw *w, const char *name, size_t n);
void jw_str(jw *w, const char *s); /* NULL writes null; invalid UTF-8 becomes U+FFFD */
void jw_strn(jw *w, const char *s, size_t n);
void jw_int(jw *w, int64_t i); /* always bare: for counts, sizes and ids */
void jw_bool(jw *w, bool b);
void jw_null(jw *w);
void jw_raw(jw *w, const char *s, size_t n);  /* text of one JSON value, written unchanged */
void jw_text(jw *w, const char *s, size_t n); /* the same, but without a comma before it */
void jw_value_int(jw *w, int64_t i);          /* {"int":"..."} from 2^53 on */
void jw_value_double(jw *w, double d);        /* {"float":2} when integral or not finite */
/* One element of a tensor, in the fewest digits that read back exactly in its dtype. */
void jw_element(jw *w, dp_dtype dtype, const void *p);
/* n packed elements as text: commas between them, none before, no brackets. */
void jw_elements(jw *w, dp_dtype dtype, const char *p, int64_t n);
/* A member of the open object. */
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
