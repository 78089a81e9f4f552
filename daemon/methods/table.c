/* table.c -- the methods by name.  It stands above them all, so no method includes or calls it. */
#include "methods.h"

#define METHOD_ROW_(name, fn, where) {name, fn, where},
const method methods[] = {METHOD_MAP(METHOD_ROW_){NULL, NULL, 0}};
#undef METHOD_ROW_

#define METHOD_NAME_(name, fn, where) name,
const char *const method_names[] = {METHOD_MAP(METHOD_NAME_)};
#undef METHOD_NAME_
const size_t n_methods = sizeof(method_names) / sizeof(method_names[0]);

const method *method_find(const char *name)
{
    for (const method *m = methods; m->name != NULL; m++)
        if (same_name(m->name, name))
            return m;
    return NULL;
}
