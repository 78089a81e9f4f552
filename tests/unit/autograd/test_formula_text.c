/* test_formula_text.c -- what of a formula's text is refused when its plugin is loaded, and what
 * when its operator, which was defined later, is first recorded. */
#include "graphs.h"

static const dp_item more_defs[] = {
    REC_DEF("kinds(Tensor self, Tensor[] list, int n, Scalar s, float? f, int[] sizes) -> Tensor"),
    REC_DEF("lists(Tensor self) -> Tensor[]"),
};
static const dp_block more = REC_BLOCK(DP_BLOCK_LIBRARY, 7, "u", "", more_defs);
static dp_unit *more_unit;

static void setup(void)
{
    graphs_setup();
    more_unit = rec_attach(reg, "more", &more, 1);
}

static void teardown(void)
{
    rec_detach(reg, more_unit);
    graphs_teardown();
}

/* Try to load a formula for operator `name` of namespace `ns`, and return the error's code. */
static int load(const char *ns, const char *name, const char *text, dp_error *err)
{
    const dp_item item[1] = {
        {.size = sizeof(dp_item), .kind = DP_ITEM_FORMULA, .name = name, .code = text}};
    const dp_block block = REC_BLOCK(DP_BLOCK_IMPL, 42, ns, "AutogradFormula", item);
    dp_unit *unit = NULL;
    int rc = dp_registry_attach(reg, "tried", "1.0", &block, 1, &unit, err);

    if (rc == 0)
        rec_detach(reg, unit);
    return rc;
}

static void refuse(const char *ns, const char *name, const char *text, const char *part)
{
    char where[80];
    dp_error err = DP_ERROR_INIT;

    snprintf(where, sizeof(where), "the formula of %s::%s (t.c:42): ", ns, name);
    ck_assert_int_eq(load(ns, name, text, &err), DP_EPLUGIN);
    ck_assert_msg(strncmp(err.message, where, strlen(where)) == 0, "'%s'", err.message);
    ck_assert_msg(strstr(err.message, part) != NULL, "no '%s' in '%s'", part, err.message);
}

static void wrong(const char *text, const char *part)
{
    refuse("t", "wrong", text, part);
}

static void accept(const char *ns, const char *name, const char *text)
{
    dp_error err = DP_ERROR_INIT;

    ck_assert_msg(load(ns, name, text, &err) == 0, "%s", err.message);
}

START_TEST(names_that_mean_nothing)
{
    wrong("in grad Tensor\nout self grad\n", "its text does not begin with 'flags'");
    wrong("flags", "its text does not begin with 'flags'");
    wrong("flags clone=other\nin grad Tensor\nout self grad\n", "it clones no argument 'other'");
    wrong("flags fast\nin grad Tensor\nout self grad\n", "no flag is called 'fast'");
    wrong("flags clone\nin grad Tensor\nout self grad\n", "no flag is called 'clone'");
    wrong("flags \nin grad Tensor\nout other grad\n", "no argument is called 'other'");
    wrong("flags \nin grad1 Tensor\nout self grad1\n", "no argument or return is called 'grad1'");
    wrong("flags \nin result1 Tensor\nout self result1\n", "return is called 'result1'");
    wrong("flags \nin self.colour int\nin grad Tensor\nout self grad\n",
          "no field is called 'self.colour'");
    wrong("flags \nin need.other bool\nin grad Tensor\nout self grad\n",
          "no argument is called 'other'");
}
END_TEST

START_TEST(outputs)
{
    const char *none = "it has no 'out', which gives the gradient of an argument";

    wrong("flags \nin grad Tensor\n", none);
    wrong("flags \n", none);
    wrong("flags \nin grad Tensor # ; out self grad\n# out self grad\n", none);
    wrong("flags \nin grad Tensor\nout self grad\nout self none\n",
          "'out self' is given twice, and an argument has one gradient");
    wrong("flags \nin grad Tensor;out self grad ; out  self grad", "'out self' is given twice");
    refuse("u", "kinds", "flags \nin grad Tensor\nout n grad\n",
           "'out n' must be the gradient of a tensor, and this argument is none");
    accept("t", "wrong", "flags \nin grad Tensor\nout self 'no # of ; out self'\n");
    accept("t", "wrong", "flags differentiable=0\n");
    accept("t", "wrong", "flags unrecorded\n");
    accept("t", "wrong", "flags detaches\n");
    accept("u", "kinds", "flags \nin grad Tensor\nout list none\nout self grad\n");
}
END_TEST

