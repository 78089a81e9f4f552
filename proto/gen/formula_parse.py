"""formula_parse.py -- parses a formula of derivatives.yaml into a syntax tree of tuples.

    formula = { ident "=" expr ";" } expr
    expr    = or [ "?" expr ":" expr ]
    or      = and { "or" and } ;  and = not { "and" not } ;  not = ["not"] cmp
    cmp     = sum [ ("<"|"<="|">"|">="|"=="|"!=") sum | "is" ["not"] "none" ]
    sum     = prod { ("+"|"-") prod } ;  prod = unary { ("*"|"/") unary } ;  unary = ["-"] postfix
    postfix = atom { "." ident [ "(" args ")" ] | "[" expr "]" }
    atom    = number | string | "true" | "false" | "none" | "pi" | "inf" | "nan" | ident
            | [ident "::"] ident "(" args ")" | "(" expr ")" | "[" [expr { "," expr }] "]"
    args    = [ arg { "," arg } ] ;  arg = [ ident "=" ] expr

given(x) returns x; the author of the formula promises that x is not none.

Nodes: ("constant", value), ("name", name), ("call", function, args, kwargs), ("method", object, name,
args, kwargs), ("attribute", object, name), ("item", object, index), ("list", items), ("minus", x),
("infix", operator, a, b), ("not", x), ("is_none", x), ("choose", condition, a, b), ("let", name, expr,
body)."""

import math
import re

from tables import check

TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?)|([A-Za-z_]\w*)|('[^']*')|(::|<=|>=|==|!=|[-+*/<>=?:;,.()\[\]]))")
WORDS = {"and", "or", "not", "is", "none", "true", "false", "pi", "inf", "nan"}
CONSTANTS = {"none": None, "true": True, "false": False, "pi": math.pi, "inf": math.inf, "nan": math.nan}
COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
INFIX = {"+": "add", "-": "sub", "*": "mul", "/": "div"}


class Parser:
    def __init__(self, text, where, label):
        self.text, self.where, self.label = text, where, label
        self.tokens, self.at, self.local = [], 0, []  # local: names of local values
        position, end = 0, len(text.rstrip())
        while position < end:
            match = TOKEN.match(text, position)
            check(match, where, f"{label}: no formula at '{text[position:position + 20].strip()}'")
            self.tokens.append((match.lastindex, match[match.lastindex], match.start(match.lastindex)))
            position = match.end()

    def fail(self, wanted):
        place = self.text[self.tokens[self.at][2]:][:20] if self.at < len(self.tokens) else "the end"
        check(False, self.where, f"{self.label}: {wanted} is wanted at '{place}'")

    def peek(self, ahead=0):
        return self.tokens[self.at + ahead][1] if self.at + ahead < len(self.tokens) else None

    def take(self, *texts):
        """Take the next token if it is one of `texts`, and return it."""
        if self.peek() not in texts or self.tokens[self.at][0] == 3:
            return None
        self.at += 1
        return self.tokens[self.at - 1][1]

    def want(self, text):
        return self.take(text) or self.fail(f"'{text}'")

    def is_ident(self, ahead=0):
        return self.at + ahead < len(self.tokens) and self.tokens[self.at + ahead][0] == 2 \
            and self.peek(ahead) not in WORDS

    def ident(self):
        if not self.is_ident():
            self.fail("a name")
        self.at += 1
        return self.tokens[self.at - 1][1]

    def formula(self):
        """Return the tree of a formula.  Each local value is computed as late as possible (sunk())."""
        local = []
        while self.is_ident() and self.peek(1) == "=":
            name = self.ident()
            check(name not in self.local, self.where, f"{self.label}: '{name}' has a value already")
            self.local.append(name)
            self.want("=")
            local.append((name, self.expr()))
            self.want(";")
        result = self.expr()
        if self.at < len(self.tokens):
            self.fail("the end")
        for name, expression in reversed(local):
            check(name in names_in(result), self.where, f"{self.label}: '{name}' is not used")
            result = sunk(name, expression, result)
        return result

    def expr(self):
        condition = self.left("or", lambda: self.left("and", self.negation))
        if not self.take("?"):
            return condition
        first = self.expr()
        self.want(":")
        return "choose", condition, first, self.expr()

    def left(self, word, operand):
        tree = operand()
        while self.take(word):
            tree = "infix", word, tree, operand()
        return tree

    def negation(self):
        return ("not", self.negation()) if self.take("not") else self.comparison()

    def comparison(self):
        tree = self.sum()
        operator = self.take(*COMPARISONS, "is")
        if operator == "is":
            negated = self.take("not")
            self.want("none")
            return ("not", ("is_none", tree)) if negated else ("is_none", tree)
        return ("infix", COMPARISONS[operator], tree, self.sum()) if operator else tree

    def sum(self):
        return self.infix("+-", lambda: self.infix("*/", self.unary))

    def infix(self, operators, operand):
        tree = operand()
        while True:
            operator = self.take(*operators)
            if operator is None:
                return tree
            tree = "infix", INFIX[operator], tree, operand()

    def unary(self):
        return ("minus", self.unary()) if self.take("-") else self.postfix()

    def postfix(self):
        tree = self.atom()
        while True:
            if self.take("."):
                name = self.ident()
                tree = ("method", tree, name, *self.arguments()) if self.take("(") else ("attribute", tree, name)
            elif self.take("["):
                tree = "item", tree, self.expr()
                self.want("]")
            else:
                return tree

    def atom(self):
        kind, text = self.tokens[self.at][:2] if self.at < len(self.tokens) else (0, "")
        if self.take("("):
            tree = self.expr()
            self.want(")")
            return tree
        if self.take("["):
            return "list", self.expressions("]")
        if kind == 1:
            self.at += 1
            return "constant", int(text) if text.isdigit() else float(text)
        if kind == 3:
            self.at += 1
            return "constant", text[1:-1]
        if text in CONSTANTS:
            self.at += 1
            return "constant", CONSTANTS[text]
        name = self.ident()
        if self.take("::"):
            name += "::" + self.ident()
            self.want("(")
            return "call", name, *self.arguments()
        return ("call", name, *self.arguments()) if self.take("(") else ("name", name)

    def expressions(self, end):
        found = []
        while not self.take(end):
            if found:
                self.want(",")
            found.append(self.expr())
        return found

    def arguments(self):
        """Return (args, kwargs) of a call, up to its closing parenthesis."""
        args, kwargs = [], {}
        while not self.take(")"):
            if args or kwargs:
                self.want(",")
            if self.is_ident() and self.peek(1) == "=":
                name = self.ident()
                self.want("=")
                check(name not in kwargs, self.where, f"{self.label}: argument '{name}' is there twice")
                kwargs[name] = self.expr()
            elif kwargs:
                self.fail("an argument by name")
            else:
                args.append(self.expr())
        return args, kwargs


def names_in(tree):
    """Return the names that a tree, or a list or dict of trees, refers to."""
    if isinstance(tree, tuple) and tree[:1] == ("name",):
        return {tree[1]}
    children = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (tuple, list)) else ()
    return set().union(*map(names_in, children))


def sunk(name, expression, tree):
    """Return the tree ("let", name, expression, tree).  If only one child of `tree` uses the name, put the
    "let" into that child: then a side of "a ? b : c" computes its local values only if it is chosen."""
    users = [i for i, child in enumerate(tree) if not isinstance(child, str) and name in names_in(child)]
    if len(users) != 1 or not isinstance(tree[users[0]], tuple):
        return "let", name, expression, tree
    i = users[0]
    return *tree[:i], sunk(name, expression, tree[i]), *tree[i + 1:]
