# plugin aten: schemas only, from proto/ops/native_functions.yaml and optim.yaml
OBJ_aten := $(BUILD)/gen/aten.o

# What is generated from the tables of operators, for all plugins.  A file stays as it is when its text does
# not change, and what depends on it is not built again.
OPS_YAML := proto/ops/native_functions.yaml proto/ops/pointwise.yaml proto/ops/reduce.yaml proto/ops/optim.yaml
$(BUILD)/gen/ops.stamp: $(filter-out proto/gen/proto_%,$(wildcard proto/gen/*.py)) $(OPS_YAML) | deps
	@mkdir -p $(@D)
	$(Q)$(PYTHON) proto/gen/gen_ops.py $(OPS_YAML) $(@D) && touch $@
$(BUILD)/gen/aten.c $(BUILD)/gen/pointwise_entries.c $(BUILD)/gen/reduce_entries.c $(BUILD)/gen/composite_variants.c $(BUILD)/gen/composite_follow.c $(BUILD)/gen/dispatchd/aten.h: $(BUILD)/gen/ops.stamp
	@:
$(BUILD)/gen/aten.o: $(BUILD)/gen/aten.c $(BUILD)/flags/aten
	$(call begin,$<)$(Q)$(CC_aten) -c -o $@ $<
