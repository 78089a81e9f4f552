/* isa.h -- vector levels (dispatchd/isa.h), chosen when the plugin is loaded.
 *
 * A source under levels/ (or a generated one) is compiled for every level of the target.  CFLAGS_mine_v4 of
 * plugin.mk are flags of one source at one level. */
#ifndef CPU_ISA_H
#define CPU_ISA_H

#include <dispatchd/plugin.h>
#include <dispatchd/isa.h>

/* The level in use; read by all threads. */
extern int cpu_level;

/* Choose it.  Errors: dp_cpu_level()'s. */
int cpu_choose_level(dp_ctx *ctx);

#define CPU_CHOSEN(name) DP_ISA_CHOSEN(cpu_level, name)

#endif
