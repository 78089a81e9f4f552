/* trial_wrong.c -- trial.c, a build whose results are wrong. */
#define TRIAL_BUILD  2
#define TRIAL_FACTOR 3
#include "trial.c"
