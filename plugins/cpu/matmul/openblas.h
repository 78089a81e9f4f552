/* openblas.h -- OpenBLAS, opened at the first call that needs it, and the memory that it needs for
 * a thread. */
#ifndef CPU_OPENBLAS_H
#define CPU_OPENBLAS_H

#include <cblas.h>
#include <dispatchd/plugin.h>

/* The functions of CBLAS that plugin cpu calls: blas.sgemm() is cblas_sgemm().  NULL before
 * blas_ready(). */
#define BLAS_MAP(X)        X(sgemm) X(dgemm) X(cgemm) X(zgemm) X(sgemv) X(dgemv) X(cgemv) X(zgemv)
#define BLAS_MEMBER_(name) __typeof__(&cblas_##name) name;
extern struct blas_functions {
    BLAS_MAP(BLAS_MEMBER_)
} blas;

/* Open OpenBLAS, fill `blas` and the tables of lapack.h, and tell the host which kernels it uses.
 * Every kernel that uses them calls this first.  Errors: DP_ERESOURCE, there is no memory for it;
 * DP_ERUNTIME, the system does not have it.  A later call tries again. */
int blas_ready(dp_ctx *ctx);

/* Around each call of OpenBLAS that computes, on its thread, not nested: wait until OpenBLAS has a
 * buffer for this thread.  Without a buffer it would try to map one, and for ever if it cannot. */
void blas_enter(void);
void blas_leave(void);

/* When the plugin is unloaded: close OpenBLAS if it was opened.  No kernel runs. */
void blas_close(void);

#endif
