/* qr.h -- reflectors of QR factors, as linalg_qr and ormqr use them (geqrf.c). */
#ifndef CPU_QR_H
#define CPU_QR_H

#include "matrices.h"

/* *x: a copy of self that was factored; *tau: its reflectors' factors. */
int qr_factor_of(dp_ctx *ctx, dp_tensor *self, dp_tensor **x, dp_tensor **tau);
/* x [..., m, n], by columns, whose columns hold reflectors, becomes their product; tau [..., k],
 * m >= n >= k. */
int qr_product(dp_ctx *ctx, dp_tensor *x, dp_tensor *tau);
/* Check the factors `t` of the reflectors `a`: "name: Expected tau to have one dimension less
 * ...". */
int qr_check_tau(dp_ctx *ctx, const dp_view *a, const dp_view *t, const char *name,
                 const char *dims);

#endif
