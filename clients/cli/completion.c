/* completion.c -- verbs for completion in shells: completion, which prints a shell's script from
 * the tables of verbs, and complete, with which the script asks the daemon for names.
 *
 * The argument text of a verb, "FILE [NAME=JSON...] [--deadline-ms N]", says what each of its words
 * is.  The script's functions contain that as `case` statements, which mean the same in bash and in
 * zsh; only the last function of the script differs between the shells. */
#include "cli.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 512, ANSWER_SECONDS = 2 };

/* -- complete -- */

/* A kind of name that the daemon knows: each name is a string of the array `array` in the result of
 * `method`, or the member `name` of an object in that array. */
static const struct {
    const char *kind, *method, *array, *name;
} kinds[] = {
    {"operators", "registry.list", "ops", NULL},    {"plugins", "plugin.list", "plugins", "plugin"},
    {"keys", "registry.keys", "keys", "key"},       {"handles", "tensor.list", "tensors", "tensor"},
    {"methods", "rpc.discover", "methods", "name"},
};

static void print_names(const cJSON *array, const char *name, const char *prefix)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, array)
    {
        char *text = name ? cell_text(item, name) : text_printf("%s", item->valuestring);
        if (strncmp(text, prefix, strlen(prefix)) == 0)
            puts(text);
        free(text);
    }
}

/* Print the names that begin with a prefix.  Without a daemon, or after an error, this prints
 * nothing and succeeds, because its output goes to a shell in which a person is typing.  For the
 * same reason it ends when no answer comes. */
static int complete(cli *c)
{
    dpc_answer *a = NULL;

    if (!words_fit(c, 1, 2))
        return CLI_USAGE;
    const char *prefix = c->n_words > 1 ? c->words[1] : "";
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (strcmp(kinds[i].kind, c->words[0]) != 0)
            continue;
        cJSON *params = NULL;
        if (kinds[i].name == NULL && *prefix != '\0')
            params_text(params = params_new(), "match", prefix);
        alarm(ANSWER_SECONDS);
        if (freopen("/dev/null", "w", stderr) == NULL ||
            request(c, kinds[i].method, params, &a) != CLI_OK)
            return CLI_OK;
        print_names(member(dpc_answer_result(a), kinds[i].array), kinds[i].name, prefix);
        dpc_answer_free(a);
        return CLI_OK;
    }
    return usage(c, "no kind '%s'", c->words[0]);
}

/* -- the words of a verb's argument text -- */

static const verb *const *groups; /* the tables of verbs; set by completion() */

typedef struct word {
    const char *text; /* inside the copy that next_word() changes */
    bool opens;       /* begins with '[', and what it opens goes on in the next word */
    bool repeats;     /* ends in "..." */
} word;

/* Cut the next word off `*rest`, without brackets and dots.  false: no word is left. */
static bool next_word(char **rest, word *w)
{
    char *text = strtok_r(NULL, " ", rest);

    if (text == NULL)
        return false;
    bool bracket = *text == '[', closed = strchr(text, ']') != NULL;
    w->repeats = strstr(text, "...") != NULL;
    w->opens = bracket && !closed;
    w->text = text += bracket;
    text[strcspn(text, "].")] = '\0';
    return true;
}

/* Return what completes a word that the argument text calls `text`: a kind of `complete`, "files",
 * the choices "a|b" themselves, or "-" for nothing.  A comma at the end: a list with commas. */
static const char *kind_of(const char *text)
{
    static const char *const known[][2] = {
        {"OP", "operators"},   {"OP@KEY", "operators"}, {"KEY", "keys"},
        {"KEY,KEY", "keys,"},  {"PLUGIN", "plugins"},   {"FILE", "files"},
        {"HANDLE", "handles"}, {"METHOD", "methods"},   {"FOLDER|FILE", "files"},
    };

    for (size_t i = 0; i < COUNT(known); i++)
        if (strcmp(known[i][0], text) == 0)
            return known[i][1];
    return strchr(text, '|') != NULL && islower((unsigned char)*text) ? text : "-";
}

