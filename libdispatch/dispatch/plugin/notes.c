/* notes.c -- stores the notes that a plugin sets about itself with dp_note(). */
#define _GNU_SOURCE /* dladdr */
#include "dispatch/call/ctx.h"
#include "dispatch/registry/change.h"
#include "plugin_i.h"
#include <dlfcn.h>
#include <stdio.h>

typedef struct dpi_note {
    struct dpi_note *next;
    char text[DP_LIMIT_NOTE_BYTES + 1];
    char name[];
} note;

static note *note_new(const char *name)
{
    size_t bytes = strlen(name) + 1;
    note *n = dp_calloc(1, sizeof(*n) + bytes);

    if (n != NULL)
        memcpy(n->name, name, bytes);
    return n;
}

/* Set note `name` of `im` to `text`.  The caller holds the registry's lock.  False: no memory, or
 * the plugin has DP_LIMIT_NOTES notes already. */
static bool set(dpi_image *im, const char *name, const char *text)
{
    note **at = &im->notes;
    size_t n = 0;

    for (; *at != NULL && strcmp((*at)->name, name) != 0; at = &(*at)->next)
        n++;
    if (*at == NULL && (n == DP_LIMIT_NOTES || (*at = note_new(name)) == NULL))
        return false;
    snprintf((*at)->text, sizeof((*at)->text), "%s", text);
    return true;
}

void dp_vnote(dp_ctx *ctx, const char *name, const char *format, va_list ap)
{
    char text[DP_LIMIT_NOTE_BYTES + 1];
    dp_registry *reg = ctx->reg;
    Dl_info where;

    if (name == NULL || format == NULL || !dladdr(name, &where))
        return;
    vsnprintf(text, sizeof(text), format, ap);
    pthread_mutex_lock(&reg->lock);
    dpi_image *im = reg->note_images;
    while (im != NULL && strcmp(im->copy, where.dli_fname) != 0)
        im = im->next_noting;
    if (im != NULL && set(im, name, text))
        dpi_notify_note(reg, im->manifest.plugin, name, text);
    pthread_mutex_unlock(&reg->lock);
}

void dpi_notes_open(dp_registry *reg, dpi_image *im)
{
    pthread_mutex_lock(&reg->lock);
    im->next_noting = reg->note_images;
    reg->note_images = im;
    pthread_mutex_unlock(&reg->lock);
}

void dpi_notes_close(dp_registry *reg, dpi_image *im)
{
    pthread_mutex_lock(&reg->lock);
    dpi_image **at = &reg->note_images;
    while (*at != NULL && *at != im)
        at = &(*at)->next_noting;
    if (*at != NULL)
        *at = im->next_noting;
    pthread_mutex_unlock(&reg->lock);
    while (im->notes != NULL) {
        note *gone = im->notes;
        im->notes = gone->next;
        dp_free(gone);
    }
}

int dpi_notes_copy(const dpi_image *im, dp_arena *a, const dp_note_info **out, size_t *n)
{
    dp_note_info *all = dp_arena_alloc(a, DP_LIMIT_NOTES * sizeof(*all));
    size_t got = 0;

    for (const note *each = im->notes; all != NULL && each != NULL; each = each->next, got++) {
        all[got].name = dp_arena_printf(a, "%s", each->name);
        all[got].text = dp_arena_printf(a, "%s", each->text);
        if (all[got].name == NULL || all[got].text == NULL)
            return DP_ERESOURCE;
    }
    *out = all;
    *n = got;
    return all != NULL ? 0 : DP_ERESOURCE;
}
