"""tables.py -- reads a yaml file into entries that know their file and line.

An error in an entry ends the program with a message that names the file, line, entry and field."""

import re

import yaml


class Fault(SystemExit):
    def __init__(self, where, text):
        path, line = where
        super().__init__(f"{path}:{line}: {text}")


def check(condition, where, text):
    if not condition:
        raise Fault(where, text)


class Entry(dict):
    """A mapping.  where: (file, line) of its first line; locations: {field: (file, line)}."""

    where, locations = None, None

    def at(self, field):
        return self.locations.get(field, self.where)


class Listed(list):
    """A list.  where: (file, line) of its first line; locations: (file, line) of each element."""

    where, locations = None, None


def location(node):
    return node.start_mark.name, node.start_mark.line + 1


def make_entry(loader, node):
    made = Entry()
    made.where, made.locations = location(node), {}
    for key, value in node.value:
        name = loader.construct_object(key, deep=True)
        check(name is None or isinstance(name, (str, int, float)), location(key), f"{name!r} is no name of a field")
        check(name not in made, location(key), f"{name}: there twice")
        made[name] = loader.construct_object(value, deep=True)
        made.locations[name] = location(key)
    return made


def make_list(loader, node):
    made = Listed(loader.construct_object(child, deep=True) for child in node.value)
    made.where, made.locations = location(node), [location(child) for child in node.value]
    return made


class Loader(yaml.SafeLoader):
    pass


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, make_entry)
Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_SEQUENCE_TAG, make_list)


def load(path, kind, what):
    """Return the document of a yaml file; `kind`: Entry or Listed, the class it must have."""
    try:
        with open(path, encoding="utf-8") as f:
            document = yaml.load(f, Loader)
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        raise Fault((path, mark.line + 1 if mark else 1), f"no yaml: {getattr(e, 'problem', e)}")
    except (OSError, UnicodeDecodeError, RecursionError) as e:
        raise Fault((path, 1), f"cannot be read: {e}")
    check(isinstance(document, kind), (path, 1), f"{what} are wanted")
    return document


def entries(listed, where, label):
    """Check that `listed` is a list of entries only, and return it."""
    check(isinstance(listed, Listed) and listed, where, f"{label}a list of entries is wanted")
    for entry, at in zip(listed, listed.locations):
        check(isinstance(entry, Entry), at, f"{label}{entry!r} has no fields: an entry is wanted")
    return listed


def is_a(value, kind):
    """Is `value` of type `kind`?  [str] is a list of at least one string, (A, B) means A or B.  A
    string must not be blank, and a bool is no int."""
    if isinstance(kind, tuple):
        return any(is_a(value, k) for k in kind)
    if isinstance(kind, list):
        return isinstance(value, list) and bool(value) and all(is_a(v, kind[0]) for v in value)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool)) \
        and (kind is not str or bool(value.strip()))


def name_of(kind):
    if isinstance(kind, tuple):
        return " or ".join(name_of(k) for k in kind)
    return f"list of {name_of(kind[0])}" if isinstance(kind, list) else kind.__name__


def check_fields(entry, fields, label):
    """Check that each field is in `fields` and has its type, and that no list has a word twice."""
    for field, value in entry.items():
        check(field in fields, entry.at(field), f"{label}: no such field: {field}")
        check(is_a(value, fields[field]), entry.at(field), f"{label}: {field}: {value!r} is no {name_of(fields[field])}")
        check_once(value if is_a(value, [str]) else [], entry.at(field), f"{label}: {field}: ")


def check_once(names, where, label):
    for i, name in enumerate(names):
        check(name not in names[:i], where, f"{label}'{name}' is there twice")


def words(entry, field, label):
    """Return the words of a field such as "CPU, CompositeExplicitAutograd"."""
    found = re.split(r"[, ]+", entry.get(field, "").strip()) if field in entry else []
    check(all(found), entry.at(field), f"{label}: {field}: not words: '{entry.get(field)}'")
    check_once(found, entry.at(field), f"{label}: {field}: ")
    return found


def check_choice(entry, field, known, label):
    check(field not in entry or entry[field] in known, entry.at(field),
          f"{label}: {field}: no such: '{entry.get(field)}'; there are {', '.join(sorted(known))}")
