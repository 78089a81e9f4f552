"""test_first_plugin.py -- docs/first-plugin.md fits on four pages and shows each form of a kernel; the macros
that docs/plugin-reference.md lists exist, and those of the header are listed.  test_docs.py runs the page."""

import os
import re

from harness import ROOT, contains, equal, less, main

LINES = 245  # of at most 110 characters: test_docs.py measures those


def read(*path):
    with open(os.path.join(ROOT, *path)) as f:
        return f.read()


def test_the_page_has_all_forms_on_four_pages():
    page = read("docs", "first-plugin.md")
    less(len(page.splitlines()), LINES + 1, "lines")
    less(max(map(len, page.splitlines())), 125, "the longest line, of listings too")
    for form in "-> Tensor\"", "(Tensor(a!) self", "*, Tensor(a!) out", "DP_BACKEND(", "DP_FALLBACK(", "dp_schema_info_get":
        contains(page, form)


def test_the_reference_lists_the_macros():
    header = read("libdispatch", "include", "dispatchd", "plugin_macros.h")
    listed = set(re.findall(r"\bDP_[A-Z_]*[A-Z]\b(?=\()", read("docs", "plugin-reference.md")))
    said = header[header.index("/* -- the macros for a plugin's source -- */"):]
    own = set(re.findall(r"#define (DP_[A-Z_]*[A-Z])\(", said))
    own |= set(re.findall(r"#define (DP_(?:DEF|IMPL)[A-Z_]*[A-Z]?)\(", header))
    equal(sorted(own - listed), [], "macros of the header that the page leaves out")
    for more in "dtypes.h", "typed.h":
        header += read("libdispatch", "include", "dispatchd", more)
    equal(sorted(m for m in listed if not re.search(rf"#define {m}\(", header)), [], "macros that are none")


if __name__ == "__main__":
    main()
