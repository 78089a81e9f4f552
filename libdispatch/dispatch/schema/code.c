/* code.c -- number the letters of operators' C types, so that calls compare numbers, not texts.
 *
 * plugin.h has a letter for each C type: "TTs>T" means two tensors and a Scalar in, a tensor out.
 * A number is never reused. */
#include "schema.h"
#include <pthread.h>

static struct {
    pthread_mutex_t lock;
    uint32_t n, cap;
    char **text;      /* [n] text[i] has the number i + 1 */
    uint32_t n_slots; /* a power of 2, more than 2 * n; or 0 */
    uint32_t *slots;  /* [n_slots] hash table with open addressing: a text's number; 0: empty */
} codes = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Return the slot of `code`, or the empty slot where it belongs. */
static uint32_t *slot_of(const char *code)
{
    uint32_t i = (uint32_t)dpi_hash(code, strlen(code)) & (codes.n_slots - 1);

    while (codes.slots[i] != 0 && strcmp(codes.text[codes.slots[i] - 1], code) != 0)
        i = (i + 1) & (codes.n_slots - 1);
    return &codes.slots[i];
}

/* Make room for one more text.  false: no memory. */
static bool reserve(void)
{
    char **text = dpi_grow(codes.text, &codes.cap, codes.n + 1, sizeof(*text));

    if (text == NULL)
        return false;
    codes.text = text;
    if (codes.n_slots > 2 * (codes.n + 1))
        return true;
    uint32_t n_slots = codes.n_slots > 0 ? 2 * codes.n_slots : 64;
    uint32_t *slots = dp_calloc(n_slots, sizeof(*slots));
    if (slots == NULL)
        return false;
    dp_free(codes.slots);
    codes.slots = slots;
    codes.n_slots = n_slots;
    for (uint32_t i = 0; i < codes.n; i++)
        *slot_of(codes.text[i]) = i + 1;
    return true;
}

static uint32_t intern(const char *code)
{
    uint32_t *slot = codes.n_slots > 0 ? slot_of(code) : NULL;

    if (slot != NULL && *slot != 0)
        return *slot;
    if (codes.n == (1u << DPI_CODE_BITS) - 1 || !reserve())
        return 0;
    if ((codes.text[codes.n] = dp_strdup(code)) == NULL)
        return 0;
    codes.n++;
    return *slot_of(code) = codes.n;
}

uint32_t dpi_code_intern(const char *code)
{
    if (code[0] == '\0')
        return 0;
    pthread_mutex_lock(&codes.lock);
    uint32_t number = intern(code);
    pthread_mutex_unlock(&codes.lock);
    return number;
}

const char *dpi_code_text(uint32_t code)
{
    code &= (1u << DPI_CODE_BITS) - 1;
    pthread_mutex_lock(&codes.lock);
    const char *s = code > 0 && code <= codes.n ? codes.text[code - 1] : "?";
    pthread_mutex_unlock(&codes.lock);
    return s;
}
