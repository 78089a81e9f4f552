/* train_digits.c -- trains the network of digits.json on hand-written digits from C.
 *
 *     train_digits DATA [BATCHES]
 *
 * prints the loss of each batch.  DATA is the directory of the .safetensors files (tests/data).
 * Each step of training is one request, a run of the program.  No request waits for the answer to
 * the one before it. */
#include "digits_data.h"
#include <string.h>

/* Send a step of training with batch `k`. */
static void submit_program(dpc_request *r, const cJSON *program, int k)
{
    const cJSON *input;

    dpc_request_reset(r);
    cJSON_ArrayForEach(input, cJSON_GetObjectItem(program, "inputs"))
    {
        const char *name = cJSON_GetObjectItem(input, "name")->valuestring;
        if (strcmp(name, "k") == 0)
            dpc_add_int(r, name, k);
        else
            dpc_add_tensor(r, name, find(name)->handles[0]);
    }
    dpc_set_return(r, DPC_RETURN_DATA);
    ok(dpc_submit(client, r, NULL, &err));
}

int main(int argc, char **argv)
{
    int batches;
    int64_t handle;
    cJSON *program = begin(argc, argv, &batches);
    char *json = cJSON_PrintUnformatted(program);

    ok(dpc_program_create(client, json, &handle, &err));
    dpc_request *run = dpc_run_new(handle);
    for (int k = 0; k < batches; k++) {
        submit_program(run, program, k);
        print_losses(AHEAD);
    }
    end(program, batches);
    dpc_request_free(run);
    cJSON_free(json);
    return 0;
}
