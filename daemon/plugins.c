/* plugins.c -- loads plugins when the daemon starts (first those beside the executable, then those
 * named by --plugin), and calls their hooks when a session ends. */
#define _GNU_SOURCE
#include "server.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

int plugin_file(const char *name, const char *plugin_path, dp_arena *a, const char **out,
                dp_error *err)
{
    char here[PATH_BYTES];

    /* Symbolic links in the path are not resolved: if a link is changed, a reload uses its new
     * target. */
    if (name[0] != '/' && strchr(name, '/') != NULL && getcwd(here, sizeof(here)) != NULL)
        name = dp_arena_printf(a, "%s/%s", here, name + 2 * (strncmp(name, "./", 2) == 0));
    if (name == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a plugin's path");
    if (dp_plugin_find(name, plugin_path, a, out, err) == DP_ENOTFOUND && access(name, F_OK) == 0) {
        dp_error found = *err;
        dp_error_set(err, DP_ENOTFOUND, "%s; a path needs a '/': './%s'", found.message, name);
    }
    return err->code;
}

static int load_plugin(server *s, const char *path, dp_error *err)
{
    dp_load_options lo = {.size = sizeof(lo), .cache_dir = s->cache};
    dp_plugin_report r;
    dp_arena *a = dp_arena_new();

    if (a == NULL)
        dp_error_set(err, DP_ERESOURCE, "out of memory: a plugin's path");
    else if (plugin_file(path, s->options->plugin_path, a, &path, err) == 0 &&
             dp_plugin_load(s->reg, path, &lo, a, &r, err) == 0)
        log_event(LOG_INFO, "plugin.load",
                  "plugin='%s' generation=%llu defs=%u impls=%u millis=%.1f path='%s'", r.plugin,
                  (unsigned long long)r.generation, r.defs, r.impls, r.millis, path);
    dp_arena_free(a);
    return err->code;
}

static int is_plugin(const struct dirent *d)
{
    size_t n = strlen(d->d_name);

    return n > 3 && d->d_name[0] != '.' && strcmp(d->d_name + n - 3, ".so") == 0;
}

/* Sort aten first, because it defines the operators that the other plugins implement; then by
 * name. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    bool a_first = strcmp((*a)->d_name, "aten.so") == 0,
         b_first = strcmp((*b)->d_name, "aten.so") == 0;

    return a_first != b_first ? (int)b_first - (int)a_first : strcmp((*a)->d_name, (*b)->d_name);
}

/* Load the plugins in the directory plugins/ beside the executable. */
static int load_own_plugins(server *s, dp_error *err)
{
    char directory[PATH_BYTES], path[PATH_BYTES + 256];
    struct dirent **found = NULL;
    ssize_t length = readlink("/proc/self/exe", directory, sizeof(directory) - 16);

    if (length < 0)
        return dp_error_set(err, DP_ERUNTIME, "/proc/self/exe: %s", strerror(errno));
    directory[length] = '\0';
    snprintf(strrchr(directory, '/'), 16, "/plugins");
    int n = scandir(directory, &found, is_plugin, by_name);
    if (n < 0 && errno != ENOENT)
        return dp_error_set(err, DP_ERUNTIME, "'%s': %s", directory, strerror(errno));
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%s/%s", directory, found[i]->d_name);
        if (err->code == 0)
            load_plugin(s, path, err);
        free(found[i]);
    }
    free(found);
    return err->code;
}

int plugins_load(server *s, dp_error *err)
{
    if (!s->options->no_plugins && load_own_plugins(s, err) < 0)
        return err->code;
    for (size_t i = 0; i < s->options->plugins.n; i++)
        if (load_plugin(s, s->options->plugins.items[i], err) < 0)
            return err->code;
    return 0;
}

/* -- ends of sessions -- */

static void hook_failed(void *arg, const char *plugin, const dp_error *err)
{
    const uint64_t *session = arg;

    log_seldom(LOG_WARN, "plugin.session_end", "plugin='%s' session=%llu error=\"%s\"", plugin,
               (unsigned long long)*session, err->message);
}

void plugins_session_ended(void *reg, uint64_t session)
{
    dp_error err = DP_ERROR_INIT;
    dp_ctx *ctx;

    if (dp_ctx_new(reg, &ctx, &err) == 0) {
        dp_ctx_set_session(ctx, session);
        if (dp_session_end(ctx, hook_failed, &session) < 0)
            err = *dp_ctx_error(ctx);
        dp_ctx_free(ctx);
    }
    if (err.code != 0)
        log_seldom(LOG_WARN, "plugin.session_end", "session=%llu error=\"%s\"",
                   (unsigned long long)session, err.message);
}