START_TEST(flags)
{
    wrong("flags differentiable=10\nin grad Tensor\nout self grad\n",
          "flag differentiable=10 must have a digit, 0 or 1, for each return of the operator, "
          "which has 1");
    wrong("flags differentiable=\nin grad Tensor\nout self grad\n", "flag differentiable= must");
    wrong("flags differentiable=2\nin grad Tensor\nout self grad\n", "flag differentiable=2 must");
    refuse("t", "both", "flags differentiable=1\nin grad Tensor\nout self grad\n",
           "for each return of the operator, which has 2");
    accept("t", "both", "flags differentiable=01\nin grad Tensor\nout self grad\n");
    wrong("flags clone=self\nin grad Tensor\nout self grad\n",
          "flag clone=self is for an argument that the operator writes in place, and it does not "
          "write 'self'");
    accept("t", "reshaped_", "flags clone=self\nin grad Tensor\nout self grad\n");
    wrong("flags through\nin grad Tensor\nout self grad\n",
          "flag through is for an empty program, and this one has 'in grad Tensor'");
    wrong("flags through\n  a = aten::neg(b)", "this one has 'a = aten::neg(b)'");
    accept("t", "wrong", "flags through\n # nothing\n ; \n");
}
END_TEST

/* An input of u::kinds that no step reads, called `name`, of type `type`. */
static const char *unread(const char *name, const char *type)
{
    static char text[200];

    snprintf(text, sizeof(text), "flags \nin grad Tensor\nin %s %s\nout self grad\n", name, type);
    return text;
}

START_TEST(types_of_inputs)
{
    const struct {
        const char *name, *type, *values; /* NULL: the type is right */
    } inputs[] = {
        {"self", "int", "Tensor"},
        {"self", "Tensor?", NULL},
        {"self", "any", NULL},
        {"n", "Tensor", "int"},
        {"n", "int?", NULL},
        {"n", "float", NULL},
        {"n", "Scalar", NULL},
        {"n", "SymInt", NULL},
        {"n", "int[]", "int"},
        {"s", "Tensor?", "Scalar"},
        {"s", "float", NULL},
        {"f", "int?", "float?"}, /* both may be None */
        {"f", "float", NULL},
        {"list", "Tensor", "Tensor[]"},
        {"list", "Tensor?[]", NULL},
        {"sizes", "SymInt[2]?", NULL},
        {"sizes", "int", "int[]"},
        {"result", "bool", "Tensor"},
        {"self.sizes", "int", "int[]"},
        {"self.sizes", "int[]", NULL},
        {"self.defined", "int", "bool"},
        {"self.dtype", "ScalarType", NULL},
        {"list.len", "int[]", "int"},
        {"list.len", "int", NULL},
        {"list.sizes", "int[]", "a list of int[]"},
        {"list.sizes", "int[][]", NULL},
        {"need.self", "Tensor", "bool"},
        {"create_graph", "bool", NULL},
    };
    char part[100];

    for (size_t i = 0; i < DPI_COUNT(inputs); i++) {
        const char *text = unread(inputs[i].name, inputs[i].type);
        snprintf(part, sizeof(part), "input '%s' has type %s, and its values are %s",
                 inputs[i].name, inputs[i].type, inputs[i].values ? inputs[i].values : "");
        if (inputs[i].values != NULL)
            refuse("u", "kinds", text, part);
        else
            accept("u", "kinds", text);
    }
    refuse("u", "lists", "flags \nin grad Tensor\nout self none\n",
           "input 'grad' has type Tensor, and its values are Tensor?[]");
    wrong("flags \nin grad Tensor[]\nout self none\n", "its values are Tensor?");
}
END_TEST

/* An operator that is not defined yet: its formula is judged when a call of it is recorded. */
START_TEST(an_operator_that_is_defined_later)
{
    const dp_item formula[1] = {{.size = sizeof(dp_item),
                                 .kind = DP_ITEM_FORMULA,
                                 .name = "late",
                                 .code = "flags \nin grad Tensor\nin self int\nout self grad\n"}};
    const dp_item def[1] = {REC_DEF("late(Tensor self) -> Tensor")};
    const dp_item kernel[1] = {REC_IMPL("late", clone_kernel)};
    const dp_block early = REC_BLOCK(DP_BLOCK_IMPL, 42, "t", "AutogradFormula", formula);
    const dp_block late[2] = {REC_BLOCK(DP_BLOCK_FRAGMENT, 1, "t", "", def),
                              REC_BLOCK(DP_BLOCK_IMPL, 2, "t", "CPU", kernel)};
    dp_unit *first = rec_attach(reg, "early", &early, 1),
            *second = rec_attach(reg, "late", late, 2);
    dp_tensor *x = leaf(FLOATS(1)), *none;

    for (int times = 0; times < 2; times++) /* what failed is not kept */
        refused(try_call("t::late", &(dp_value){DP_TAG_TENSOR, 0, {.t = x}}, 1, &none), DP_EPLUGIN,
                "the formula of t::late (t.c:42): input 'self' has type int, and its values are");
    dp_tensor_unref(x);
    dp_ctx_reset(ctx);
    rec_detach(reg, second);
    rec_detach(reg, first);
}
END_TEST

UNIT_SUITE(autograd_formula_text)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, names_that_mean_nothing);
    tcase_add_test(tc, outputs);
    tcase_add_test(tc, flags);
    tcase_add_test(tc, types_of_inputs);
    tcase_add_test(tc, an_operator_that_is_defined_later);
}
