/* code.c -- number the letters of operators' C types, so that calls compare numbers, not texts.
 *
 * plugin.h has a letter for each C type: "TTs>T" means two tensors and a Scalar in, a tensor out.
 * A number is never reused. */
#include "schema.h"
#include <pthread.h>

static struct {
    pthread_mutex_t lock;
    uint32_t n, cap;
    char **text; /* [n] text[i] has the number i + 1 */
} codes = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint32_t dpi_code_intern(const char *code)
{
    uint32_t number = 0;

    if (code[0] == '\0')
        return 0;
    pthread_mutex_lock(&codes.lock);
    for (uint32_t i = 0; i < codes.n && number == 0; i++)
        if (strcmp(codes.text[i], code) == 0)
            number = i + 1;
    char **text = number == 0 && codes.n < (1u << DPI_CODE_BITS) - 1
                      ? dpi_grow(codes.text, &codes.cap, codes.n + 1, sizeof(*text))
                      : NULL;
    if (text != NULL) {
        codes.text = text;
        if ((text[codes.n] = dp_strdup(code)) != NULL)
            number = ++codes.n;
    }
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
