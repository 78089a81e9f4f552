/* request.c -- fuzzes requests: an input is what a client sends, lines and attachments.  Each
 * request is parsed, checked, run and answered, without a socket.
 *
 * Before a line, "!" and a byte N make the Nth allocation fail that parsing or running it makes. */
#define _GNU_SOURCE
#include "served.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    served_start();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int client = served_connect();
    struct connection *c = served.connections;

    c->refs++;
    while (size > 0 && !c->closed) {
        bool fails = size >= 2 && data[0] == '!';
        served_fault = fails ? data[1] : 0;
        data += 2 * fails;
        size -= 2 * fails;
        const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
        size_t bytes = end != NULL ? (size_t)(end - data) : size, used = bytes + (end != NULL);
        const char *line = (const char *)data;
        data += used;
        size -= used;
        job *j = served_run(c, line, bytes, NULL, 0, &data, &size);
        if (j == NULL)
            break;
        connection_job_free(j);
    }
    /* the loop has not seen server.shutdown, and a new daemon for the next input would take long */
    atomic_store(&served.shutdown, false);
    connection_close(c);
    connection_unref(c);
    close(client);
    served_clean();
    return 0;
}
