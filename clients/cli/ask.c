/* ask.c -- sends a verb's request: builds params, connects, prints the daemon's error. */
#include "cli.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- params -- */

cJSON *params_new(void)
{
    return need(cJSON_CreateObject());
}

void params_text(cJSON *params, const char *name, const char *value)
{
    if (value)
        need(cJSON_AddStringToObject(params, name, value));
}

void params_raw(cJSON *params, const char *name, const char *json)
{
    if (json)
        need(cJSON_AddRawToObject(params, name, json));
}

void params_bool(cJSON *params, const char *name, bool value)
{
    if (value)
        need(cJSON_AddTrueToObject(params, name));
}

bool params_count(cli *c, cJSON *params, const char *name, const char *text)
{
    char *end;

    if (text == NULL)
        return true;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || value < 0 || end == text || *end != '\0') {
        usage(c, "%s wants a whole number of 0 or more, not '%s'", name, text);
        return false;
    }
    need(cJSON_AddNumberToObject(params, name, (double)value));
    return true;
}

/* -- requests -- */

int print_lost(const dpc_error *err)
{
    end_progress();
    fprintf(stderr, "dispatchctl: %s\n", err->message);
    return CLI_NO_CONNECTION;
}

/* Send one request and wait for its answer; takes ownership of `params`.  cJSON would change the
 * last digits of numbers, so the text is written by json_text(). */
static int send_request(cli *c, const char *method, cJSON *params, dpc_answer **a)
{
    char *text = params != NULL ? json_text(params) : NULL;
    dpc_request *r = need(dpc_request_json(method, text));
    dpc_error err;

    free(text);
    cJSON_Delete(params);
    int rc = dpc_submit(c->client, r, NULL, &err);
    dpc_request_free(r);
    if (rc == 0 && dpc_receive(c->client, -1, a, &err) == 0)
        return CLI_OK;
    return c->quiet ? CLI_NO_CONNECTION : print_lost(&err);
}

/* Print an error of the daemon, "TypeError: aten::mm: MESSAGE"; the operator is added only where
 * the message does not name it. */
static int print_error(cli *c, const cJSON *error)
{
    const char *type = text_of(member(error, "data"), "type"), *message = text_of(error, "message");
    const char *op = text_of(member(error, "data"), "op");
    bool named = strstr(message, op) != NULL;

    end_progress();
    if (c->quiet)
        return CLI_ERROR;
    if (c->json) {
        char *text = json_text(error);
        fprintf(stderr, "%s\n", text);
        free(text);
    } else {
        fprintf(stderr, "dispatchctl: %s%s%s%s%s\n", type, *type ? ": " : "", named ? "" : op,
                named ? "" : ": ", message);
        if (c->session == NULL && strstr(message, "in this session") != NULL)
            fputs("dispatchctl: this command has a session of its own; others can share one: "
                  "export DISPATCHD_SESSION=$(dispatchctl session)\n",
                  stderr);
    }
    return CLI_ERROR;
}

static int request_plain(cli *c, const char *method, cJSON *params, dpc_answer **a)
{
    int rc = send_request(c, method, params, a);

    if (rc == CLI_OK && dpc_answer_fault(*a) != NULL) {
        rc = print_error(c, dpc_answer_fault(*a));
        dpc_answer_free(*a);
    }
    return rc;
}

static void pass_notification(void *context, const char *method, const dpc_value *params)
{
    cli *c = context;

    if (c->on_notification)
        c->on_notification(c, method, params);
}

static int connect_client(cli *c)
{
    dpc_options options = DPC_OPTIONS_INIT;
    dpc_error err;
    dpc_answer *a;

    options.socket = c->socket;
    options.no_hello = true; /* most commands need no session and no limits: one round trip less */
    if (dpc_connect(&options, &c->client, &err) != 0)
        return c->quiet ? CLI_NO_CONNECTION : print_lost(&err);
    dpc_on_notification(c->client, pass_notification, c);
    if (c->session == NULL)
        return CLI_OK;
    cJSON *params = params_new();
    params_text(params, "session_key", c->session);
    int rc = request_plain(c, "server.hello", params, &a);
    if (rc == CLI_OK)
        dpc_answer_free(a);
    return rc;
}

int request(cli *c, const char *method, cJSON *params, dpc_answer **a)
{
    int rc = c->client ? CLI_OK : connect_client(c);

    if (rc == CLI_OK)
        return request_plain(c, method, params, a);
    cJSON_Delete(params);
    return rc;
}

int ask(cli *c, const char *method, cJSON *params, void (*show)(const cJSON *result))
{
    dpc_answer *a;
    int rc = request(c, method, params, &a);

    if (rc != CLI_OK)
        return rc;
    (c->json ? print_json : show)(dpc_answer_result(a));
    dpc_answer_free(a);
    return CLI_OK;
}

int fetch(cli *c, const char *method, cJSON *params, cJSON **result)
{
    dpc_answer *a;
    int rc = request(c, method, params, &a);

    if (rc != CLI_OK)
        return rc;
    *result = need(cJSON_Duplicate(dpc_answer_result(a), true));
    dpc_answer_free(a);
    return CLI_OK;
}

int wait_notification(cli *c)
{
    dpc_error err;

    return dpc_wait(c->client, -1, &err) == 0 ? CLI_OK : print_lost(&err);
}

void disconnect(cli *c)
{
    dpc_close(c->client);
    c->client = NULL;
}
