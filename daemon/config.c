/* config.c -- reads a config file: lines `key = value`, empty lines, and comments, whose first
 * character is #. */
#include "options.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONFIG_BYTES = 64 << 10, WHERE_BYTES = 512 };

/* Read the whole file into `*text`, and end it with a NUL. */
static int read_file(const char *path, char **text, dp_error *err)
{
    struct stat st;
    size_t n = 0;
    ssize_t got = -1;
    /* O_NONBLOCK: opening a FIFO would wait for its writer */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return dp_error_set(err, DP_ERUNTIME, "config '%s': %s", path, strerror(errno));
    *text = dp_malloc(CONFIG_BYTES + 1);
    if (*text == NULL) {
        dp_error_set(err, DP_ERESOURCE, "out of memory: config");
    } else if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        dp_error_set(err, DP_ERUNTIME, "config '%s': not a regular file", path);
    } else {
        while (n <= CONFIG_BYTES && (got = read(fd, *text + n, CONFIG_BYTES + 1 - n)) > 0)
            n += (size_t)got;
        if (got < 0)
            dp_error_set(err, DP_ERUNTIME, "config '%s': %s", path, strerror(errno));
        else if (n > CONFIG_BYTES)
            dp_error_set(err, DP_EVALUE, "config '%s': more than %d bytes", path, CONFIG_BYTES);
    }
    close(fd);
    if (err->code != 0)
        return err->code;
    (*text)[n] = '\0';
    if (strlen(*text) != n)
        return dp_error_set(err, DP_EVALUE, "config '%s': byte %zu is NUL, expected text", path,
                            strlen(*text) + 1);
    return 0;
}

/* Cut white space at both ends of `s`, in place. */
static char *trim(char *s)
{
    s += strspn(s, " \t\r");
    size_t n = strlen(s);
    while (n > 0 && strchr(" \t\r", s[n - 1]) != NULL)
        n--;
    s[n] = '\0';
    return s;
}

typedef int set_line(void *arg, const char *where, const char *key, const char *value,
                     dp_error *err);

/* Pass a line that is not empty to `set`. */
static int read_line(char *line, const char *where, set_line *set, void *arg, dp_error *err)
{
    char *equals = strchr(line, '=');

    if (equals == NULL)
        return dp_error_set(err, DP_EVALUE, "%s: expected 'key = value', got '%s'", where, line);
    *equals = '\0';
    char *key = trim(line), *value = trim(equals + 1);
    if (*value == '\0')
        return dp_error_set(err, DP_EVALUE, "%s: %s: expected a value after '='", where, key);
    return set(arg, where, key, value, err);
}

/* Add the line about which `why` is; `err` gets the error of the first one. */
static int add_wrong(wrong_lines *wrong, const dp_error *why, dp_error *err)
{
    if (wrong->n == 0)
        *err = *why;
    if (wrong->n < WRONG_LINES && (wrong->messages[wrong->n] = dp_strdup(why->message)) == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: config");
    wrong->n++;
    return 0;
}

int config_read(const char *path, char **text, set_line *set, void *arg, wrong_lines *wrong,
                dp_error *err)
{
    char where[WHERE_BYTES];
    dp_error why = DP_ERROR_INIT;
    int rc = read_file(path, text, err), number = 0;

    for (char *next = rc == 0 ? *text : NULL; rc == 0 && next != NULL;) {
        char *line = next, *end = strchr(line, '\n');
        next = end != NULL ? end + 1 : NULL;
        if (end != NULL)
            *end = '\0';
        line = trim(line);
        snprintf(where, sizeof(where), "%s:%d", path, ++number);
        if (*line == '\0' || *line == '#')
            continue;
        rc = read_line(line, where, set, arg, &why);
        if (rc == DP_EVALUE)
            rc = add_wrong(wrong, &why, err);
        else if (rc < 0)
            *err = why;
    }
    return rc == 0 && wrong->n > 0 ? DP_EVALUE : rc;
}
