/* find.c -- finds the file for a plugin's path or bare name. */
#include "plugins.h"
#include <sys/stat.h>

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Store in *out the first existing file DIR/NAME.so or DIR/NAME, in the order of the directories in
 * `dirs`; NULL: there is none. */
static int search(const char *dirs, const char *name, dp_arena *a, const char **out, dp_error *err)
{
    /* ".so" comes first, because most plugin files are called NAME.so. */
    static const char *const suffixes[] = {".so", ""};
    size_t n;

    for (; dirs && *dirs; dirs += n + (dirs[n] == ':')) {
        n = strcspn(dirs, ":");
        for (size_t i = 0; n && i < DPI_COUNT(suffixes); i++) {
            *out = dp_arena_printf(a, "%.*s/%s%s", (int)n, dirs, name, suffixes[i]);
            if (*out == NULL)
                return dpi_no_memory(err, "a plugin's path");
            if (is_file(*out))
                return 0;
        }
    }
    *out = NULL;
    return 0;
}

static bool bare_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

    return n > 0 && s[n] == '\0' && s[0] != '.';
}

int dp_plugin_find(const char *path, const char *search_path, dp_arena *a, const char **out,
                   dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, path, a, out))
        return DP_EVALUE;
    int rc;

    if (path[0] == '/') {
        *out = dp_arena_printf(a, "%s", path);
        return *out ? 0 : dpi_no_memory(err, "a plugin's path");
    }
    if (!bare_name(path))
        return dp_error_set(
            err, DP_EVALUE,
            "'%s' is neither an absolute path nor a bare name (letters, digits, '_', "
            "'.', '-')",
            path);
    rc = search(search_path, path, a, out, err);
    if (rc == 0 && *out == NULL)
        rc = dp_error_set(err, DP_ENOTFOUND,
                          "no file '%s.so' in the plugin path '%s', and no '%s' either", path,
                          search_path ? search_path : "", path);
    return rc;
}
