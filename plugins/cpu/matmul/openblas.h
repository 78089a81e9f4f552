/* openblas.h -- OpenBLAS, which is opened at the first call that needs it, and its buffers, one per
 * thread. */
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

/* Open OpenBLAS, fill `blas` and the tables of lapack.h, and report to the host which kernels
 * OpenBLAS uses.  Every kernel that uses the tables calls this first.  DP_ERESOURCE: no memory for
 * OpenBLAS.  DP_ERUNTIME: the system does not have OpenBLAS.  After an error, a later call tries
 * again. */
int blas_ready(dp_ctx *ctx);

/* Enclose each call of OpenBLAS that computes, on the calling thread, not nested.  blas_enter()
 * waits until OpenBLAS has a buffer for the thread; without one, OpenBLAS would try to map one, for
 * ever if it cannot. */
void blas_enter(void);
void blas_leave(void);

/* Close OpenBLAS, if it was opened, when the plugin is unloaded.  No kernel may be running. */
void blas_close(void);

#endif
