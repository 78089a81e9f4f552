/* openblas.h -- loading of OpenBLAS at the first call that needs it, and a limit on the buffers
 * that OpenBLAS maps, one for each thread that computes. */
#ifndef CPU_OPENBLAS_H
#define CPU_OPENBLAS_H

#include <cblas.h>
#include <dispatchd/plugin.h>

/* The functions of CBLAS that plugin cpu calls: blas.sgemm() is cblas_sgemm().  The pointers are
 * NULL before blas_ready(). */
#define BLAS_MAP(X)        X(sgemm) X(dgemm) X(cgemm) X(zgemm) X(sgemv) X(dgemv) X(cgemv) X(zgemv)
#define BLAS_MEMBER_(name) __typeof__(&cblas_##name) name;
extern struct blas_functions {
    BLAS_MAP(BLAS_MEMBER_)
} blas;

/* Open OpenBLAS, fill `blas` and the tables of lapack.h, and report to the host which kernels
 * OpenBLAS uses.  Every kernel that uses the tables calls this first.  DP_ERESOURCE: no memory for
 * OpenBLAS.  DP_ERUNTIME: the system does not have OpenBLAS, or OpenBLAS lacks a function.  After
 * an error, a later call tries again. */
int blas_ready(dp_ctx *ctx);

/* Call blas_enter() before, and blas_leave() after, each call of OpenBLAS that computes; calls must
 * not be nested.  blas_enter() waits until OpenBLAS has a free buffer for the calling thread;
 * without a free buffer, OpenBLAS would try for ever to map a new one. */
void blas_enter(void);
void blas_leave(void);

/* Close OpenBLAS, if it was opened, when the plugin is unloaded.  No kernel may be running. */
void blas_close(void);

#endif
