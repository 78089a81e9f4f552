# plugin cpu: hand-written kernels, those from proto/ops/pointwise.yaml, and reductions from reduce.yaml.
#
# -O3 because -O2 vectorises no loop with a call in it, -fno-math-errno because vector functions set
# none; -fwrapv because integers wrap, -ffp-contract=off so that all levels give the same sums.
# Functions begin at cache lines: else the size of any of them shifts the loops behind it, which costs a
# convolution up to a sixth.  Lines are kept for backtraces; where the variables of thousands of loops are takes
# a quarter of the time to compile.
CFLAGS_cpu = -O3 -fno-math-errno -fno-trapping-math -fwrapv -fno-strict-aliasing -ffp-contract=off \
             -falign-functions=64 $(if $(filter debug,$(CONFIG)),,-g1)

# By vector level (ALL_LEVELS of the Makefile; core/isa.h): what lies in a family's levels/, and what is generated into
# gen/levels/, is compiled once for each; CFLAGS_NAME_LEVEL are flags of one source at one level.
# v1 serves processors from before 2013 where other levels are built, too: -O1 takes a third of the time to compile.
# Sums of a product or a convolution are fused where the level has such an instruction: half the instructions.
# Loops of a convolution begin at cache lines, too: 4 percent of its time.
LIBS_cpu := -lm
CPU_LESS   := -O2 -ftree-vectorize -fvect-cost-model=dynamic --param=vect-epilogues-nomask=0
CPU_OPT_v1 := $(if $(word 2,$(ALL_LEVELS)),-O1)
CFLAGS_gemm_v3 := -ffp-contract=fast
CFLAGS_gemm_v4 := -ffp-contract=fast
CFLAGS_conv_v3 := -ffp-contract=fast -falign-loops=64
CFLAGS_conv_v4 := -ffp-contract=fast -falign-loops=64

CFLAGS_softmax_v4 = -mprefer-vector-width=512
CFLAGS_rd_extremes_v4 = -mprefer-vector-width=512
# Where -O3 does not pay: it makes twice the text, in nearly twice the time, of loops that memory holds up, or that
# are vectors already.  Lanes are unrolled.
NO_O3 := pw_comparison pw_logic pw_unary rd_truth rd_extremes gemm norm
$(foreach level,v3 v4,$(foreach source,$(NO_O3),$(eval \
    CFLAGS_$(source)_$(level) += $(CPU_LESS) -fpeel-loops)))
PW_TO_V3    := $(shell sed -n 's/^to_v3: \[\(.*\)\]/\1/p' proto/ops/pointwise.yaml | tr , ' ')
PW_CALLED   := $(filter-out $(PW_TO_V3),$(shell sed -n 's/^called: \[\(.*\)\]/\1/p' proto/ops/pointwise.yaml | tr , ' '))
PW_FAMILIES := $(filter-out aliases composites exact by_hand copied called to_v3 $(PW_CALLED),$(shell sed -n 's/^\([a-z_]*\):.*/\1/p' proto/ops/pointwise.yaml))
RD_FAMILIES := $(shell sed -n 's/^\([a-z_]*\):.*/\1/p' proto/ops/reduce.yaml)
LEVELLED := $(patsubst %.c,%,$(wildcard plugins/cpu/*/levels/*.c)) \
            $(PW_FAMILIES:%=gen/levels/pw_%) $(RD_FAMILIES:%=gen/levels/rd_%)
ONCE     := $(BUILD)/gen/pointwise_entries $(BUILD)/gen/reduce_entries $(PW_CALLED:%=$(BUILD)/gen/pw_%)
OBJ_cpu  := $(ONCE:%=%.o) \
            $(filter-out $(if $(word 2,$(ALL_LEVELS)),$(PW_TO_V3:%=$(BUILD)/gen/levels/pw_%_v4.o)),$(foreach level,$(ALL_LEVELS),$(LEVELLED:%=$(BUILD)/%_$(level).o)))

# Under sanitizers nothing is vectorised, and -O3 takes twice the time.
LEVEL_OPT := $(if $(SANITIZE),-O1)

define CPU_LEVEL_RULE
CC_$(notdir $(1))_$(2) = $$(CC_cpu) $$(CPU_OPT_$(2)) $$(MARCH_$(2)) $$(CFLAGS_$(notdir $(1))_$(2)) $$(LEVEL_OPT) -DDP_ISA=$(2)
$(BUILD)/$(1)_$(2).o: $(if $(filter gen/%,$(1)),$(BUILD)/)$(1).c $(BUILD)/flags/$(notdir $(1))_$(2) | deps
	@mkdir -p $$(@D)
	$$(call begin,$$<)$$(Q)$$(CC_$(notdir $(1))_$(2)) -c -o $$@ $$<
endef
$(foreach level,$(ALL_LEVELS),$(foreach source,$(LEVELLED),$(eval $(call CPU_LEVEL_RULE,$(source),$(level)))))

$(PW_CALLED:%=$(BUILD)/gen/pw_%.c) $(PW_FAMILIES:%=$(BUILD)/gen/levels/pw_%.c) $(RD_FAMILIES:%=$(BUILD)/gen/levels/rd_%.c): $(BUILD)/gen/ops.stamp
	@:
$(ONCE:%=%.o): %.o: %.c $(BUILD)/flags/cpu
	$(call begin,$<)$(Q)$(CC_cpu) -c -o $@ $<
