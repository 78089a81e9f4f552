/* socket.c -- fuzzes connections: an input is what a client sends, and where it is cut in pieces
 * (stream.h): lines, attachments of announced lengths, and their ends. */
#define _GNU_SOURCE
#include "stream.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    served_start();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    stream_run(data, size, NULL);
    return 0;
}