/* -- the script -- */

/* Options of every verb, which main.c takes: name, and the kind of its value. */
static const char *const common[][2] = {{"--socket", "files"},
                                        {"--session", "-"},
                                        {"--json", NULL},
                                        {"--help", NULL},
                                        {"--version", NULL}};

/* Call `print` for each verb, with a copy of its argument text.  strtok_r() has cut an empty first
 * word, so that next_word() goes on behind it. */
static void each_verb(void (*print)(const verb *v, char **rest))
{
    char text[TEXT_BYTES], *rest;

    for (const verb *const *group = groups; *group; group++)
        for (const verb *v = *group; v->name; v++) {
            snprintf(text, sizeof(text), "_ %s", v->args);
            strtok_r(text, " ", &rest);
            print(v, &rest);
        }
}

static void print_flags(const verb *v, char **rest)
{
    word w;

    printf("    '%s') flags='", v->name);
    while (next_word(rest, &w))
        if (strncmp(w.text, "--", 2) == 0)
            printf("%s ", w.text);
    for (size_t i = 0; i < COUNT(common); i++)
        printf("%s%s", common[i][0], i + 1 < COUNT(common) ? " " : "' ;;\n");
}

static void print_values(const verb *v, char **rest)
{
    char option[TEXT_BYTES];
    word w;

    while (next_word(rest, &w)) {
        if (strncmp(w.text, "--", 2) != 0 || !w.opens)
            continue;
        snprintf(option, sizeof(option), "%s", w.text);
        if (next_word(rest, &w))
            printf("    '%s %s') kind='%s' ;;\n", v->name, option, kind_of(w.text));
    }
}

static void print_arguments(const verb *v, char **rest)
{
    int n = 0;
    word w;

    while (next_word(rest, &w)) {
        if (strcmp(w.text, "|") == 0)
            continue;
        if (strncmp(w.text, "--", 2) == 0) {
            if (w.opens)
                next_word(rest, &w); /* its value */
            continue;
        }
        if (w.repeats)
            printf("    '%s '*) kind='%s' ;;\n", v->name, kind_of(w.text));
        else
            printf("    '%s %d') kind='%s' ;;\n", v->name, n, kind_of(w.text));
        if (w.repeats)
            return; /* every further word is one of these */
        n++;
    }
}

/* Test whether a verb that stands before `v` in the tables has the same first word of `bytes`. */
static bool began_before(const verb *v, size_t bytes)
{
    for (const verb *const *group = groups; *group; group++)
        for (const verb *u = *group; u->name; u++) {
            if (u == v)
                return false;
            if (strncmp(u->name, v->name, bytes) == 0 && (u->name[bytes] == ' ' || !u->name[bytes]))
                return true;
        }
    return false;
}

/* Print the words that may follow the first `bytes` of `first`: second words of verbs.  With no
 * bytes, print the first words of all verbs. */
static void print_next(const char *first, size_t bytes)
{
    printf("    '%.*s') choices='", (int)bytes, first);
    for (const verb *const *group = groups; *group; group++)
        for (const verb *v = *group; v->name; v++) {
            size_t n = strcspn(v->name, " ");
            if (bytes == 0 && !began_before(v, n))
                printf("%.*s ", (int)n, v->name);
            else if (bytes == n && strncmp(v->name, first, n) == 0 && v->name[n] == ' ')
                printf("%s ", v->name + n + 1);
        }
    puts("' ;;");
}

static void print_next_of(const verb *v, char **rest)
{
    size_t n = strcspn(v->name, " ");

    (void)rest;
    if (v->name[n] == ' ' && !began_before(v, n))
        print_next(v->name, n);
}

static void print_function(const char *head, void (*print)(const verb *v, char **rest),
                           const char *tail)
{
    printf("\n%s\n{\n    case \"$1\" in\n", head);
    each_verb(print);
    printf("%s    esac\n}\n", tail);
}

