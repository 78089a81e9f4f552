/* test_tree.c -- a tree lives until its last holder has freed it. */
#include "json/json.h"
#include "unit.h"

START_TEST(a_tree_lives_until_its_last_holder_frees_it)
{
    static const char text[] = "{\"a\":[1,2,3,4,5,6,7,8,9,10,11,12],\"b\":\"text\"}";
    dp_error err = DP_ERROR_INIT;
    cJSON *root = NULL;

    ck_assert_int_eq(json_parse(text, sizeof(text) - 1, &root, &err), 0);
    ck_assert_ptr_eq(json_ref(root), root);
    json_free(root);
    ck_assert_str_eq(root->child->next->valuestring, "text");
    ck_assert_int_eq(cJSON_GetArraySize(root->child), 12);
    json_free(root);
    json_free(NULL);
}
END_TEST

UNIT_SUITE(tree)
{
    tcase_add_test(tc, a_tree_lives_until_its_last_holder_frees_it);
}
