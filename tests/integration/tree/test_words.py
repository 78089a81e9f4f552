"""test_words.py -- words that had several meanings stay out of the names and comments of rewritten sources, and comments
begin with what they are about."""

import os
import re

from harness import ROOT, equal, less, main

# Rewritten sources: rooms, and the families of operators that were done first.
REWRITTEN = ("libdispatch", "daemon", "clients", "plugins/lib", "plugins/cpu/core", "plugins/composite/core",
             "plugins/cpu/reduce", "plugins/composite/reduce")
# A word of a name that has another one now, and what it is called.  Words that PyTorch or C use are looked for in names of
# functions, types and fields of one room only.
REPLACED = {
    r"\bdpi_bill\w*|\bbill\b": "charge",
    r"\bDP_FORM_\w+": "DP_VARIANT_*",
    r"\bformers?\b": "replaced",
    r"\b\w*facts\b": "info or stats",
    r"\b(?:un)?list_lane\b|\bleave_lane\b|\bstruct lane\b": "turn_queue",
    r"\bmake_room\w*|\b\w+_room\b": "reserve, capacity or scratch",
    r"\bdp_held\b|\bdp_account_held\b": "dp_usage",
    r"\b\w+_let_go\b|\b(?:dpi|dp)_\w+_let\b": "unpin, unref or discharge",
    r"\bdpi_pool_\w+": "dpi_thread_pool_*",
}
OPENERS = re.compile(r"/\* (?:What|Who|Of|As|So|The same)\b[^*]{0,60}")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\])*"')


def sources():
    for folder in REWRITTEN:
        for at, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                if name.endswith((".c", ".h")):
                    path = os.path.join(at, name)
                    with open(path) as f:
                        yield os.path.relpath(path, ROOT), f.read()


def test_comments_begin_with_what_they_are_about():
    found = []
    n = 0
    for path, text in sources():
        n += len(COMMENT.findall(text))
        found += ["%s: %s" % (path, opener) for opener in OPENERS.findall(text)]
    less(4000, n, "comments")
    equal(found, [])


def test_replaced_names_are_gone():
    found = []
    for path, text in sources():
        code = STRING.sub('""', COMMENT.sub("", text))
        for old, new in REPLACED.items():
            found += ["%s: %s is called %s" % (path, m, new) for m in sorted(set(re.findall(old, code)))]
    equal(found, [])


def test_a_replaced_name_is_found():
    for text, old in (("dpi_bill b;", 0), ("int former;", 2), ("struct server_facts", 3), ("make_room(c)", 5)):
        equal(bool(re.search(list(REPLACED)[old], text)), True, text)


main()