/* Functions without arrays, so that bash and zsh run them alike. */
static const char *const shared =
    "\n# Set `kind` and `choices` to what completes the word `cur` behind the words \"$@\", and "
    "`lead`\n"
    "# to the part of `cur` that stays in front.\n"
    "_dispatchctl_find()\n"
    "{\n"
    "    local word='' option='' first='' verb='' n=0 flags=''\n"
    "    kind='-' choices='' lead='' socket='' session=''\n"
    "    for word in \"$@\"; do\n"
    "        if [[ -n $option ]]; then\n"
    "            case $option in --socket) socket=$word ;; --session) session=$word ;; esac\n"
    "            option=''\n"
    "            continue\n"
    "        fi\n"
    "        case $word in\n"
    "        --socket=*) socket=${word#*=} ;;\n"
    "        --session=*) session=${word#*=} ;;\n"
    "        --*=*) ;;\n"
    "        --*) _dispatchctl_value \"$verb $word\" && option=$word ;;\n"
    "        *)\n"
    "            n=$((n + 1))\n"
    "            if [[ $n == 1 ]]; then\n"
    "                first=$word\n"
    "                _dispatchctl_flags \"$word\" && verb=$word\n"
    "            elif [[ $n == 2 ]] && _dispatchctl_flags \"$first $word\"; then\n"
    "                verb=\"$first $word\"\n"
    "            fi\n"
    "            ;;\n"
    "        esac\n"
    "    done\n"
    "    kind='-'\n"
    "    if [[ -n $option ]]; then\n"
    "        _dispatchctl_value \"$verb $option\"\n"
    "    elif [[ $cur == --*=* ]]; then\n"
    "        lead=${cur%%=*}=\n"
    "        _dispatchctl_value \"$verb ${cur%%=*}\"\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        flags='--help --version'\n"
    "        _dispatchctl_flags \"$verb\"\n"
    "        choices=$flags\n"
    "    else\n"
    "        if [[ $n -lt 2 ]]; then _dispatchctl_next \"$first\"; fi\n"
    "        case $verb in *' '*) n=$((n - 2)) ;; *) n=$((n - 1)) ;; esac\n"
    "        if [[ -n $verb ]]; then _dispatchctl_argument \"$verb $n\"; fi\n"
    "    fi\n"
    "    case $kind in\n"
    "    *'|'*) choices=\"$choices ${kind//|/ }\" kind='-' ;;\n"
    "    *,)\n"
    "        kind=${kind%,}\n"
    "        case ${cur#\"$lead\"} in *,*) lead=${cur%,*}, ;; esac\n"
    "        ;;\n"
    "    esac\n"
    "    cur=${cur#\"$lead\"}\n"
    "}\n"
    "\n# Print the daemon's names of this kind that begin with `cur`.\n"
    "_dispatchctl_ask()\n"
    "{\n"
    "    DISPATCHD_SOCKET=${socket:-$DISPATCHD_SOCKET} DISPATCHD_SESSION=${session:-"
    "$DISPATCHD_SESSION} \\\n"
    "        \"$1\" complete \"$kind\" -- \"$cur\" 2>/dev/null\n"
    "}\n";

static const char *const bash_function =
    "\n_dispatchctl()\n"
    "{\n"
    "    local i part cut='' line=${COMP_LINE:0:COMP_POINT} cur kind choices lead socket session\n"
    "    local -a whole=()\n"
    "    # COMP_WORDS is cut at ':' and '=', too: put those parts together that touch on the "
    "line.\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        part=${line#\"${line%%[![:space:]]*}\"}\n"
    "        [[ $part == \"$line\" && $i -gt 0 ]] || whole+=('')\n"
    "        if ((i == COMP_CWORD)); then cur=$part; else cur=${COMP_WORDS[i]}; fi\n"
    "        whole[${#whole[@]} - 1]+=$cur\n"
    "        line=${part#\"$cur\"}\n"
    "    done\n"
    "    cur=${whole[${#whole[@]} - 1]}\n"
    "    # What readline replaces begins behind the last such sign.\n"
    "    if [[ $COMP_WORDBREAKS == *:* && $cur == *:* ]]; then cut=${cur%\"${cur##*:}\"}; fi\n"
    "    if [[ $COMP_WORDBREAKS == *=* && ${cur#\"$cut\"} == *=* ]]; then "
    "cut=${cur%\"${cur##*=}\"}; "
    "fi\n"
    "    _dispatchctl_find \"${whole[@]:1:${#whole[@]}-2}\"\n"
    "    case $kind in\n"
    "    files)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "        ;;\n"
    "    -) mapfile -t COMPREPLY < <(compgen -W \"$choices\" -- \"$cur\") ;;\n"
    "    *) mapfile -t COMPREPLY < <(compgen -W \"$choices\" -- \"$cur\"; _dispatchctl_ask \"$1\") "
    ";;\n"
    "    esac\n"
    "    COMPREPLY=(\"${COMPREPLY[@]/#/$lead}\")\n"
    "    COMPREPLY=(\"${COMPREPLY[@]#\"$cut\"}\")\n"
    "}\n"
    "complete -F _dispatchctl dispatchctl\n";

