/* new.c -- verbs that write the first files of a plugin: new backend, new op, new layer.
 *
 * The files are made from clients/cli/templates, in which @NAME@ stands for the plugin's name. */
#include "cli.h"
#include "conform/conform.h"
#include <ctype.h>
#include <dispatchd/key.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A backend's key is "AutocastNAME" at the longest, in DP_KEY_NAME_MAX bytes. */
enum { NAME_MOST = 40, FILES_MOST = 8 };

/* A file to be written, and the template that it is made from. */
typedef struct file {
    const char *template, *name;
} file;

typedef struct kind {
    const char *what;
    file files[FILES_MOST]; /* the last one has a NULL template */
} kind;

static const kind backend_own = {"backend",
                                 {{"backend_own.c", "@NAME@.c"},
                                  {"Makefile", "Makefile"},
                                  {"backend_check.sh", "check.sh"},
                                  {"backend_README.md", "README.md"}}};
static const kind backend_host = {"backend",
                                  {{"backend_host.c", "@NAME@.c"},
                                   {"Makefile", "Makefile"},
                                   {"backend_check.sh", "check.sh"},
                                   {"backend_README.md", "README.md"}}};
static const kind operators = {"operator",
                               {{"op.c", "@NAME@.c"},
                                {"op_reference.c", "reference.c"},
                                {"op_samples.jsonl", "samples.jsonl"},
                                {"Makefile", "Makefile"},
                                {"op_check.sh", "check.sh"},
                                {"op_README.md", "README.md"}}};
static const kind layer = {"layer",
                           {{"layer.c", "@NAME@.c"},
                            {"layer_reference.c", "reference.c"},
                            {"Makefile", "Makefile"},
                            {"layer_check.sh", "check.sh"},
                            {"layer_README.md", "README.md"}}};

/* -- names -- */

/* Devices that the dispatcher has without a plugin's name: the project's own table of them. */
static const char *const devices[] = {
#define DEVICE(name, device) device,
    DP_BACKEND_MAP(DEVICE)
#undef DEVICE
        "meta",
};

/* Plugins of the tree: the Makefile lists its folders.  Namespaces that these own have other names,
 * and the daemon refuses them. */
static const char plugins[] = " " DISPATCHD_PLUGINS " ";

/* Words with a meaning in C or gnu11, in lower case: a macro would give a plugin another name. */
static const char c_words[] =
    " auto bool break case char complex const continue default do double else enum errno extern "
    "false float for goto if inline int linux long noreturn register restrict return short signed "
    "sizeof static struct switch true typedef typeof union unix unsigned void volatile while asm ";

static bool has_word(const char *words, const char *name)
{
    char *spaced = text_printf(" %s ", name);
    bool has = strstr(words, spaced) != NULL;

    free(spaced);
    return has;
}

/* Test whether the plugin may have this name.  false: a message was printed. */
static bool name_fits(cli *c, const char *name)
{
    size_t n = strlen(name);

    if (n > NAME_MOST || !islower((unsigned char)name[0]) ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != n) {
        usage(c,
              "'%s' is no name of a plugin: it begins with a letter a to z, and has at most %d "
              "letters a to z, digits and '_'",
              name, NAME_MOST);
        return false;
    }
    for (size_t i = 0; i < COUNT(devices); i++)
        if (strcmp(devices[i], name) == 0) {
            usage(c, "'%s' is a device of the dispatcher; choose another name", name);
            return false;
        }
    if (has_word(plugins, name))
        usage(c, "'%s' is a plugin of dispatchd; choose another name", name);
    else if (has_word(c_words, name) || strcmp(name, "reference") == 0)
        usage(c, "'%s' has a meaning in %s; choose another name", name,
              strcmp(name, "reference") == 0 ? "the folder of a plugin" : "C");
    else
        return true;
    return false;
}

/* -- files -- */

