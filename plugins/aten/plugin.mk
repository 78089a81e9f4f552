# plugin aten: schemas only, from proto/ops/native_functions.yaml
OBJ_aten := $(BUILD)/gen/aten.o

$(BUILD)/gen/aten.c: proto/gen/gen_ops.py proto/ops/native_functions.yaml | deps
	@mkdir -p $(@D)
	$(Q)$(PYTHON) proto/gen/gen_ops.py schemas proto/ops/native_functions.yaml > $@.tmp && mv $@.tmp $@
$(BUILD)/gen/aten.o: $(BUILD)/gen/aten.c
	$(Q)$(CC) $(PLUGIN_CC) -c -o $@ $<
