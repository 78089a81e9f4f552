/* page.c -- what verb conform found, as one page of HTML without anything from elsewhere */
#include "conform.h"
#include <stdlib.h>
#include <string.h>

/* page.html; its script draws everything from the data in the page. */
extern const char conform_page[];

/* Write JSON into a script element: with "<" as an escape no text of it can end the element. */
static void put_json(FILE *f, const char *text)
{
    for (; *text; text++)
        if (*text == '<')
            fputs("\\u003c", f);
        else
            fputc(*text, f);
}

bool report_page(const suite *s, const char *path)
{
    static const char mark[] = "@DATA@";
    const char *at = strstr(conform_page, mark);
    FILE *f = fopen(path, "we");

    if (f == NULL)
        return close_report(f, path);
    cJSON *data = report_json(s);
    char *text = json_text(data);
    fwrite(conform_page, 1, (size_t)(at - conform_page), f);
    put_json(f, text);
    fputs(at + strlen(mark), f);
    free(text);
    cJSON_Delete(data);
    return close_report(f, path);
}
