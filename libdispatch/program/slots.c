/* slots.c -- enter the functions of programs in the table of functions that plugins call
 * (api.h). */
#include "dispatch/plugin/plugins.h"
#include "program_i.h"

__attribute__((constructor)) static void fill(void)
{
    dpi_fill_dp_builder_new(dp_builder_new);
    dpi_fill_dp_builder_free(dp_builder_free);
    dpi_fill_dp_builder_input(dp_builder_input);
    dpi_fill_dp_builder_constant(dp_builder_constant);
    dpi_fill_dp_builder_add(dp_builder_add);
    dpi_fill_dp_builder_name(dp_builder_name);
    dpi_fill_dp_builder_find(dp_builder_find);
    dpi_fill_dp_builder_output(dp_builder_output);
    dpi_fill_dp_builder_text(dp_builder_text);
    dpi_fill_dp_builder_finish(dp_builder_finish);
    dpi_fill_dp_program_ref(dp_program_ref);
    dpi_fill_dp_program_unref(dp_program_unref);
    dpi_fill_dp_program_run(dp_program_run);
    dpi_fill_dp_program_info_get(dp_program_info_get);
    dpi_fill_dp_program_hash(dp_program_hash);
    dpi_fill_dp_program_input_name(dp_program_input_name);
    dpi_fill_dp_program_input_type(dp_program_input_type);
    dpi_fill_dp_program_input_find(dp_program_input_find);
    dpi_fill_dp_program_input_written(dp_program_input_written);
    dpi_fill_dp_program_output_name(dp_program_output_name);
    dpi_fill_dp_program_output_alias(dp_program_output_alias);
    dpi_fill_dp_program_output(dp_program_output);
    dpi_fill_dp_program_step(dp_program_step);
    dpi_fill_dp_program_constant(dp_program_constant);
    dpi_fill_dp_program_argument_name(dp_program_argument_name);
    dpi_fill_dp_program_value_name(dp_program_value_name);
}
