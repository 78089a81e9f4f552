/* trial_fails.c -- trial.c, a build whose kernels fail when they have written. */
#define TRIAL_BUILD  3
#define TRIAL_FACTOR 2
#define TRIAL_FAILS
#include "trial.c"
