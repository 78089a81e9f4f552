/* utf8.c -- UTF-8: checks a sequence, and writes a code point. */
#include "json/text.h"

size_t utf8_sequence(const char *s, size_t n)
{
    /* range of the first byte, length, and range of the second byte (Unicode table 3-7) */
    static const struct {
        unsigned char first, last, length, low, high;
    } rows[] = {
        {0x00, 0x7f, 1, 0x80, 0xbf}, {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf},
        {0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf},
        {0xf0, 0xf0, 4, 0x90, 0xbf}, {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
    };
    const unsigned char *u = (const unsigned char *)s;

    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        if (u[0] < rows[r].first || u[0] > rows[r].last)
            continue;
        if (rows[r].length > n)
            return 0;
        for (size_t i = 1; i < rows[r].length; i++)
            if (u[i] < (i == 1 ? rows[r].low : 0x80) || u[i] > (i == 1 ? rows[r].high : 0xbf))
                return 0;
        return rows[r].length;
    }
    return 0;
}

char *utf8_put(char *to, unsigned c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(leads[more] | c >> 6 * more);
    while (more-- > 0)
        *to++ = (char)(0x80 | (c >> 6 * more & 0x3f));
    return to;
}
