/* draws.h -- includes and the `err` of tests of random number generators. */
#ifndef DRAWS_H
#define DRAWS_H

#include "unit.h"
#include "base/generator.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static dp_error err;

#endif
