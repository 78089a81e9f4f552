/* table.c -- finds a method by name in the table generated from proto/methods. */
#include "methods.h"

const method *method_find(const char *name)
{
    for (const method *m = methods; m->name != NULL; m++)
        if (same_name(m->name, name))
            return m;
    return NULL;
}
