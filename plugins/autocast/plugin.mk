# plugin autocast: the lists of operators, from proto/ops/autocast.yaml
OBJ_autocast := $(BUILD)/gen/autocast_lists.o

AUTOCAST_GEN := $(addprefix proto/gen/,autogen.py emit.py gen_autocast.py ops.py tables.py)
AUTOCAST_YAML := proto/ops/native_functions.yaml proto/ops/autocast.yaml
$(BUILD)/gen/autocast_lists.stamp: $(AUTOCAST_GEN) $(AUTOCAST_YAML) | deps
	@mkdir -p $(@D)
	$(Q)$(PYTHON) proto/gen/gen_autocast.py $(AUTOCAST_YAML) $(@D) && touch $@
$(BUILD)/gen/autocast_lists.c: $(BUILD)/gen/autocast_lists.stamp
	@:
$(BUILD)/gen/autocast_lists.o: $(BUILD)/gen/autocast_lists.c $(BUILD)/flags/autocast
	$(call begin,$<)$(Q)$(CC_autocast) -c -o $@ $<
