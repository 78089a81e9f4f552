/* qr.h -- Householder reflectors of QR factors, used by linalg_qr and ormqr (geqrf.c). */
#ifndef CPU_QR_H
#define CPU_QR_H

#include "matrices.h"

/* Factor a copy of self.  *x, owned, has R and the reflectors, as LAPACK's geqrf stores them; *tau,
 * owned, has the scalar factors of the reflectors. */
int qr_factor_of(dp_ctx *ctx, dp_tensor *self, dp_tensor **x, dp_tensor **tau);
/* Replace the reflectors in the columns of x [..., m, n], column-major, by their product.  tau is
 * [..., k], with m >= n >= k. */
int qr_product(dp_ctx *ctx, dp_tensor *x, dp_tensor *tau);
/* Check `t`, the scalar factors of the reflectors `a`.  DP_ERUNTIME: its sizes are wrong ("name:
 * Expected tau to have one dimension less ..."). */
int qr_check_tau(dp_ctx *ctx, const dp_view *a, const dp_view *t, const char *name,
                 const char *dims);

#endif
