/* attachments.c -- reads the members "attachments" and "fds" of a message, which announce the data
 * that follows its line, and writes "attachments" of an answer. */
#include "methods.h"
#include <math.h>

/* Read an integer from 0 to `max`.  false: `j` is no such integer. */
static bool read_count(const cJSON *j, size_t max, size_t *out)
{
    if (!cJSON_IsNumber(j) || !(j->valuedouble >= 0 && j->valuedouble <= (double)max) ||
        j->valuedouble != floor(j->valuedouble))
        return false;
    *out = (size_t)j->valuedouble;
    return true;
}

/* Read "attachments":[n...], sizes in bytes, into `rq`, and the sum of the sizes into `*total`. */
static int read_sizes(request *rq, const cJSON *list, size_t max_bytes, size_t *total,
                      dp_error *err)
{
    size_t n = (size_t)cJSON_GetArraySize(list);
    const cJSON *j = NULL;

    if (!cJSON_IsArray(list) || n > LIMIT_SIZE(ATTACHMENTS))
        goto fail;
    rq->attachment_bytes = dp_calloc(n + 1, sizeof(size_t));
    rq->attachment_offset = dp_calloc(n + 1, sizeof(size_t));
    if (rq->attachment_bytes == NULL || rq->attachment_offset == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: attachments");
    cJSON_ArrayForEach(j, list)
    {
        size_t i = rq->n_attachments;
        if (!read_count(j, max_bytes - *total, &rq->attachment_bytes[i]))
            goto fail;
        rq->attachment_offset[i] = *total;
        *total += rq->attachment_bytes[i];
        rq->n_attachments++;
    }
    return 0;
fail:
    dp_error_set(err, DP_EVALUE,
                 "attachments: expected an array of at most %zu sizes that add up to at most %zu "
                 "bytes (attachments, attachment_bytes)",
                 LIMIT_SIZE(ATTACHMENTS), max_bytes);
    if (n > LIMIT_SIZE(ATTACHMENTS))
        return LIMIT_REACHED(ATTACHMENTS, n, err->code);
    if (cJSON_IsNumber(j) && j->valuedouble > (double)(max_bytes - *total))
        return LIMIT_REACHED(ATTACHMENT_BYTES, fmin((double)*total + j->valuedouble, 0x1p63),
                             err->code);
    return err->code;
}

int64_t request_announced(request *rq, size_t max_bytes, size_t received, size_t *n_fds,
                          dp_error *err)
{
    const cJSON *list = param(rq->root, "attachments"), *fds = param(rq->root, "fds");
    size_t total = 0;

    *n_fds = 0;
    if (list != NULL && read_sizes(rq, list, max_bytes, &total, err) < 0)
        return -1;
    if (fds == NULL || (read_count(fds, LIMIT_DESCRIPTORS, n_fds) && *n_fds <= received))
        return (int64_t)total;
    dp_error_set(err, DP_EVALUE,
                 "fds: expected a count of at most %d descriptors, all of them sent beside "
                 "this line; %zu came",
                 LIMIT_DESCRIPTORS, received);
    return -1;
}

int announcement_check(const request *rq, const cJSON *attachments, const cJSON *fds, bool in_batch,
                       dp_error *err)
{
    size_t n = cJSON_IsArray(attachments) ? (size_t)cJSON_GetArraySize(attachments) : 0;

    if (in_batch && (attachments != NULL || fds != NULL))
        return dp_error_set(err, DP_EVALUE, "a batch carries neither attachments nor fds");
    if (attachments != NULL && !cJSON_IsArray(attachments))
        return dp_error_set(err, DP_EVALUE, "attachments: expected an array of byte counts");
    if (!in_batch && n != rq->n_attachments)
        return dp_error_set(err, DP_EVALUE, "attachments: %zu announced but %zu came", n,
                            rq->n_attachments);
    n = 0;
    if (fds != NULL && !read_count(fds, LIMIT_DESCRIPTORS, &n))
        return dp_error_set(err, DP_EVALUE, "fds: expected a count of at most %d descriptors",
                            LIMIT_DESCRIPTORS);
    if (!in_batch && n != (rq->received != NULL ? rq->received->n : 0))
        return dp_error_set(err, DP_EVALUE, "fds: %zu announced but %zu came", n,
                            rq->received != NULL ? rq->received->n : 0);
    return 0;
}

void attachments_to_json(request *rq)
{
    jw *w = &rq->out;

    if (rq->n_parts == 0)
        return;
    jw_key(w, "attachments");
    jw_array(w);
    for (size_t i = 0; i < rq->n_parts; i++)
        jw_int(w, (int64_t)rq->parts[i].bytes);
    jw_array_end(w);
}