static const char *const zsh_function =
    "\n_dispatchctl()\n"
    "{\n"
    "    local cur=$PREFIX kind choices lead socket session\n"
    "    local -a names\n"
    "    _dispatchctl_find \"${(@Q)words[2,CURRENT-1]}\"\n"
    "    compset -P \"${(b)lead}\"\n"
    "    names=(${=choices})\n"
    "    case $kind in\n"
    "    files) _files ;;\n"
    "    -) ;;\n"
    "    *) names+=(${(f)\"$(_dispatchctl_ask $words[1])\"}) ;;\n"
    "    esac\n"
    "    [[ $#names -eq 0 ]] || compadd -a names\n"
    "}\n"
    "if [[ $funcstack[1] == _dispatchctl ]]; then\n"
    "    _dispatchctl \"$@\" # the file was loaded as this function\n"
    "else\n"
    "    compdef _dispatchctl dispatchctl\n"
    "fi\n";

static void print_script(const char *head, const char *function)
{
    puts(head);
    print_function("# Set `flags` to the options of verb \"$1\".  Fails if there is no such verb.\n"
                   "_dispatchctl_flags()",
                   print_flags, "    *) return 1 ;;\n");
    printf(
        "\n# Set `kind` to what completes the value of an option, \"VERB OPTION\".  Fails if the "
        "option\n# takes none.\n_dispatchctl_value()\n{\n    case \"$1\" in\n");
    for (size_t i = 0; i < COUNT(common); i++)
        if (common[i][1])
            printf("    *' %s') kind='%s' ;;\n", common[i][0], common[i][1]);
    each_verb(print_values);
    printf("    *) return 1 ;;\n    esac\n}\n");
    print_function("# Set `kind` to what completes an argument, \"VERB INDEX\".\n"
                   "_dispatchctl_argument()",
                   print_arguments, "");
    printf("\n# Set `choices` to what may stand behind the first word of a verb.\n"
           "_dispatchctl_next()\n{\n    case \"$1\" in\n");
    print_next("", 0);
    each_verb(print_next_of);
    printf("    esac\n}\n");
    fputs(shared, stdout);
    fputs(function, stdout);
}

static int completion(cli *c)
{
    if (!words_fit(c, 1, 1))
        return CLI_USAGE;
    groups = c->groups;
    if (strcmp(c->words[0], "bash") == 0)
        print_script(
            "# Completion of dispatchctl for bash, printed by 'dispatchctl completion bash'.",
            bash_function);
    else if (strcmp(c->words[0], "zsh") == 0)
        print_script(
            "#compdef dispatchctl\n"
            "# Completion of dispatchctl for zsh, printed by 'dispatchctl completion zsh'.",
            zsh_function);
    else
        return usage(c, "no shell '%s'; there are bash and zsh", c->words[0]);
    return CLI_OK;
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_completion[] = {
    {"completion", "bash|zsh",
     "print a script that completes dispatchctl's words in this shell", completion},
    {"complete", "operators|plugins|keys|handles|methods [PREFIX]",
     "the daemon's names that begin with PREFIX; nothing without a daemon", complete},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
