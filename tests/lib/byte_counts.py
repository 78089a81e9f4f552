"""byte_counts.py [FILE...] -- byte counts that C code multiplies by hand, which may wrap: `make lint` runs it.

A byte count given to an allocation, memcpy, memmove or memset has no `*` but between constants (numbers, NAMES and
sizeof), which the compiler computes: the forms ending in _n and dp_size_times() of dispatchd/sizes.h check the product.
Nor has what a local variable in it was set to, in the same function before; twice a count is allowed there, since that
is how a table that is already in memory grows.
Without files it looks at libdispatch, daemon and plugins, after having found the faults in SELF_TEST."""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOMS = "libdispatch", "daemon", "plugins"
# Function -> which of its arguments make a byte count, from 0.
BYTES = {"malloc": (0,), "alloca": (0,), "realloc": (1,), "calloc": (0, 1), "memcpy": (2,), "memmove": (2,), "memset": (2,),
         "dp_malloc": (0,), "dp_realloc": (1,), "dp_calloc": (0, 1), "dp_alloc": (1,), "dp_arena_alloc": (1,), "dp_arena_dup": (2,),
         "dpi_memory_alloc": (0,), "run_alloc": (1,), "dp_malloc_n": (0, 1), "dp_realloc_n": (1, 2), "dp_alloc_n": (1, 2),
         "dp_arena_alloc_n": (1, 2), "dp_arena_dup_n": (2, 3), "dp_copy_n": (2, 3), "dp_move_n": (2, 3), "dp_zero_n": (1, 2)}
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|\d[\w.]*|->|[^\s\w]')
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
LOCAL = re.compile(r"(?!sizeof$)[a-z_]\w*$")
FUNCTION = re.compile(r"^\{", re.M)  # where its body begins
CONSTANT = re.compile(r"\d\w*$|[A-Z][A-Z0-9_]*$")
SELF_TEST = """
    memcpy(a, b, n * sizeof(*a)); //!
    x = dp_alloc(ctx, (size_t)(n * m)); //!
    dp_alloc(ctx,
             (size_t)x.numel * //!
                 sizeof(int64_t));
    memset(f(a, b), 0, 2 * sizes[0]); //!
    dp_alloc_n(ctx, n * m, sizeof(*a)); //!
    dp_alloc_n(ctx, dp_size_times(n, m), 2 * sizeof(*a));
    memcpy(a, b, SIZE * sizeof(a[0]));
}
void f(void)
{
    size_t n = rows * columns, more = 2 * n, few = SIZE * 4; //!
    char *rows = from + i * step;
    memcpy(a, b, n);
    memcpy(rows, b, more + few);
    dp_size_times(n, 2 * sizeof(*a));
}
void g(void)
{
    memcpy(a, b, n);
    memcpy(a, b, sizeof(*a));
    memcpy(a, *b, *n);
    memcpy(a, b * c, n); /* n * m */
    dp_malloc(sizeof(char *) + sizeof(struct a *));
    memcpy(a, "n * m", (size_t)*n);
    my_malloc(n * m);
"""


def without_comments(text):
    """Of the same length: strings stay."""
    return COMMENT.sub(lambda m: m[0] if m[0][0] in "\"'" else re.sub(r"[^\n]", " ", m[0]), text)


def tokens_of(text):
    return [(m[0], m.start()) for m in TOKEN.finditer(text)]


def argument(tokens, i, which):
    """The tokens of argument `which` of the call whose parenthesis is token i."""
    depth, at, found = 0, 0, []
    for token in tokens[i:]:
        depth += (token[0] in "([{") - (token[0] in ")]}")
        if depth == 0:
            break
        if token[0] == "," and depth == 1:
            at += 1
        elif at == which and token is not tokens[i]:
            found.append(token)
    return found


def is_product(words, i):
    """Is the * at i a multiplication, and not a pointer's?"""
    if i == 0 or i + 1 == len(words) or words[i + 1] in (")", "*", ","):
        return False
    before = words[i - 1]
    if before == ")":  # (size_t)*n
        opens = max((j for j in range(i) if words[j] == "(" and words[j:i].count("(") == words[j:i].count(")")), default=0)
        inner = words[opens + 1:i - 1]
        is_type = all(re.match(r"(const|unsigned|struct|char|int|long|double|float|void|\w+_t|\*)$", w) for w in inner)
        return not (is_type and inner and (opens == 0 or words[opens - 1] != "sizeof"))
    return re.match(r"\w|\]", before) is not None and before not in ("sizeof", "return")


