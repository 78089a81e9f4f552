/* lapack_routines.h -- the routines of LAPACK, and trsm of BLAS, that plugin cpu calls, in
 * Fortran's calling convention: all arguments by reference, integers of 32 bits, and after all
 * arguments the length of each character argument.  Arrays are void, so that the four dtypes have
 * one C type.
 *
 * This list has no include guards: lapack.h makes types and tables from it, openblas.c makes the
 * code that fills the tables.
 *
 * LAPACK4(name, s, d, c, z, parameters)   the symbols for the dtypes float32, float64, complex64
 *                                         and complex128
 * LAPACK2(name, f, d, parameters)         the symbols for two dtypes, both real or both complex; a
 *                                         routine that takes one more array (rwork) for complex
 *                                         dtypes has one such table for each of the two kinds */
#define LAPACK(name, ...) LAPACK4(name, s##name##_, d##name##_, c##name##_, z##name##_, __VA_ARGS__)

#define LAPACK_REAL(name, ...)    LAPACK2(name, s##name##_, d##name##_, __VA_ARGS__)
#define LAPACK_COMPLEX(name, ...) LAPACK2(name##_complex, c##name##_, z##name##_, __VA_ARGS__)

/* -- solving -- */
LAPACK(getrf, la_int m, la_int n, void *a, la_int lda, int *ipiv, int *info)
LAPACK(getrs, la_char trans, la_int n, la_int nrhs, const void *a, la_int lda, const int *ipiv,
       void *b, la_int ldb, int *info, size_t)
LAPACK(potrf, la_char uplo, la_int n, void *a, la_int lda, int *info, size_t)
LAPACK(potri, la_char uplo, la_int n, void *a, la_int lda, int *info, size_t)
LAPACK(potrs, la_char uplo, la_int n, la_int nrhs, const void *a, la_int lda, void *b, la_int ldb,
       int *info, size_t)
LAPACK(sytrf, la_char uplo, la_int n, void *a, la_int lda, int *ipiv, void *work, la_int lwork,
       int *info, size_t)
LAPACK(sytrs, la_char uplo, la_int n, la_int nrhs, const void *a, la_int lda, const int *ipiv,
       void *b, la_int ldb, int *info, size_t)
LAPACK2(hetrf, chetrf_, zhetrf_, la_char uplo, la_int n, void *a, la_int lda, int *ipiv, void *work,
        la_int lwork, int *info, size_t)
LAPACK2(hetrs, chetrs_, zhetrs_, la_char uplo, la_int n, la_int nrhs, const void *a, la_int lda,
        const int *ipiv, void *b, la_int ldb, int *info, size_t)
LAPACK(trsm, la_char side, la_char uplo, la_char trans, la_char diag, la_int m, la_int n,
       const void *alpha, const void *a, la_int lda, void *b, la_int ldb, size_t, size_t, size_t,
       size_t)

/* -- orthogonal factors -- */
LAPACK(geqrf, la_int m, la_int n, void *a, la_int lda, void *tau, void *work, la_int lwork,
       int *info)
LAPACK4(orgqr, sorgqr_, dorgqr_, cungqr_, zungqr_, la_int m, la_int n, la_int k, void *a,
        la_int lda, const void *tau, void *work, la_int lwork, int *info)
LAPACK4(ormqr, sormqr_, dormqr_, cunmqr_, zunmqr_, la_char side, la_char trans, la_int m, la_int n,
        la_int k, void *a, la_int lda, const void *tau, void *c, la_int ldc, void *work,
        la_int lwork, int *info, size_t, size_t)

/* -- eigenvalues and singular values -- */
LAPACK_REAL(syev, la_char jobz, la_char uplo, la_int n, void *a, la_int lda, void *w, void *work,
            la_int lwork, int *info, size_t, size_t)
LAPACK2(heev, cheev_, zheev_, la_char jobz, la_char uplo, la_int n, void *a, la_int lda, void *w,
        void *work, la_int lwork, void *rwork, int *info, size_t, size_t)
LAPACK_REAL(syevd, la_char jobz, la_char uplo, la_int n, void *a, la_int lda, void *w, void *work,
            la_int lwork, int *iwork, la_int liwork, int *info, size_t, size_t)
LAPACK2(heevd, cheevd_, zheevd_, la_char jobz, la_char uplo, la_int n, void *a, la_int lda, void *w,
        void *work, la_int lwork, void *rwork, la_int lrwork, int *iwork, la_int liwork, int *info,
        size_t, size_t)
LAPACK_REAL(geev, la_char jobvl, la_char jobvr, la_int n, void *a, la_int lda, void *wr, void *wi,
            void *vl, la_int ldvl, void *vr, la_int ldvr, void *work, la_int lwork, int *info,
            size_t, size_t)
LAPACK_COMPLEX(geev, la_char jobvl, la_char jobvr, la_int n, void *a, la_int lda, void *w, void *vl,
               la_int ldvl, void *vr, la_int ldvr, void *work, la_int lwork, void *rwork, int *info,
               size_t, size_t)
LAPACK_REAL(gesdd, la_char jobz, la_int m, la_int n, void *a, la_int lda, void *s, void *u,
            la_int ldu, void *vt, la_int ldvt, void *work, la_int lwork, int *iwork, int *info,
            size_t)
LAPACK_COMPLEX(gesdd, la_char jobz, la_int m, la_int n, void *a, la_int lda, void *s, void *u,
               la_int ldu, void *vt, la_int ldvt, void *work, la_int lwork, void *rwork, int *iwork,
               int *info, size_t)

/* -- least squares -- */
LAPACK(gels, la_char trans, la_int m, la_int n, la_int nrhs, void *a, la_int lda, void *b,
       la_int ldb, void *work, la_int lwork, int *info, size_t)
LAPACK_REAL(gelsy, la_int m, la_int n, la_int nrhs, void *a, la_int lda, void *b, la_int ldb,
            int *jpvt, const void *rcond, int *rank, void *work, la_int lwork, int *info)
LAPACK_COMPLEX(gelsy, la_int m, la_int n, la_int nrhs, void *a, la_int lda, void *b, la_int ldb,
               int *jpvt, const void *rcond, int *rank, void *work, la_int lwork, void *rwork,
               int *info)
LAPACK_REAL(gelsd, la_int m, la_int n, la_int nrhs, void *a, la_int lda, void *b, la_int ldb,
            void *s, const void *rcond, int *rank, void *work, la_int lwork, int *iwork, int *info)
LAPACK_COMPLEX(gelsd, la_int m, la_int n, la_int nrhs, void *a, la_int lda, void *b, la_int ldb,
               void *s, const void *rcond, int *rank, void *work, la_int lwork, void *rwork,
               int *iwork, int *info)
LAPACK_REAL(gelss, la_int m, la_int n, la_int nrhs, void *a, la_int lda, void *b, la_int ldb,
            void *s, const void *rcond, int *rank, void *work, la_int lwork, int *info)
LAPACK_COMPLEX(gelss, la_int m, la_int n, la_int nrhs, void *a, la_int lda, void *b, la_int ldb,
               void *s, const void *rcond, int *rank, void *work, la_int lwork, void *rwork,
               int *info)

#undef LAPACK
#undef LAPACK_REAL
#undef LAPACK_COMPLEX