/* Return `text` with each @NAME@ replaced; owned. */
static char *filled(const char *text, const char *name)
{
    static const char mark[] = "@NAME@";
    char *out = text_printf("%s", "");

    for (const char *at; (at = strstr(text, mark)) != NULL; text = at + strlen(mark)) {
        char *longer = text_printf("%s%.*s%s", out, (int)(at - text), text, name);
        free(out);
        out = longer;
    }
    char *whole = text_printf("%s%s", out, text);
    free(out);
    return whole;
}

/* Return the text of a template, owned.  NULL: a message was printed. */
static char *template_text(const char *name)
{
    char *in_tree = text_printf("../clients/cli/templates/%s.in", name);
    char *installed = text_printf("../share/dispatchd/templates/%s.in", name);
    const char *const places[] = {in_tree, installed, NULL};
    char *path = find_file(places), *text = NULL;
    FILE *f = fopen(path, "re");
    size_t bytes = 0;

    /* No template has a zero byte: the delimiter is never found, and all is one piece. */
    if (f == NULL || getdelim(&text, &bytes, '\0', f) < 0) {
        fprintf(stderr, "dispatchctl: template %s: %s; is dispatchctl installed with its share/?\n",
                path, f == NULL ? strerror(errno) : "cannot be read");
        free(text);
        text = NULL;
    }
    if (f != NULL)
        fclose(f);
    free(path);
    free(in_tree);
    free(installed);
    return text;
}

/* Write one file into a folder.  false: a message was printed. */
static bool write_file(const char *folder, const file *f, const char *name)
{
    char *template = template_text(f->template);

    if (template == NULL)
        return false;
    char *text = filled(template, name), *file_name = filled(f->name, name);
    char *path = text_printf("%s/%s", folder, file_name);
    FILE *out = fopen(path, "wxe");
    if (out != NULL)
        fputs(text, out);
    bool ok = close_report(out, path);
    free(path);
    free(file_name);
    free(text);
    free(template);
    return ok;
}

/* Remove what was written of a plugin that cannot be written whole. */
static void remove_files(const char *folder, const kind *k, const char *name)
{
    for (const file *f = k->files; f->template != NULL; f++) {
        char *file_name = filled(f->name, name), *path = text_printf("%s/%s", folder, file_name);
        unlink(path);
        free(path);
        free(file_name);
    }
    rmdir(folder);
}

static int write_plugin(cli *c, const kind *k)
{
    if (!words_fit(c, 1, 2) || !name_fits(c, c->words[0]))
        return CLI_USAGE;
    const char *name = c->words[0], *folder = c->n_words > 1 ? c->words[1] : name;
    if (mkdir(folder, 0777) != 0) {
        fprintf(stderr, "dispatchctl: folder '%s': %s%s\n", folder, strerror(errno),
                errno == EEXIST ? "; a new plugin gets a new folder, which a second word names"
                                : "");
        return CLI_ERROR;
    }
    for (const file *f = k->files; f->template != NULL; f++)
        if (!write_file(folder, f, name)) {
            remove_files(folder, k, name);
            return CLI_ERROR;
        }
    printf("%s '%s' is in %s: 'make check' there compares it, 'dispatchctl dev %s' does so at each "
           "save\n",
           k->what, name, folder, folder);
    return CLI_OK;
}

/* -- verbs -- */

static int new_backend(cli *c)
{
    const char *memory = take_option(c, "--memory");

    if (memory != NULL && strcmp(memory, "own") != 0 && strcmp(memory, "host") != 0)
        return usage(c, "--memory is own or host, not '%s'", memory);
    return write_plugin(c, memory != NULL && strcmp(memory, "host") == 0 ? &backend_host
                                                                         : &backend_own);
}

static int new_op(cli *c)
{
    return write_plugin(c, &operators);
}

static int new_layer(cli *c)
{
    return write_plugin(c, &layer);
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_new[] = {
    {"new backend", "NAME [DIR] [--memory own|host]",
     "write the folder of a backend with memory of its own (or of the host): a device, one kernel, "
     "and the CPU for the rest", new_backend},
    {"new op", "NAME [DIR]",
     "write the folder of an operator in its three forms, with a reference to compare it with",
     new_op},
    {"new layer", "NAME [DIR]",
     "write the folder of a layer: a kernel that runs before the backend's", new_layer},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