def constants_only(words):
    """Are these numbers, NAMES and sizes alone?"""
    words, i = list(words), 0
    while i < len(words):
        if words[i] == "sizeof" and i + 1 < len(words) and words[i + 1] == "(":
            depth, j = 1, i + 2
            while depth:
                depth += (words[j] == "(") - (words[j] == ")")
                j += 1
            i = j
            continue
        if not (CONSTANT.match(words[i]) or words[i] in "()+-*/" or words[i] in ("size_t", "int64_t")):
            return False
        i += 1
    return True


def set_to(tokens, name, begin, end):
    """The tokens of what `name` is set to in this part of a function; not if it is a pointer."""
    for i in range(begin + 1, end - 1):
        if tokens[i][0] == name and tokens[i + 1][0] == "=" != tokens[i + 2][0] and tokens[i - 1][0] not in ("*", ".", "->"):
            depth, found = 0, []
            for token in tokens[i + 2:end]:
                depth += (token[0] in "([{") - (token[0] in ")]}")
                if depth < 0 or (depth == 0 and token[0] in ";,"):
                    break
                found.append(token)
            yield found


def product_in(count):
    """The offset of its first product that is not the compiler's, or None."""
    words = [w for w, _ in count]
    products = [count[j][1] for j, w in enumerate(words) if w == "*" and is_product(words, j) and
                not (CONSTANT.match(words[j - 1]) and words[j + 1] == "sizeof")]
    return products[0] if products and not constants_only(words) else None


def is_doubling(count):
    """2 * n, where n may be an expression without another product; f ? a : 2 * n."""
    words = [w for w, _ in count]
    stars = [j for j, w in enumerate(words) if w == "*" and is_product(words, j)]
    return len(stars) == 1 and "2" in (words[stars[0] - 1], words[stars[0] + 1])


def faults_in(text):
    """Offsets of the multiplications."""
    text = without_comments(text)
    tokens, begin, bodies = tokens_of(text), 0, {m.start() for m in FUNCTION.finditer(text)}
    for i, (word, at) in enumerate(tokens[:-1]):
        if at in bodies:
            begin = i
        if word not in BYTES or tokens[i + 1][0] != "(":
            continue
        for count in (argument(tokens, i + 1, which) for which in BYTES[word]):
            found = [product_in(count)]
            for name in {w for j, (w, _) in enumerate(count) if LOCAL.match(w) and (j == 0 or count[j - 1][0] not in (".", "->"))}:
                found += [product_in(v) for v in set_to(tokens, name, begin, i) if not is_doubling(v)]
            yield from (at for at in found if at is not None)


def self_test():
    got = {SELF_TEST.count("\n", 0, at) for at in faults_in(SELF_TEST)}
    want = {i for i, line in enumerate(SELF_TEST.split("\n")) if "//!" in line}
    if got != want:
        sys.exit(f"byte_counts.py: self-test: lines {sorted(got)} of SELF_TEST, want {sorted(want)}")


def sources():
    return [os.path.join(folder, name) for room in ROOMS for folder, _, names in os.walk(os.path.join(ROOT, room))
            for name in sorted(names) if name.endswith((".c", ".h"))]


def faults_of(files):
    """["FILE:LINE: ..."]"""
    found = []
    for path in files:
        with open(path) as f:
            text = f.read()
        for at in sorted(set(faults_in(text))):
            line = text.count("\n", 0, at)
            found.append(f"{os.path.relpath(path, ROOT)}:{line + 1}: a product in a byte count: {text.splitlines()[line].strip()}")
    return found


def main():
    self_test()
    faults = faults_of(sys.argv[1:] or sources())
    print("\n".join(faults + [f"{len(faults)} products in byte counts"]))
    return len(faults) != 0


if __name__ == "__main__":
    sys.exit(main())
