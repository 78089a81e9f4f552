/* changes.c -- when shapes changed, and when this thread's call began: what decides which geometry
 * of a tensor a call sees (dpi_geometry_of). */
#include "room.h"

dpi_counter dpi_changes = {1};
_Thread_local uint64_t dpi_call_began;
