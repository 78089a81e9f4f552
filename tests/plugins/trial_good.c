/* trial_good.c -- trial.c, another build, with equal results. */
#define TRIAL_BUILD  1
#define TRIAL_FACTOR 2
#include "trial.c"
