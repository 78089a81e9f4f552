/* store.h -- files of tensors in the safetensors format, for the methods store.*.
 *
 *   header.c   the JSON text at the start of a file: which tensors follow, and where
 *   file.c     opens files beneath --data-path, and replaces one in one step
 *
 * A file has 8 bytes (little-endian) with the length of the header, the header, and the elements
 * of all tensors, little-endian, contiguous and in row-major order.  Source:
 * https://github.com/huggingface/safetensors. */
#ifndef DAEMON_STORE_H
#define DAEMON_STORE_H

#include "daemon.h"
#include "json/json.h"
#include <stdatomic.h>

/* -- header.c -- */

enum { STORE_LENGTH_BYTES = 8 }; /* bytes before the header */

typedef struct stored {
    const char *name; /* borrowed */
    dp_dtype dtype;
    int ndim;
    const int64_t *sizes; /* [ndim], borrowed */
    uint64_t begin, end;  /* offsets in bytes from the end of the header */
    dp_tensor *tensor;    /* borrowed: the tensor to save, or the loaded one; NULL: none yet */
} stored;

typedef struct stored_header {
    cJSON *root;           /* owned; the names and `metadata` are parts of this tree */
    const cJSON *metadata; /* an object of strings; NULL: none */
    stored *tensors;       /* owned; [n], in the order of the header */
    size_t n;
    int64_t *sizes; /* owned: the sizes of all tensors */
} stored_header;

/* Decode the length of the header from the first bytes of a file of `file_bytes`.  DP_EVALUE: it
 * does not fit the file, or is over LIMIT_STORE_HEADER_BYTES. */
int stored_length(const uint8_t first[STORE_LENGTH_BYTES], uint64_t file_bytes, size_t *out,
                  dp_error *err);
/* Return an upper bound for the bytes that stored_header_read() allocates for a header of `bytes`,
 * including the text itself. */
uint64_t stored_header_cost(size_t bytes);
/* Read the header `text`; `data_bytes` bytes of elements follow it in the file.  `*out` is owned;
 * stored_header_fini() ends it.  DP_EVALUE: the header is wrong.  DP_ENOTIMPL: a dtype that tensors
 * here do not have.  DP_ERESOURCE: too many tensors, or out of memory. */
int stored_header_read(const char *text, size_t bytes, uint64_t data_bytes, stored_header *out,
                       dp_error *err);
void stored_header_fini(stored_header *h);
/* Return the format's name of a dtype, such as "F32"; NULL: it has none. */
const char *stored_dtype_name(dp_dtype dtype);
/* Sort tensors by falling size of their elements, so that each is aligned in the file, and set
 * their offsets.  DP_EVALUE: two tensors have one name.  DP_ERESOURCE: too many bytes. */
int stored_arrange(stored *tensors, size_t n, dp_error *err);
/* Write the length and the header of a file with these tensors, which are arranged.  `metadata`: an
 * object of strings; NULL: none.  Failures are those of `w`. */
void stored_header_write(const stored *tensors, size_t n, const cJSON *metadata, jw *w);
/* Set the first 8 bytes of `w`, where stored_header_write() wrote the header.  DP_ERESOURCE: the
 * header is over LIMIT_STORE_HEADER_BYTES, or writing failed. */
int stored_header_end(jw *w, dp_error *err);

/* -- file.c -- */

typedef struct store {
    const char *path; /* borrowed: --data-path; NULL: none was given */
    int dir;          /* descriptor of `path`; -1: none */
    /* calls that ended well, calls that failed, and bytes of files, since the start */
    atomic_uint_fast64_t saves, loads, failed, bytes_saved, bytes_loaded;
} store;

/* Open the directory `path`; NULL: no file can be named.  DP_ERUNTIME: `path` cannot be opened. */
int store_open(store *s, const char *path, dp_error *err);
void store_close(store *s);
/* Open the regular file `path`, relative to --data-path, for reading.  `*fd` is owned.  DP_EPERM:
 * there is no --data-path, or `path` has a component "..", goes through a symbolic link or leaves
 * the directory in another way.  DP_ENOTFOUND: there is no such file. */
int store_file_open(const store *s, const char *path, int *fd, dp_error *err);
/* Get the size of the file `fd`.  DP_EVALUE: it is no regular file. */
int store_file_bytes(int fd, const char *path, uint64_t *bytes, dp_error *err);
/* Read or write all `bytes` bytes at `offset`.  DP_EVALUE: the file ends before.  DP_ERESOURCE: no
 * space is left. */
int store_read(int fd, const char *path, void *to, size_t bytes, uint64_t offset, dp_error *err);
int store_write(int fd, const char *path, const void *from, size_t bytes, uint64_t offset,
                dp_error *err);

/* Begin to write `bytes` bytes over the regular file `fd`, which is empty afterwards, and reserve
 * space if the file system can.  DP_EPERM: the file may not shrink.  DP_ERESOURCE: no space. */
int store_rewrite_begin(int fd, const char *path, uint64_t bytes, dp_error *err);
int store_rewrite_sync(int fd, const char *path, dp_error *err); /* Write it to the disk. */
void store_rewrite_drop(int fd);                                 /* Remove the bytes again. */

/* A file that replaces another one, or is new, when it is complete.  Until then it has another name
 * in the same directory. */
typedef struct store_replacement {
    const char *path; /* borrowed */
    const char *name; /* the last component of `path` */
    int dir, fd;      /* the directory, and the new file; -1: none */
    char temporary[64];
} store_replacement;
/* Begin to replace `path`, relative to --data-path, by a file of `bytes` bytes, for which space is
 * reserved if the file system can.  Files that earlier replacements left in the directory because
 * their process was killed are removed.  Errors are those of store_file_open(); DP_ERESOURCE: no
 * space is left.  Call store_replace_end() in any case. */
int store_replace_begin(const store *s, const char *path, uint64_t bytes, store_replacement *r,
                        dp_error *err);
/* Let the disk begin to write `bytes` bytes at `offset`, and wait until it has the `bytes` bytes
 * before them.  A failure shows when the file is written to the disk. */
void store_file_advance(int fd, uint64_t offset, uint64_t bytes);
/* Write the new file to the disk. */
int store_replace_sync(store_replacement *r, dp_error *err);
/* Write the new file to the disk and let it replace the old one, in one step. */
int store_replace_commit(store_replacement *r, dp_error *err);
/* Close the files, and remove the new file if it has not replaced the old one. */
void store_replace_end(store_replacement *r);

#endif
