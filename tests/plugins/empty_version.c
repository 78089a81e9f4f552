/* empty_version.c -- refused: a version is shown wherever the plugin is. */
#include <dispatchd/plugin.h>

DP_PLUGIN(empty_version, "")
