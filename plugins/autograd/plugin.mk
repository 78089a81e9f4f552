# plugin autograd: formulas for gradients, from proto/ops/derivatives*.yaml
OBJ_autograd := $(BUILD)/gen/formulas.o

# gen_formulas.py leaves formulas.c untouched if its text does not change; formulas.o then stays, too.
DERIVATIVES := proto/ops/native_functions.yaml $(sort $(wildcard proto/ops/derivatives*.yaml))
FORMULA_GEN := $(addprefix proto/gen/,autogen.py derivatives.py emit.py emit_formulas.py formula_lower.py formula_parse.py formula_values.py gen_formulas.py ops.py tables.py)
$(BUILD)/gen/formulas.stamp: $(FORMULA_GEN) $(DERIVATIVES) | deps
	@mkdir -p $(@D)
	$(Q)$(PYTHON) proto/gen/gen_formulas.py $(DERIVATIVES) $(@D) && touch $@
$(BUILD)/gen/formulas.c: $(BUILD)/gen/formulas.stamp
	@:
$(BUILD)/gen/formulas.o: $(BUILD)/gen/formulas.c $(BUILD)/flags/autograd
	$(call begin,$<)$(Q)$(CC_autograd) -c -o $@ $<
