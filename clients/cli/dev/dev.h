/* dev.h -- types and functions that the files of verb dev share.
 *
 * folder.c builds a plugin and waits until its sources are saved, choice.c finds the samples that
 * concern it, and dev.c goes round: build, load, compare, print one line. */
#ifndef DISPATCHCTL_DEV_H
#define DISPATCHCTL_DEV_H
#include "conform/conform.h"
#include <signal.h>

/* -- folder.c -- */

typedef struct folder {
    char *path; /* absolute; owned */
    char *file; /* absolute path of the plugin; NULL: not found yet; owned */
    bool named; /* the command line names the file */
    bool makes; /* there is a Makefile: the plugin is built */
    int watch;  /* descriptor of inotify */
} folder;

/* Find the folder of the word, which names it or a plugin's file in it, and begin to watch it.
 * false: a message was printed; the folder may be closed. */
bool folder_open(folder *f, const char *word);
void folder_close(folder *f);
/* Build the plugin, if there is a Makefile, and find its file.  The output of make goes to standard
 * error.  false: there is no plugin, and a message was printed. */
bool folder_build(folder *f);
/* Return the path of a file of the folder, owned; NULL: there is none. */
char *folder_file(const folder *f, const char *name);
/* Wait until a source is saved (or the plugin's file, if nothing is built).  false: a signal's
 * handler has set `*stop`. */
bool folder_wait(folder *f, const volatile sig_atomic_t *stop);

/* -- choice.c -- */

/* The samples that concern a plugin. */
typedef struct choice {
    samples picked;  /* members are borrowed from `all` and `own` */
    samples own;     /* those of the plugin's folder */
    char *unsampled; /* owned: operators without a sample, "a::b, a::c"; "": none */
} choice;

/* Choose the samples of the operators `ops`, an array of names: those with their base, in all
 * overloads and in place.  `own_path`: samples of the plugin's folder; NULL: none.  false: a
 * message was printed; the choice may be freed. */
bool choice_make(choice *out, const samples *all, const char *own_path, const cJSON *ops);
void choice_free(choice *ch);

#endif
