# plugin cpu: hand-written kernels, and the pointwise ones from proto/ops/pointwise.yaml.
#
# Their loops are compiled once for each level of x86-64 that has wider vectors; a run takes the widest
# that the machine has.  -O3 because -O2 vectorises no loop with a call in it, -fno-math-errno because
# vector functions set none; -fwrapv because integers wrap, -ffp-contract=off so that all levels give
# the same sums.  Functions begin at cache lines: else the size of any of them shifts the loops behind
# it, which costs a convolution up to a sixth.
LIBS_cpu   = -lopenblas -lmvec -lm
CFLAGS_cpu = -O3 -fno-math-errno -fno-trapping-math -fwrapv -fno-strict-aliasing -ffp-contract=off \
             -falign-functions=64

PW_LEVELS := v1 v3 v4
PW_MARCH_v3 := -march=x86-64-v3
PW_MARCH_v4 := -march=x86-64-v4
OBJ_cpu   := $(BUILD)/gen/pointwise_entries.o $(PW_LEVELS:%=$(BUILD)/gen/pointwise_%.o)
PW_YAML   := proto/ops/native_functions.yaml proto/ops/pointwise.yaml

$(BUILD)/gen/pointwise_%.c: proto/gen/gen_ops.py $(PW_YAML) | deps
	@mkdir -p $(@D)
	$(Q)$(PYTHON) proto/gen/gen_ops.py $* $(PW_YAML) > $@.tmp && mv $@.tmp $@
$(BUILD)/gen/pointwise_entries.o: $(BUILD)/gen/pointwise_entries.c
	$(Q)$(CC) $(PLUGIN_CC) $(CFLAGS_cpu) -Iplugins/cpu -c -o $@ $<
$(PW_LEVELS:%=$(BUILD)/gen/pointwise_%.o): $(BUILD)/gen/pointwise_%.o: $(BUILD)/gen/pointwise_kernels.c
	$(Q)$(CC) $(PLUGIN_CC) $(CFLAGS_cpu) $(PW_MARCH_$*) -DPW_TABLE=pw_table_$* -Iplugins/cpu -c -o $@ $<
