/* page.c -- what verb conform found, as one page of HTML without anything from elsewhere: a grid of
 * operators and dtypes, filters, and the call behind each cell */
#include "conform.h"
#include <stdlib.h>
#include <string.h>

static const char *const head =
    "<!doctype html>\n<html lang=\"en\"><head><meta "
    "charset=\"utf-8\"><title>conform</title>\n<style>\n"
    "body{font:14px system-ui,sans-serif;margin:1.5em;color:#222}\n"
    "h1{font-size:1.3em}table{border-collapse:collapse}\n"
    "th{font-weight:500;text-align:left;padding:2px 8px;position:sticky;top:0;background:#fff}\n"
    "td{padding:1px "
    "2px}td.op{padding-right:1em;font-family:ui-monospace,monospace;white-space:nowrap}\n"
    "button.cell{width:5.5em;height:1.6em;border:0;border-radius:3px;color:#fff;cursor:pointer;"
    "font-size:.8em}\n"
    ".pass{background:#2e7d32}.fell{background:#8d9db0}.slower{background:#c79100}"
    ".missing{background:#777}.differs{background:#c62828}.hangs{background:#6a1b9a}"
    ".crashed{background:#000}\n"
    "#detail{position:fixed;right:1em;bottom:1em;max-width:45em;background:#fff;border:1px solid "
    "#999;"
    "border-radius:6px;padding:1em;box-shadow:0 2px 12px #0003;white-space:pre-wrap;"
    "font-family:ui-monospace,monospace}\n#detail:empty{display:none}\n"
    "#filters label{margin-right:1em}\n</style></head><body>\n";

/* The data is in the page as JSON; "<" is written as an escape, so no text of it can end the
 * script. */
static const char *const script =
    "</script><script>\n"
    "const found=JSON.parse(document.getElementById('data').textContent);\n"
    "const verdicts=['pass','fell back','slower','missing','differs','hangs','crashed'];\n"
    "const off=new Set();let text='';\n"
    "const make=(tag,props,...kids)=>{const e=Object.assign(document.createElement(tag),props);"
    "e.append(...kids);return e};\n"
    "const dtypes=[...new Set(found.cells.map(c=>c.dtype))];\n"
    "const ops=new Map();for(const c of found.cells){if(!ops.has(c.op))ops.set(c.op,{});"
    "ops.get(c.op)[c.dtype]=c}\n"
    "const detail=document.getElementById('detail');\n"
    "function show(c){detail.textContent=[c.op+' '+c.dtype+': '+c.verdict,"
    "Object.entries(c.counts).map(([v,n])=>n+' '+v).join(', '),c.call,c.why,"
    "c.device_ns?'kernel '+c.device_ns+' ns, reference '+c.reference_ns+' ns':'']"
    ".filter(Boolean).join('\\n')}\n"
    "function draw(){const body=document.getElementById('rows');body.replaceChildren();\n"
    "for(const [op,cells] of ops){if(!op.includes(text))continue;\n"
    "const kept=Object.values(cells).filter(c=>!off.has(c.verdict));if(!kept.length)continue;\n"
    "const row=make('tr',{},make('td',{className:'op',textContent:op}));\n"
    "for(const d of dtypes){const c=cells[d],td=make('td',{});\n"
    "if(c&&!off.has(c.verdict))td.append(make('button',{className:'cell '+c.verdict.split(' ')[0],"
    "textContent:c.verdict,onclick:()=>show(c)}));row.append(td)}\n"
    "body.append(row)}}\n"
    "const filters=document.getElementById('filters');\n"
    "for(const v of verdicts){if(!found.counts[v])continue;const box=make('input',{type:'checkbox',"
    "checked:true,onchange:()=>{box.checked?off.delete(v):off.add(v);draw()}});\n"
    "filters.append(make('label',{},box,' '+v+' ('+found.counts[v]+' calls)'))}\n"
    "filters.append(make('input',{placeholder:'operator',oninput:e=>{text=e.target.value;draw()}}))"
    ";\n"
    "document.getElementById('dtypes').append(make('th',{textContent:'operator'}),"
    "...dtypes.map(d=>make('th',{textContent:d})));\ndraw();\n</script></body></html>\n";

static void put_escaped(FILE *f, const char *text)
{
    for (; *text; text++)
        if (*text == '<')
            fputs("\\u003c", f);
        else
            fputc(*text, f);
}

static void put_html(FILE *f, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '&')
            fprintf(f, "&#%d;", *text);
        else
            fputc(*text, f);
}

bool report_page(const suite *s, const char *path)
{
    FILE *f = fopen(path, "we");

    if (f == NULL)
        return close_report(f, path);
    cJSON *data = report_json(s);
    char *text = json_text(data);
    fprintf(f, "%s<h1>", head);
    put_html(f, s->device);
    fputs(" beside ", f);
    put_html(f, s->reference);
    fprintf(f, "</h1><p>%zu operators and dtypes, seed %llu%s</p>\n<p id=\"filters\"></p>\n", s->n,
            (unsigned long long)s->seed,
            s->complete ? "" : "; not complete: the daemon or the device is gone");
    fputs("<table><thead><tr id=\"dtypes\"></tr></thead><tbody id=\"rows\"></tbody></table>\n"
          "<div id=\"detail\"></div>\n<script id=\"data\" type=\"application/json\">",
          f);
    put_escaped(f, text);
    fputs(script, f);
    free(text);
    cJSON_Delete(data);
    return close_report(f, path);
}
