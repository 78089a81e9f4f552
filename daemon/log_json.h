/* log_json.h -- writes an event as one JSON object, in a line of at most LOG_LINE_BYTES.  No
 * function allocates, and all but log_json_fields() may be called in a signal handler. */
#ifndef DAEMON_LOG_JSON_H
#define DAEMON_LOG_JSON_H

#include "daemon.h"
#include <stdarg.h>

typedef struct log_json {
    char line[LOG_LINE_BYTES];
    size_t n;
} log_json;
void log_json_begin(log_json *j, const char *time, const char *level, const char *event);
void log_json_string(log_json *j, const char *text); /* cut where the line is full */
/* Write a member, a string; without effect if the line is full. */
void log_json_member(log_json *j, const char *key, const char *value);
/* Write a member, a number. */
void log_json_number(log_json *j, const char *key, const char *digits);
/* Write a member for each field of a format of log_event(). */
void log_json_fields(log_json *j, const char *format, va_list ap);
size_t log_json_end(log_json *j); /* End the line with its LF; returns its length. */

#endif
